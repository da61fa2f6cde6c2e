"""12.4 and 12.6: the configuration and the order of blocks that the reader's kernel takes from earlier exercises."""

from dataclasses import dataclass
from inspect import unwrap
from typing import Any
from unittest import mock

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.part import Part
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.exercises.n11_grid_swizzle.judge.block_order import OrderFlaw, in_a_kernel, little_saved
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models.l2 import Tile
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.work import Work

SMALL = GemmConfig((32, 32, 32), (1, 1), 2)  # compiles fast; no tuned() returns it
TALL = (36, 2)  # tiles: more rows than L2 needs groups for


class WholeFlaw(FailureKind):
    """Omissions of a kernel whose result is right."""

    RASTER = "blocks in raster order"
    NOT_TUNED = "not the tuned configuration"


@dataclass(frozen=True, kw_only=True)
class OfTuned(Part):
    """A host function with the configuration of the `tuned()` beside it, whatever that is, and the order of the
    `in_groups`.
    """

    def look(self, answer: Answer, points: float) -> Verdict | None:
        require_jit(answer)
        names: dict[str, Any] = unwrap(answer).__globals__
        tuned = names.get("tuned")
        config = tuned() if callable(tuned) else None
        if not isinstance(config, GemmConfig):
            what = "there is no tuned() of 12.3 that it could take its configuration from."
            return wrong(Flaw(what, WholeFlaw.NOT_TUNED))
        if raster := in_raster(names):
            return Verdict(points - 1, (raster,))
        kept = {name: SMALL for name, value in names.items() if isinstance(value, GemmConfig) and value == config}
        with mock.patch.dict(names, tuned=lambda: SMALL, **kept):
            return with_small(answer, points)


def with_small(answer: Answer, points: float) -> Verdict | None:
    """The flaw of the kernel when tuned() returns SMALL, or None."""
    compiled = compile_cute(answer, [TensorSpec((256, 256), "bf16")] * 3)
    if (compiled.threads, compiled.smem_bytes) != (SMALL.threads, SMALL.smem_bytes):
        what = (
            f"where tuned() returns {SMALL}, its blocks should have {SMALL.threads} threads and {SMALL.smem_bytes:,} "
            f"bytes of shared memory; they have {compiled.threads} and {compiled.smem_bytes:,}."
        )
        return Verdict(points - 1, (Flaw(what, WholeFlaw.NOT_TUNED), "Does my_gemm call tuned()?"))
    wanted = in_a_kernel(unwrap(answer).__globals__["in_groups"], *TALL)
    if (tiles := tiles_stored(answer)) != wanted:
        block = next(n for n, (tile, want) in enumerate(zip(tiles, wanted, strict=True)) if tile != want)
        what = f"of {TALL[0]}×{TALL[1]} tiles, its block {block} computes {tiles[block]}; by in_groups {wanted[block]}."
        return Verdict(points - 1, (Flaw(what, WholeFlaw.RASTER),))
    return None


def in_raster(names: dict[str, Any]) -> str:
    """Whether `in_groups` is missing, or reads nearly as much as raster order, as a sentence; or ""."""
    if not callable(order := names.get("in_groups")):
        return Flaw("there is no in_groups of 11.4 that it could take the order of its blocks from.", WholeFlaw.RASTER)
    try:
        wasteful = little_saved(order)
    except CompileFailed:
        return ""  # the kernel does not compile either
    return Flaw(f"with in_groups, {wasteful} Bring 11.4's.", OrderFlaw.TRAFFIC) if wasteful else ""


def tiles_stored(answer: Answer) -> list[Tile | None]:
    """The tile that each block stores of a tall C, as SMALL cuts it."""
    from tutorlib.measuring.simulated_launchers import SimulatedCute

    problem, (m, n, k) = gemm("bf16"), SMALL.tile
    simulator, work = SimulatedCute(answer, problem), Work(problem, (TALL[0] * m, TALL[1] * n, k), "cpu")
    simulator.on(work)()
    storers = simulator.reports[-1].storers[problem.output.name].reshape(work.shape[:2])[::m, ::n]
    tiles = {int(block): (row, column) for row, blocks in enumerate(storers) for column, block in enumerate(blocks)}
    return [tiles.get(block) for block in range(TALL[0] * TALL[1])]
