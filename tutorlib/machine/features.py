"""GPU features that kernels need, and the GPUs that have them.

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

GENERATIONS = ("80", "89", "90", "100", "120")  # one of each, of which exercises compile for all that they run on


def cute_target(arch: str) -> str:
    """The name of a compile target: "sm_89", and "sm_90a" where a family has instructions of its own."""
    return f"sm_{arch}a" if int(arch) >= 90 else f"sm_{arch}"
