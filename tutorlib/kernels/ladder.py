"""The GEMM ladder of notebooks 10 to 16: one list of its rungs, for sweeps, figures, tests and counters."""

from collections.abc import Callable
from dataclasses import dataclass

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import Order, in_eights, make_gemm
from tutorlib.kernels.ampere.main_loops import TUNED, multistage, single_buffer
from tutorlib.kernels.ampere.thread_share import MainLoop
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.first import make_first_gemm
from tutorlib.machine.features import MMA_SYNC, WGMMA, Feature
from tutorlib.models.l2 import raster


@dataclass(frozen=True)
class Rung:
    """One kernel of the ladder. notebook: the number of the one that builds it.

    host: gemm(a, b, c); None for notebook 15's kernel, whose config is None where it chooses one for each shape.
    """

    notebook: str
    name: str
    config: GemmConfig | HopperConfig | None = None
    host: Callable[..., None] | None = None
    needs: Feature = WGMMA

    @property
    def title(self) -> str:
        """As figures and result files have it: "10 one buffer"."""
        return f"{self.notebook} {self.name}"

    @property
    def smem_bytes(self) -> int:
        """Shared memory of a block; 0 where it is sure to fit."""
        return self.config.smem_bytes if self.config else 0


def on_ampere(notebook: str, name: str, config: GemmConfig, main_loop: MainLoop, order: Order = in_eights) -> Rung:
    """A rung of mma.sync."""
    return Rung(notebook, name, config, make_gemm(config, main_loop, order), MMA_SYNC)


AMPERE_RUNGS = (
    on_ampere("10", "one buffer", GemmConfig(), single_buffer, raster),
    on_ampere("11", "two buffers", GemmConfig(stages=2), multistage, raster),
    on_ampere("12", "grid swizzle", GemmConfig(stages=2), multistage),
    on_ampere("13", "three stages", GemmConfig(stages=3), multistage),
    on_ampere("13", "tuned", TUNED, multistage),
)
HOPPER_RUNGS = (
    Rung("14", "plain", host=make_first_gemm()),
    Rung("15", "warp-specialized", HopperConfig()),
    Rung("15", "multicast", HopperConfig(cluster=(2, 1))),
    Rung("15", "deferred stores", HopperConfig(cluster=(2, 1), defer_stores=True)),
    Rung("15", "zigzag, polling", HopperConfig(cluster=(2, 1), defer_stores=True, zigzag=True, polls=True)),
    Rung("16", "chosen"),
)
LADDER = (*AMPERE_RUNGS, *HOPPER_RUNGS)
