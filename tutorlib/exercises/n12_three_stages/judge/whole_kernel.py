"""12.4: the configuration of the reader's kernel, and the order of its blocks."""

from dataclasses import dataclass
from inspect import unwrap
from typing import TYPE_CHECKING, Any
from unittest import mock

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.library_use import within_reach
from tutorlib.checking.part import Part
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    import numpy as np

SMALL = GemmConfig((64, 64, 32), (2, 2), 2)  # compiles fast, and no tuned() returns it


class WholeFlaw(FailureKind):
    """What a kernel that gives the right result has left out."""

    RASTER = "blocks in raster order"
    NOT_TUNED = "not the tuned configuration"


@dataclass(frozen=True, kw_only=True)
class OfTuned(Part):
    """A host function whose configuration is that of the `tuned()` beside it, whatever that returns."""

    def look(self, answer: Answer, points: float) -> Verdict | None:
        require_jit(answer)
        names: dict[str, Any] = unwrap(answer).__globals__
        tuned = names.get("tuned")
        config = tuned() if callable(tuned) else None
        if not isinstance(config, GemmConfig):
            what = "there is no tuned() of 12.3 that it could take its configuration from."
            return wrong(Flaw(what, WholeFlaw.NOT_TUNED))
        if any(isinstance(value, GemmConfig) and value == config for value in within_reach(answer)):
            return None  # kept in a variable
        with mock.patch.dict(names, tuned=lambda: SMALL):
            compiled = compile_cute(answer, [TensorSpec((256, 256), "bf16")] * 3)
        if (compiled.threads, compiled.smem_bytes) == (SMALL.threads, SMALL.smem_bytes):
            return None
        what = (
            f"where tuned() returns {SMALL}, its blocks should have {SMALL.threads} threads and {SMALL.smem_bytes:,} "
            f"bytes of shared memory; they have {compiled.threads} and {compiled.smem_bytes:,}."
        )
        return Verdict(
            points - 1, (Flaw(what, WholeFlaw.NOT_TUNED), "Does my_gemm take its configuration from tuned()?")
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
