"""The GEMM ladder of notebooks 09 to 14: one list of its rungs, for sweeps, figures, tests and counters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import Order, in_eights, make_gemm
from tutorlib.kernels.ampere.main_loops import LONG, TUNED, loads_spread, multistage, single_buffer
from tutorlib.kernels.ampere.thread_share import MainLoop
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine.features import MMA_SYNC, WGMMA, Feature
from tutorlib.models.l2 import raster


@dataclass(frozen=True)
class Rung:
    """One kernel of the ladder. notebook: the number of the one that builds it; needs: what runs it."""

    notebook: str
    name: str
    needs: ClassVar[Feature]

    @property
    def title(self) -> str:
        """As figures and result files have it: "09 one buffer"."""
        return f"{self.notebook} {self.name}"

    @property
    def smem_bytes(self) -> int:
        """Shared memory of a block; 0 where it is sure to fit."""
        raise NotImplementedError


@dataclass(frozen=True)
class AmpereRung(Rung):
    """A rung of notebooks 09 to 12: cp.async, ldmatrix, mma.sync."""

    config: GemmConfig
    main_loop: MainLoop
    order: Order = raster
    needs: ClassVar[Feature] = MMA_SYNC

    @property
    def smem_bytes(self) -> int:
        return self.config.smem_bytes

    @property
    def host(self) -> Callable[..., None]:
        """The host function gemm(a, b, c)."""
        return make_gemm(self.config, self.main_loop, self.order)


@dataclass(frozen=True)
class HopperRung(Rung):
    """A rung of notebooks 13 and 14: TMA and WGMMA. config: None where the kernel chooses one for each shape."""

    config: HopperConfig | None
    needs: ClassVar[Feature] = WGMMA

    @property
    def smem_bytes(self) -> int:
        return self.config.smem_bytes if self.config else 0


PLAIN = HopperConfig(schedule="plain", persistent=False)

AMPERE_RUNGS = (
    AmpereRung("09", "one buffer", GemmConfig(), single_buffer),
    AmpereRung("10", "two buffers", GemmConfig(stages=2), multistage),
    AmpereRung("11", "grid swizzle", GemmConfig(stages=2), multistage, in_eights),
    AmpereRung("12", "three stages", GemmConfig(stages=3), multistage, in_eights),
    AmpereRung("12", "tuned", TUNED, multistage, in_eights),
    AmpereRung("12", "loads spread", LONG, loads_spread, in_eights),
)
HOPPER_RUNGS = (
    HopperRung("13", "plain", PLAIN),
    HopperRung("14", "warp-specialized", HopperConfig()),
    HopperRung("14", "multicast", HopperConfig(cluster=(2, 1))),
    HopperRung("14", "deferred stores", HopperConfig(cluster=(2, 1), defer_stores=True)),
    HopperRung("14", "zigzag, polling", HopperConfig(cluster=(2, 1), defer_stores=True, zigzag=True, polls=True)),
    HopperRung("14", "chosen", None),
)
LADDER: tuple[Rung, ...] = (*AMPERE_RUNGS, *HOPPER_RUNGS)
