"""The GPU's clock now, and what holds it down."""

from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Clocks:
    """The SM clock now, and why the driver holds it down: heat, a power brake or a fault of the board.

    Not the ordinary power limit: a large GEMM runs into it on every data-center GPU.
    """

    sm_mhz: int
    throttled: tuple[str, ...]


def clocks() -> Clocks | None:
    """The current GPU's clocks; None if the driver does not report them."""
    try:
        import pynvml

        handle = nvml_handle()
        reasons = pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
        names = {
            pynvml.nvmlClocksThrottleReasonHwSlowdown: "hardware slowdown",
            pynvml.nvmlClocksThrottleReasonHwThermalSlowdown: "heat",
            pynvml.nvmlClocksThrottleReasonSwThermalSlowdown: "heat",
            pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown: "power brake",
        }
        held = tuple(sorted({name for bit, name in names.items() if reasons & bit}))
        return Clocks(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM), held)
    except Exception:  # no nvidia-ml-py, or a driver (MIG, a container) that answers less
        return None


@cache
def nvml_handle() -> Any:
    """NVML's handle of torch's current device: by UUID, since NVML does not heed CUDA_VISIBLE_DEVICES."""
    import pynvml
    import torch

    pynvml.nvmlInit()
    uuid = torch.cuda.get_device_properties(torch.cuda.current_device()).uuid
    return pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
