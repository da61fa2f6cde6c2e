"""The GEMM ladder of notebooks 09 to 12: one list of its rungs, for sweeps, figures, tests and counters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import MainLoop, Order, make_gemm
from tutorlib.kernels.ampere.main_loops import multistage, single_buffer
from tutorlib.models.l2 import grouped, raster


def in_eights(block: Any, rows: int, columns: int) -> tuple[Any, Any]:
    """Notebook 11's answer: groups of 8 rows of tiles, but raster order up to 32, where L2 keeps most of A."""
    return grouped(block, rows, columns, 8 if rows > 32 else rows)


@dataclass(frozen=True)
class Rung:
    """One kernel of the ladder. notebook: the number of the one that builds it."""

    notebook: str
    name: str
    config: GemmConfig
    main_loop: MainLoop
    order: Order = raster

    @property
    def title(self) -> str:
        """As figures and result files have it: "09 one buffer"."""
        return f"{self.notebook} {self.name}"

    @property
    def host(self) -> Callable[..., None]:
        """The host function gemm(a, b, c)."""
        return make_gemm(self.config, self.main_loop, self.order)


LADDER = (
    Rung("09", "one buffer", GemmConfig(), single_buffer),
    Rung("10", "two buffers", GemmConfig(stages=2), multistage),
    Rung("11", "grid swizzle", GemmConfig(stages=2), multistage, in_eights),
    Rung("12", "three stages", GemmConfig(stages=3), multistage, in_eights),
    Rung("12", "tuned", GemmConfig((128, 256, 32), (2, 4), 4), multistage, in_eights),
)
