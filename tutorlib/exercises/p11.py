"""Exercises of notebook 11: two buffers, and registers that are fetched ahead."""

from functools import partial
from itertools import product

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import ahead, at_most, copies_left, fetched, issued, lean, looped, overlap, reread
from tutorlib.checking.part import inside
from tutorlib.checking.randomness import beside
from tutorlib.exercises.judges.ampere import COURSE_LOOPS, ampere
from tutorlib.exercises.values import Draw, near, value_exercise
from tutorlib.models.timelines import Timeline
from tutorlib.problems.catalogue import gemm

BENCH = (4096, 4096, 4096)
SHAPES = ((256, 256, 256), (384, 128, 64), (129, 200, 72))  # K of four tiles, of one, and of one and a bit

LOOPED = looped("mma.sync") >= 2
TWO_SMALL = {"tile": (64, 64, 64), "stages": 2}
PIPELINE = inside(ampere, "main_loop", small={(65, 72, 328): TWO_SMALL, (64, 64, 256): TWO_SMALL}, stages=2)

# 11.1 period ----------------------------------------------------------------------------------------------------


def period(blocks: int, stages: int, latency: int, transfer: int, compute: int, barriers: int) -> float:
    return Timeline(stages, latency, transfer, compute, tiles=1, at_once=barriers == 2, blocks=blocks).period


def times(blocks: int, *stages: int) -> list[tuple[int, ...]]:
    return list(product((blocks,), stages, (0, 4, 9), (1, 5), (1, 3, 8), (1,)))


def machines(blocks: tuple[int, ...], *stages: int) -> Draw:
    """Calls with any times, of which each may be the longest."""
    times = (0, 40), (1, 20), (1, 30)
    return lambda rng: (rng.choice(blocks), rng.choice(stages), *(rng.randint(*limits) for limits in times), 1)


gemm_exercise = partial(
    CuteExercise.of,
    problem=gemm("bf16"),
    shapes=SHAPES,
    bench_shape=BENCH,
    requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync"),
    library=COURSE_LOOPS,
)
EXERCISES = (
    value_exercise(
        ("11.1", "period", 2),
        None,
        {
            "two buffers": beside(times(1, 2), machines((1,), 2)),
            "more buffers": beside(times(1, 3, 6), machines((1,), 3, 4, 6, 8)),
            "several blocks": beside(times(2, 2, 3), machines((2, 3), 2, 3)),
        },
        holds=near(period),
        mistakes={
            "compute_too": lambda b, n, *times: max(*times[1:3], sum(times[:3]) / (n - 1) / b),
            "all_buffers": lambda b, n, *times: max(*times[1:3], sum(times[:2]) / n / b),
            "always_two": lambda b, n, latency, transfer, compute, _: period(b, n, latency, transfer, compute, 2),
        },
        library={f"Timeline.{name}": getattr(Timeline, name) for name in ("period", "busy", "steps", "total")},
    ),
    gemm_exercise(
        ("11.2", "double buffer", 4),
        part=PIPELINE,
        # 16 warps and 6 K tiles; to refill a buffer at once takes a second barrier in each
        rules=(issued("bar.sync") <= 192, LOOPED, ahead >= 0.75, overlap >= 0.6),
        tiers=(0.8,),
    ),
    gemm_exercise(
        ("11.3", "register pipeline", 4),
        part=PIPELINE,
        rules=(issued("bar.sync") <= 112, reread <= 0.1, LOOPED, ahead >= 0.75, overlap >= 0.35, fetched >= 0.7),
        tiers=(0.9,),
    ),
    CuteExercise.of(
        ("11.4", "a matrix times a vector", 5),
        problem=gemm("bf16"),
        shapes=((2048, 1, 4096), (64, 1, 64), (128, 1, 192)),
        simulated_shapes=((64, 1, 64), (64, 1, 320)),  # one K tile, and five
        counted=(64, 1, 320),
        requires=("cp.async",),
        shared_rules=(lean("cp.async", "ld.shared"),),
        # A is 2,560 vectors of 16 bytes
        rules=(*at_most({"bar.sync": 0, "cp.async.cg|cp.async.ca": 80}), overlap >= 0.6, copies_left >= 1, reread <= 0),
    ),
)
