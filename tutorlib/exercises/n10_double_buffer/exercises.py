"""Exercises of notebook 10: two buffers, and registers that are fetched ahead."""

from collections.abc import Callable
from functools import partial
from itertools import product
from math import isclose
from random import Random
from typing import Any

from tutorlib.checking.ampere_loop import AMPERE_TIMED, COURSE_LOOPS, AmpereLoop
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import beside
from tutorlib.checking.values import Mistake, ValueExercise, law
from tutorlib.checking.work_limits import WorkLimits
from tutorlib.exercises.n10_double_buffer.remedies import DOUBLE_BUFFER_REMEDIES
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.models.pipeline import Timeline
from tutorlib.problems.catalogue import gemm

BENCH = (4096, 4096, 4096)
SHAPES = ((256, 256, 256), (384, 128, 64), (129, 200, 72))  # K of four tiles, of one, and of one and a bit

ONCE = ("bar.sync", 48), ("cp.async.c", 900), ("ldmatrix", 1400)  # a last load and fetch may be in vain

# 10.1 period ----------------------------------------------------------------------------------------------------


def period(stages: int, latency: int, transfer: int, compute: int) -> float:
    return Timeline(stages, latency, transfer, compute, tiles=1).period


SOONER = (
    Mistake(
        "A buffer's round includes its latency, before its bytes arrive.",
        lambda stages, latency, transfer, compute: float(max(compute, transfer, (transfer + compute) / stages)),
    ),
    Mistake(
        "A buffer can be refilled only after its tile has been multiplied: compute is part of its round.",
        lambda stages, latency, transfer, compute: float(max(compute, transfer, (latency + transfer) / stages)),
    ),
    Mistake(
        "Copies wait out their latency side by side; the memory is busy with each for `transfer` ticks only.",
        lambda stages, latency, transfer, compute: float(max(compute, latency + transfer)),
    ),
    Mistake(
        "All `stages` buffers go round: while one is read, the others are in flight.",
        lambda stages, latency, transfer, compute: float(
            max(compute, transfer, (latency + transfer + compute) / max(stages - 1, 1))
        ),
    ),
    Mistake(
        "The period need not be a whole number: do not round.",
        lambda stages, latency, transfer, compute: float(
            max(compute, transfer, (latency + transfer + compute) // stages)
        ),
    ),
    Mistake(
        "That is one buffer's round. With several buffers, that many rounds overlap.",
        lambda stages, latency, transfer, compute: float(latency + transfer + compute),
    ),
    Mistake(
        "The memory delivers one tile at a time: however many buffers there are, a tile takes `transfer` ticks.",
        lambda stages, latency, transfer, compute: float(max(compute, (latency + transfer + compute) / stages)),
    ),
    Mistake(
        "The arithmetic does one tile at a time: however many buffers there are, a tile takes `compute` ticks.",
        lambda stages, latency, transfer, compute: (latency + transfer + compute) / stages,
    ),
    Mistake(
        "That holds with unlimited buffers. A buffer's own round may be the slowest of the three.",
        lambda stages, latency, transfer, compute: float(max(compute, transfer)),
    ),
)


def is_period(got: Any, *args: int) -> str | None:
    want = period(*args)
    if type(got) not in (int, float):
        return f"it should be a number, {want:g}"
    return None if isclose(got, want, rel_tol=1e-6) else f"it should give {want:g}"


def times(stages: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    return list(product(stages, (0, 4, 9), (1, 5), (1, 3, 8)))


def machines(stages: tuple[int, ...]) -> Callable[[Random], tuple]:
    """Calls with any times, of which each may be the longest."""
    return lambda rng: (rng.choice(stages), rng.randint(0, 40), rng.randint(1, 20), rng.randint(1, 30))


gemm_exercise = partial(
    CuteExercise,
    archs=AMPERE_TIMED,
    problem=gemm("bf16"),
    shapes=SHAPES,
    simulated_shapes=(SHAPES[2], (384, 128, 136)),  # two K tiles in four blocks, where work is counted; three K tiles
    bench_shape=BENCH,
    requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync"),
    library=COURSE_LOOPS,
)
EXERCISES = (
    ValueExercise(
        id="10.1",
        title="period",
        points=2,
        cases=(
            law("one buffer", beside(times((1,)), machines((1,))), is_period, SOONER),
            law("two buffers", beside(times((2,)), machines((2,))), is_period, SOONER),
            law("more buffers", beside(times((3, 6)), machines((3, 4, 5, 6, 8))), is_period, SOONER),
        ),
        library={f"Timeline.{name}": getattr(Timeline, name) for name in ("period", "busy", "steps", "total")},
        hints=(
            "Three things can be the slowest. One is the arithmetic, one is the memory's transfer.",
            "The third is a buffer's round: latency, transfer, compute. `stages` of them run at a time.",
        ),
        remedies=DOUBLE_BUFFER_REMEDIES["10.1"],
    ),
    gemm_exercise(
        id="10.2",
        title="double buffer",
        points=4,
        part=AmpereLoop(config=GemmConfig(stages=2), stages=(2,)),
        limits=WorkLimits(at_most=ONCE, overlap=0.25),
        tiers=(0.8,),
        hints=(
            "Tile k is in buffer k % 2. Before the loop, load tile 0 and commit.",
            "At the top of the loop wait for tile k, then the barrier: now it has arrived, and no thread still reads "
            "the other buffer. So load tile k + 1 there, if it exists, and multiply from buffer k % 2.",
            "One barrier is enough. Commit also where nothing was loaded: an empty group costs nothing.",
        ),
        remedies=DOUBLE_BUFFER_REMEDIES["10.2"],
    ),
    gemm_exercise(
        id="10.3",
        title="register pipeline",
        points=4,
        part=AmpereLoop(config=GemmConfig(stages=2), stages=(2,), prefetched=True),
        limits=WorkLimits(at_most=ONCE, overlap=0.2),
        tiers=(0.9,),
        hints=(
            "Before the loop, tile 0 must have arrived for fetch(0, 0): load, commit, wait, barrier, fetch.",
            "In K block b, fetch block b + 1 and then multiply block b.",
            "At the last block, the next one is block 0 of the next tile: wait and barrier before you fetch it, and "
            "nowhere else in the loop.",
            "The load of tile k + 1 goes to the top of the loop; the barrier at the end of the step before freed its "
            "buffer.",
        ),
        remedies=DOUBLE_BUFFER_REMEDIES["10.3"],
    ),
)
