"""12.4: the configuration of the reader's whole kernel, and the order of its blocks."""

from dataclasses import dataclass
from inspect import unwrap
from typing import TYPE_CHECKING

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.part import Part
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    import numpy as np


class WholeFlaw(FailureKind):
    """What a kernel that gives the right result has left out."""

    RASTER = "blocks in raster order"
    NOT_TUNED = "not the tuned configuration"


@dataclass(frozen=True, kw_only=True)
class OfTuned(Part):
    """A host function whose blocks have the threads and the shared memory of the `tuned()` beside it."""

    def look(self, answer: Answer, points: float) -> Verdict | None:
        require_jit(answer)
        tuned = unwrap(answer).__globals__.get("tuned")
        config = tuned() if callable(tuned) else None
        if not isinstance(config, GemmConfig):
            return wrong(
                Flaw("there is no tuned() of 12.3 that it could take its configuration from.", WholeFlaw.NOT_TUNED)
            )
        compiled = compile_cute(answer, [TensorSpec((256, 256), "bf16")] * 3)
        if (compiled.threads, compiled.smem_bytes) == (config.threads, config.smem_bytes):
            return None
        what = (
            f"its blocks have {compiled.threads} threads and {compiled.smem_bytes:,} bytes of shared memory; those of "
            f"tuned() have {config.threads} and {config.smem_bytes:,}."
        )
        return Verdict(
            points - 1, (Flaw(what, WholeFlaw.NOT_TUNED), f"tuned() returns {config}: does my_gemm pass it on?")
        )


def down_the_group(shape: Shape, storers: "np.ndarray") -> str | None:
    """Up to 32 rows of tiles are one group: block 1 has the tile below that of block 0."""
    if (storers == 1).any() and not (storers[:, 0] == 1).any():
        return Flaw(
            "block 1 computes the tile to the right of block 0's: that is raster order. By `in_groups` it computes the "
            "one below.",
            WholeFlaw.RASTER,
        )
    return None
