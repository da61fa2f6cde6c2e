"""The GPU at hand: what it can run, its clocks, the packages that drive it, and turns on it."""

import ctypes
import fcntl
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tutorlib.machine import device
from tutorlib.machine.features import Feature, Hardware, cute_target, hardware_of

NO_GPU = "no GPU here"


@dataclass(frozen=True)
class GPU:
    """The GPU at hand. arch: its sm_ number ("90"); driver: None where nvidia-ml-py is missing."""

    name: str
    arch: str
    sms: int
    l2: int
    memory: int
    driver: str | None

    @property
    def hardware(self) -> Hardware | None:
        return hardware_of(self.name)


@cache
def gpu() -> GPU | None:
    """The current CUDA device of torch; None where torch finds none: `obstacle` says why.

    A process that is shown none does not look for one: the driver would be in it then, and a fork cannot use that.
    Nor is torch asked, whose import takes seconds, where there is no driver.
    """
    if find_spec("torch") is None or os.environ.get("CUDA_VISIBLE_DEVICES") == "" or not may_have_gpu():
        return None
    import torch

    with warnings.catch_warnings(action="ignore"):  # torch warns of an old driver; so does `obstacle`
        if not torch.cuda.is_available():
            return None
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return GPU(
        name=found.name,
        arch=f"{found.major}{found.minor}",
        sms=found.multi_processor_count,
        l2=found.L2_cache_size,
        memory=found.total_memory,
        driver=driver_version(),
    )


def may_have_gpu() -> bool:
    """Whether CUDA's driver may be here: in the kernel, or as the library through which torch looks for a GPU."""
    if sys.platform != "linux" or Path("/proc/driver/nvidia").exists():
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def need_gpu() -> GPU:
    """The GPU at hand, for code that runs on one. Raises RuntimeError where there is none."""
    if (found := gpu()) is None:
        raise RuntimeError(obstacle())
    return found


def obstacle() -> str:
    """Why torch finds no GPU, in one line: there is none, or what keeps torch from it."""
    if find_spec("torch") is None:
        return "the package torch is missing"
    if (driver := driver_version()) is None:
        return NO_GPU
    import torch

    if torch.version.cuda is None:
        return f"the driver ({driver}) finds a GPU, and this torch is a build without CUDA"
    found = f"driver {driver} is there, and torch (CUDA {torch.version.cuda}) finds no GPU"
    return f"{found}: is the driver older than that CUDA, or CUDA_VISIBLE_DEVICES set?"


def driver_version() -> str | None:
    try:
        import pynvml

        pynvml.nvmlInit()
        return pynvml.nvmlSystemGetDriverVersion()
    except Exception:  # no driver, or no nvidia-ml-py
        return None


def why_not(feature: Feature) -> str | None:
    """Why this machine cannot run a kernel that needs a feature, in a few words; None where it can."""
    found = gpu()
    if found is None:
        return obstacle()
    return None if feature.on(found.arch) else f"this GPU is sm_{found.arch}, without {feature}"


def compile_target() -> str:
    """CuTe's compilation target for the GPU at hand: "sm_89", "sm_90a"."""
    return cute_target(need_gpu().arch)


def tile_target() -> str:
    """cuTile's and Tile C++'s compilation target for the GPU at hand: "sm_89", "sm_90"."""
    return f"sm_{need_gpu().arch}"


# Clocks ---------------------------------------------------------------------------------------------------------------


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


# Versions -------------------------------------------------------------------------------------------------------------


# A kernel's speed can depend on these: frameworks, the compilers that they call, and the checker's own tools.
PACKAGES = (
    "torch",
    "nvidia-cutlass-dsl",
    "cuda-tile",
    "nvidia-cuda-tileiras",
    "nvidia-cuda-nvcc",
    "tensor-layouts",
    "nvidia-ml-py",
)


def packages() -> dict[str, str | None]:
    """Versions of the packages that kernels need; None where one is missing."""

    def version(name: str) -> str | None:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    return {name: version(name) for name in PACKAGES}


def this_machine() -> dict[str, Any]:
    """GPU, arch, driver and package versions, as result files carry them. `gpu` and `arch` are None without a GPU."""
    found = device.gpu()
    return {
        "gpu": found.name if found else None,
        "arch": f"sm_{found.arch}" if found else None,
        "driver": found.driver if found else None,
        "packages": packages(),
    }


# Turns ----------------------------------------------------------------------------------------------------------------

TURNS = "TUTORLIB_TURNS"


def shared_turn() -> AbstractContextManager[None]:
    """A turn that others have too, as long as they take no times."""
    return turn(fcntl.LOCK_SH)


def own_turn() -> AbstractContextManager[None]:
    """A turn that no other process shares."""
    return turn(fcntl.LOCK_EX)


@contextmanager
def turn(kind: int) -> Iterator[None]:
    """First come, first served: a process that wants to be alone is not overtaken by later ones."""
    folder = os.environ.get(TURNS)
    if folder is None:
        yield
        return
    with Path(folder, "queue").open("a") as queue, Path(folder, "gpu").open("a") as gpu:
        fcntl.flock(queue, fcntl.LOCK_EX)
        fcntl.flock(gpu, kind)
        queue.close()
        yield
