"""The hardware table, and what this machine can do."""

import warnings
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from typing import Any

PACKAGES = ("torch", "nvidia-cutlass-dsl", "cuda-tile", "tensor-layouts", "nvidia-ml-py")


@dataclass(frozen=True)
class Hardware:
    """A GPU's limits by its datasheet.

    bandwidth: device memory, bytes/s. flops: dense matrix FLOP/s with fp32 accumulation, by the inputs' dtype.
    l2: bytes. sms: streaming multiprocessors.
    """

    arch: str
    sms: int
    l2: int
    bandwidth: float
    flops: dict[str, float]


def hardware(arch: str, sms: int, l2_mb: int, gb_per_s: float, tflops: float, fp8_tflops: float = 0) -> Hardware:
    """A row of the table, in the datasheets' units. bf16 and fp16 run at the same rate; 0: no fp8."""
    flops = {"bf16": tflops * 1e12, "fp16": tflops * 1e12} | ({"e4m3": fp8_tflops * 1e12} if fp8_tflops else {})
    return Hardware(arch, sms, l2_mb * 2**20, gb_per_s * 1e9, flops)


# By the driver's name for the GPU, whole: an "RTX 4090 Laptop GPU" is no RTX 4090. Rates without sparsity.
HARDWARE: dict[str, Hardware] = {
    # NVIDIA A100 datasheet, June 2021; L2: A100 architecture whitepaper.
    "NVIDIA A100-SXM4-80GB": hardware("80", 108, 40, 2039, 312),
    "NVIDIA A100 80GB PCIe": hardware("80", 108, 40, 1935, 312),
    "NVIDIA A100-SXM4-40GB": hardware("80", 108, 40, 1555, 312),
    "NVIDIA A100-PCIE-40GB": hardware("80", 108, 40, 1555, 312),
    # NVIDIA H100 datasheet; SMs and L2: H100 architecture whitepaper.
    "NVIDIA H100 80GB HBM3": hardware("90", 132, 50, 3350, 989, 1979),
    "NVIDIA H100 PCIe": hardware("90", 114, 50, 2000, 756, 1513),
    # NVIDIA H200 datasheet; SMs and L2 as the driver reports them.
    "NVIDIA H200": hardware("90", 132, 60, 4800, 989, 1979),
    "NVIDIA H200 NVL": hardware("90", 132, 60, 4800, 835, 1671),
    # NVIDIA HGX B200 datasheet, for each of its GPUs; SMs and L2 as the driver reports them.
    "NVIDIA B200": hardware("100", 148, 126, 8000, 2250, 4500),
    # NVIDIA L40S datasheet; L2: Ada GPU architecture whitepaper.
    "NVIDIA L40S": hardware("89", 142, 96, 864, 362, 733),
    # Ada GPU architecture whitepaper; rates with fp32 accumulation (fp16 accumulation runs at twice these).
    "NVIDIA GeForce RTX 4090": hardware("89", 128, 72, 1008, 165.2, 330.3),
}


def hardware_of(name: str) -> Hardware | None:
    """The limits of the GPU that the driver calls `name`; None where the table has no such GPU, never a guess."""
    return HARDWARE.get(name)


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
    """The current CUDA device of torch; None where torch finds none: `obstacle` says why."""
    if find_spec("torch") is None:
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


NO_GPU = "no GPU here"
MIN_DRIVER = {"12": 525, "13": 580}  # by CUDA major version: CUDA Toolkit release notes, minor version compatibility


def obstacle() -> str:
    """Why torch finds no GPU, in one line: there is none, or what keeps torch from it."""
    if find_spec("torch") is None:
        return "the package torch is missing"
    import torch

    driver, cuda = driver_version(), torch.version.cuda
    if driver is None:
        return NO_GPU
    if cuda is None:
        return f"the driver ({driver}) finds a GPU, and this torch is a build without CUDA"
    needed = MIN_DRIVER.get(cuda.split(".")[0], 0)
    if int(driver.split(".")[0]) < needed:
        return f"driver {driver} is too old for torch's CUDA {cuda}: it needs {needed} or newer"
    return f"the driver ({driver}) is there, and torch finds no GPU: is CUDA_VISIBLE_DEVICES set?"


def driver_version() -> str | None:
    try:
        import pynvml

        pynvml.nvmlInit()
        return pynvml.nvmlSystemGetDriverVersion()
    except Exception:  # no driver, or no nvidia-ml-py
        return None


@dataclass(frozen=True)
class Clocks:
    """The SM clock now, and why the driver holds it down: heat, a power brake or a fault of the board.

    The ordinary power limit is no such reason: a large GEMM runs into it on every data-centre GPU.
    """

    sm_mhz: int
    throttled: tuple[str, ...]


def clocks() -> Clocks | None:
    """The current GPU's clocks; None where the driver does not tell."""
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


def why_not(needs: str) -> str | None:
    """Why this machine cannot run a kernel for the sm_ family `needs`, in a few words; None where it can.

    sm_80 instructions run on every later GPU; those of sm_90a and sm_100a only on their own family.
    """
    found = gpu()
    if found is None:
        return obstacle()
    family, needed = int(found.arch) // 10, int(needs) // 10
    if family == needed or (needed == 8 and family > 8):
        return None
    return f"this GPU is sm_{found.arch}"


def compile_target() -> str:
    """What to compile for on the GPU at hand: "sm_89", and "sm_90a" where instructions of the family's own exist."""
    arch = gpu().arch
    return f"sm_{arch}a" if int(arch) >= 90 else f"sm_{arch}"


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
    found = gpu()
    return {
        "gpu": found.name if found else None,
        "arch": f"sm_{found.arch}" if found else None,
        "driver": found.driver if found else None,
        "packages": packages(),
    }
