"""Features that kernels need, the GPUs that have them, and the limits of each GPU by its datasheet.

Compute capabilities are written as in a target's name: 90 for sm_90, 120 for sm_120.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Feature:
    """Instructions that came with a generation of GPUs.

    name: as a message says it. since: the first compute capability that has them.
    families: where they did not stay, the generations that have them (9 for sm_90); (): every later one too.
    """

    name: str
    since: int
    families: tuple[int, ...] = ()

    def on(self, arch: str) -> bool:
        """Whether a GPU of this compute capability has them; arch: "89", "90", "120"."""
        capability = int(arch)
        return capability >= self.since and (not self.families or capability // 10 in self.families)

    @property
    def target(self) -> str:
        """CuTe's default compilation target: the oldest GPU that has the feature."""
        return cute_target(str(self.since))

    def __str__(self) -> str:
        return self.name


# CUDA C++ Programming Guide, "Compute Capabilities", and the PTX ISA's "Target ISA Notes" of each instruction.
MMA_SYNC = Feature("cp.async, ldmatrix and mma.sync", 80)
FP8_MMA = Feature("fp8 tensor cores", 90)  # Ada, sm_89, has them too; cuda-tile 1.7.0 refuses fp8 there
TMA = Feature("TMA", 90)
WGMMA = Feature("WGMMA", 90, families=(9,))
TCGEN05 = Feature("tcgen05", 100, families=(10, 11))

GENERATIONS = ("80", "89", "90", "100", "120")  # exercises compile for all of these on which they run


def cute_target(arch: str) -> str:
    """The name of a compile target: "sm_89", and "sm_90a" where a family has instructions of its own."""
    return f"sm_{arch}a" if int(arch) >= 90 else f"sm_{arch}"


# The hardware table ---------------------------------------------------------------------------------------------------


# Of every GPU in the table: the CUDA C++ Programming Guide, "Shared Memory" of compute capability 5.x and later.
WARP = 32  # threads
BANKS = 32  # of shared memory
WORD = 4  # bytes in a bank's word
WAVEFRONT = BANKS * WORD  # bytes that one wavefront can deliver


@dataclass(frozen=True)
class Hardware:
    """A GPU's limits by its datasheet.

    bandwidth: device memory, bytes/s. flops: dense matrix FLOP/s with fp32 accumulation, by the inputs' dtype.
    l2: bytes. sms: streaming SMs.
    """

    arch: str
    sms: int
    l2: int
    bandwidth: float
    flops: dict[str, float]


def row(arch: str, sms: int, l2_mb: int, gb_per_s: float, tflops: float, fp8_tflops: float = 0) -> Hardware:
    """A row of the table, in the datasheets' units. bf16 and fp16 run at the same rate; 0: no fp8."""
    flops = {"bf16": tflops * 1e12, "fp16": tflops * 1e12} | ({"e4m3": fp8_tflops * 1e12} if fp8_tflops else {})
    return Hardware(arch, sms, l2_mb * 2**20, gb_per_s * 1e9, flops)


# By the driver's name for the GPU, whole: an "RTX 4090 Laptop GPU" is no RTX 4090. Rates without sparsity.
HARDWARE: dict[str, Hardware] = {
    # NVIDIA A100 datasheet, June 2021; L2: A100 architecture whitepaper.
    "NVIDIA A100-SXM4-80GB": row("80", 108, 40, 2039, 312),
    "NVIDIA A100 80GB PCIe": row("80", 108, 40, 1935, 312),
    "NVIDIA A100-SXM4-40GB": row("80", 108, 40, 1555, 312),
    "NVIDIA A100-PCIE-40GB": row("80", 108, 40, 1555, 312),
    # NVIDIA H100 datasheet; SMs and L2: H100 architecture whitepaper.
    "NVIDIA H100 80GB HBM3": row("90", 132, 50, 3350, 989, 1979),
    "NVIDIA H100 PCIe": row("90", 114, 50, 2000, 756, 1513),
    # NVIDIA H200 datasheet; SMs and L2 as the driver reports them.
    "NVIDIA H200": row("90", 132, 60, 4800, 989, 1979),
    "NVIDIA H200 NVL": row("90", 132, 60, 4800, 835, 1671),
    # NVIDIA HGX B200 datasheet, for each of its GPUs; SMs and L2 as the driver reports them.
    "NVIDIA B200": row("100", 148, 126, 8000, 2250, 4500),
    # NVIDIA L40S datasheet; L2: Ada GPU architecture whitepaper.
    "NVIDIA L40S": row("89", 142, 96, 864, 362, 733),
    # Ada GPU architecture whitepaper; rates with fp32 accumulation (fp16 accumulation runs at twice these).
    "NVIDIA GeForce RTX 4090": row("89", 128, 72, 1008, 165.2, 330.3),
    # RTX Blackwell GPU architecture whitepaper; rates with fp32 accumulation, as above.
    "NVIDIA GeForce RTX 5090": row("120", 170, 96, 1792, 209.5, 419),
}


def hardware_of(name: str) -> Hardware | None:
    """The limits of the GPU that the driver calls `name`; None where the table has no such GPU, never a guess."""
    return HARDWARE.get(name)
