"""The hardware table, and what this machine can do."""

from dataclasses import dataclass
from functools import cache
from importlib import metadata
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


MB, TB, TFLOPS = 2**20, 1e12, 1e12

# Keyed by what the driver calls the GPU. Longer names first: the first key that the name contains counts.
HARDWARE: dict[str, Hardware] = {
    # NVIDIA A100 Tensor Core GPU datasheet (June 2021); L2: NVIDIA A100 architecture whitepaper, table 1.
    "A100-SXM4-80GB": Hardware("80", 108, 40 * MB, 2.039 * TB, {"bf16": 312 * TFLOPS, "fp16": 312 * TFLOPS}),
    "A100 80GB PCIe": Hardware("80", 108, 40 * MB, 1.935 * TB, {"bf16": 312 * TFLOPS, "fp16": 312 * TFLOPS}),
    "A100-SXM4-40GB": Hardware("80", 108, 40 * MB, 1.555 * TB, {"bf16": 312 * TFLOPS, "fp16": 312 * TFLOPS}),
    "A100-PCIE-40GB": Hardware("80", 108, 40 * MB, 1.555 * TB, {"bf16": 312 * TFLOPS, "fp16": 312 * TFLOPS}),
    # NVIDIA H200 datasheet: 989 and 1,979 TFLOP/s dense, 4.8 TB/s. H200 NVL: 835 and 1,671.
    "H200 NVL": Hardware(
        "90", 132, 50 * MB, 4.8 * TB, {"bf16": 835 * TFLOPS, "fp16": 835 * TFLOPS, "fp8": 1671 * TFLOPS}
    ),
    "H200": Hardware("90", 132, 50 * MB, 4.8 * TB, {"bf16": 989 * TFLOPS, "fp16": 989 * TFLOPS, "fp8": 1979 * TFLOPS}),
    # NVIDIA H100 datasheet and H100 architecture whitepaper: SXM5 3.35 TB/s, PCIe 2.0 TB/s.
    "H100 PCIe": Hardware(
        "90", 114, 50 * MB, 2.0 * TB, {"bf16": 756 * TFLOPS, "fp16": 756 * TFLOPS, "fp8": 1513 * TFLOPS}
    ),
    "H100 80GB HBM3": Hardware(
        "90", 132, 50 * MB, 3.35 * TB, {"bf16": 989 * TFLOPS, "fp16": 989 * TFLOPS, "fp8": 1979 * TFLOPS}
    ),
    # NVIDIA Blackwell datasheet, HGX B200: 2.25 and 4.5 PFLOP/s dense, 8 TB/s for each GPU (7.7 in some systems).
    "B200": Hardware(
        "100", 148, 126 * MB, 8.0 * TB, {"bf16": 2250 * TFLOPS, "fp16": 2250 * TFLOPS, "fp8": 4500 * TFLOPS}
    ),
    # NVIDIA L40S datasheet; L2: NVIDIA Ada GPU architecture whitepaper.
    "L40S": Hardware("89", 142, 96 * MB, 0.864 * TB, {"bf16": 362 * TFLOPS, "fp16": 362 * TFLOPS, "fp8": 733 * TFLOPS}),
    # NVIDIA Ada GPU architecture whitepaper, GeForce RTX 4090: tensor rates with fp32 accumulation; fp16 accumulation
    # runs at twice these.
    "RTX 4090": Hardware(
        "89", 128, 72 * MB, 1.008 * TB, {"bf16": 165.2 * TFLOPS, "fp16": 165.2 * TFLOPS, "fp8": 330.3 * TFLOPS}
    ),
}


def hardware_of(name: str) -> Hardware | None:
    """The limits of the GPU that the driver calls `name`; None where the table has no such GPU, never a guess."""
    return next((hardware for key, hardware in HARDWARE.items() if key in name), None)


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
    """The current CUDA device of torch; None where torch finds none."""
    import torch

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


def driver_version() -> str | None:
    try:
        import pynvml

        pynvml.nvmlInit()
        return pynvml.nvmlSystemGetDriverVersion()
    except Exception:  # no driver, or no nvidia-ml-py: doctor says which
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
        return "no GPU here"
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
