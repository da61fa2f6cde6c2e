"""12.4 and 12.6: the configuration and the order of blocks that the reader's kernel takes from earlier exercises."""

from dataclasses import dataclass
from inspect import unwrap
from typing import Any
from unittest import mock

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.part import HostFunction, Part
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.exercises.n11_grid_swizzle.judge.block_order import OrderFlaw, in_a_kernel, little_saved
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models.l2 import Order
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Work

SMALL = GemmConfig((32, 32, 32), (1, 1), 2)  # compiles fast; no tuned() returns it
TALL = (1152, 64, 32)  # 36×2 tiles of SMALL: more rows than L2 needs groups for


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
    raster = out_of_order(answer, gemm("bf16"), TALL, unwrap(answer).__globals__["in_groups"])
    return Verdict(points - 1, (raster,)) if raster else None


def in_raster(names: dict[str, Any]) -> str:
    """Whether `in_groups` is missing, or reads nearly as much as raster order, as a sentence; or ""."""
    if not callable(order := names.get("in_groups")):
        return Flaw("there is no in_groups of 11.4 that it could take the order of its blocks from.", WholeFlaw.RASTER)
    try:
        wasteful = little_saved(order)
    except CompileFailed:
        return ""  # the kernel does not compile either
    return Flaw(f"with in_groups, {wasteful} Bring 11.4's.", OrderFlaw.TRAFFIC) if wasteful else ""


def out_of_order(host: HostFunction, problem: Problem, shape: Shape, order: Order) -> str:
    """A tile of C that another block stores than by this order, as a sentence, or "".

    A kernel of fewer blocks than tiles takes them in turn.
    """
    from tutorlib.measuring.simulated_launchers import SimulatedCute

    simulator = SimulatedCute(host, problem)
    simulator.on(Work(problem, shape, "cpu"))()
    report = simulator.reports[-1]
    storers = report.storers[problem.output.name].reshape(shape[:2])
    m, n = (int((line != line[0]).argmax()) or len(line) for line in (storers[:, 0], storers[0]))  # of a tile
    blocks = storers[::m, ::n]
    for number, tile in enumerate(in_a_kernel(order, *blocks.shape)):
        if (block := int(blocks[tile])) != number % report.blocks:
            what = f"of {blocks.shape[0]}×{blocks.shape[1]} tiles, its block {block} computes {tile}; by in_groups "
            return Flaw(f"{what}block {number % report.blocks} does.", WholeFlaw.RASTER)
    return ""
