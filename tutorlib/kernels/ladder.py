"""The GEMM ladder of notebooks 09 to 14: one list of its rungs, for sweeps, figures, tests and counters."""

from collections.abc import Callable
from dataclasses import dataclass

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import Order, in_eights, make_gemm
from tutorlib.kernels.ampere.main_loops import LONG, TUNED, loads_spread, multistage, single_buffer
from tutorlib.kernels.ampere.thread_share import MainLoop
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine.features import MMA_SYNC, WGMMA, Feature
from tutorlib.models.l2 import raster


@dataclass(frozen=True)
class Rung:
    """One kernel of the ladder. notebook: the number of the one that builds it.

    config: None where Hopper's kernel chooses one for each shape. main_loop, order: of a rung of mma.sync.
    """

    notebook: str
    name: str
    config: GemmConfig | HopperConfig | None
    main_loop: MainLoop | None = None
    order: Order = raster

    @property
    def title(self) -> str:
        """As figures and result files have it: "09 one buffer"."""
        return f"{self.notebook} {self.name}"

    @property
    def needs(self) -> Feature:
        return MMA_SYNC if self.main_loop else WGMMA

    @property
    def smem_bytes(self) -> int:
        """Shared memory of a block; 0 where it is sure to fit."""
        return self.config.smem_bytes if self.config else 0

    @property
    def host(self) -> Callable[..., None]:
        """The host function gemm(a, b, c) of a rung of mma.sync. Raises TypeError for another."""
        if self.main_loop is None or not isinstance(self.config, GemmConfig):
            raise TypeError(f"{self.title} has no host function of its own: `kernels.hopper.launch` launches it")
        return make_gemm(self.config, self.main_loop, self.order)


PLAIN = HopperConfig(schedule="plain", persistent=False)

AMPERE_RUNGS = (
    Rung("09", "one buffer", GemmConfig(), single_buffer),
    Rung("10", "two buffers", GemmConfig(stages=2), multistage),
    Rung("11", "grid swizzle", GemmConfig(stages=2), multistage, in_eights),
    Rung("12", "three stages", GemmConfig(stages=3), multistage, in_eights),
    Rung("12", "tuned", TUNED, multistage, in_eights),
    Rung("12", "loads spread", LONG, loads_spread, in_eights),
)
HOPPER_RUNGS = (
    Rung("13", "plain", PLAIN),
    Rung("14", "warp-specialized", HopperConfig()),
    Rung("14", "multicast", HopperConfig(cluster=(2, 1))),
    Rung("14", "deferred stores", HopperConfig(cluster=(2, 1), defer_stores=True)),
    Rung("14", "zigzag, polling", HopperConfig(cluster=(2, 1), defer_stores=True, zigzag=True, polls=True)),
    Rung("14", "chosen", None),
)
LADDER = (*AMPERE_RUNGS, *HOPPER_RUNGS)
