"""Exercises of notebook 16: a configuration of the Hopper GEMM for any shape."""

from functools import partial
from math import isclose
from random import Random
from typing import Any

from tutorlib.checking.exercise import Answer
from tutorlib.checking.library_use import of_course
from tutorlib.checking.randomness import more_for_points
from tutorlib.checking.scenario import Record, recorded
from tutorlib.checking.values import Case, attempt, plain, shorten
from tutorlib.exercises.judges import hopper as judge
from tutorlib.exercises.p15 import SHARED
from tutorlib.exercises.values import case_exercise
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine.features import WGMMA
from tutorlib.models.hopper_gemm import BlockTile, Pair, Sm, gemm_time, repaired_cycles
from tutorlib.problems.differences import Wrong, by

# Judging models of the kernel's time.


def some_tile(rng: Random) -> tuple[BlockTile, Pair]:
    """With N ≥ 64: there wgmma's reads are no limit, wherever a formula has them."""
    return (64 * rng.randint(1, 4), 16 * rng.randint(4, 16), 64), rng.choice([(1, 1), (2, 1), (1, 2)])


def like_the_course(answer: Answer) -> Wrong | None:
    """Steps within 2% of `repaired_cycles`'. The grader also draws tiles."""
    tiles = [((128, 256, 64), (2, 1)), ((128, 128, 64), (1, 2)), ((128, 64, 64), (1, 1)), ((64, 256, 128), (2, 1))]
    for tile, cluster in (*tiles, *more_for_points(some_tile, 2)):
        call = f"repaired({tile}, {cluster}, Sm())"
        got, fault = attempt(answer, (tile, cluster, Sm()))
        if fault:
            return Wrong(f"{call}: {fault.what.rpartition(' raised ')[2]}")
        want = repaired_cycles(tile, cluster, Sm())
        if not real(got := plain(got)) or not isclose(got, want, rel_tol=0.02):
            return Wrong(f"{call} gives {shorten(got)}: it should be {want:,.0f} cycles.")
    return None


LONGEST = 1e12  # an integer may be larger than any float


def real(got: Any) -> bool:
    return isinstance(got, int | float) and not isinstance(got, bool) and abs(got) < LONGEST


TABLES = "hopper_levers", "hopper_tiles"
BUDGET = 1.14  # of errors at 4096 and 8192, the greatest over the least; `cost` has 1.25


def within_budget(answer: Answer) -> Wrong | None:
    """That the answer's errors exceed the budget; or a tile at which it is not like the course's."""
    faults: list[Wrong] = []

    def step(tile: BlockTile, cluster: Pair, sm: Sm) -> float:
        got, fault = attempt(answer, (tile, cluster, sm))
        if not fault and real(got := plain(got)) and got > 0:
            return got
        faults.append(fault or Wrong(f"for {tile} it gives {shorten(got)}: it should be a number of cycles."))
        return 1.0

    estimate = partial(gemm_time, sm=Sm(), step=step)
    errors = [error for error in judge.model_errors(estimate, *TABLES) if error[1][0] in (4096, 8192)]
    if faults:
        return faults[0]
    (least, at, low), (greatest, place, high) = (pick(errors, key=lambda error: error[2]) for pick in (min, max))
    if high > BUDGET * low:
        found = f"×{low:.3f} the measured time ({least} at {by(at)}) and ×{high:.3f} ({greatest} at {by(place)})"
        return Wrong(f"its estimates are between {found}, more than ×{BUDGET} apart.")
    return like_the_course(answer)  # or a table of the timed tiles would do


FEW_TILES = (256, 256, 4096), (512, 512, 8192)  # where one way of all is many times slower than another
MANY_TILES = (4096, 4096, 4096), (8192, 8192, 8192)


# 16.3 tuned


def nominated(rng: Random) -> tuple:
    """Twelve kernels at two shapes; in the first the fastest is interrupted at once, in the second it comes late."""
    tiles = rng.sample([f"tile {m}×{n}" for m in (64, 128) for n in range(64, 257, 16)], 12)
    shapes = []
    for shape, best in (((1576, 768, 3072), 4), ((64, 5120, 25600), 10)):
        least, factors = rng.uniform(8, 80), [rng.uniform(1.015, 1.02 if n < 4 else 1.1) for n in range(12)]
        shapes.append((shape, {tile: least * (1 if n == best else factors[n]) for n, tile in enumerate(tiles)}))
    return (shapes,)


def fastest(shapes: judge.Tuned) -> Record:
    """The record of a tuner that finds the fastest of each shape in time."""
    return {f"the fastest at {by(shape)}": min(us, key=us.__getitem__) for shape, us in shapes} | {judge.OFTEN: 0}


choosing: Any = partial(judge.ChosenExercise.of, needs=WGMMA, problem=SHARED, patterned=False, spills=False)
EXERCISES = (
    case_exercise(
        ("16.1", "repaired", 5),
        Case("the tables", within_budget),
        library={"course.repaired_cycles": repaired_cycles},
    ),
    choosing(
        ("16.2", "choose", 6),
        part=judge.Chosen(
            timed=((4224, 3968, 4160), (1536, 2560, 3072), (320, 8192, 4096), (768, 1280, 16384), (8192, 512, 4096)),
            told=((1280, 1280, 128), (200, 16384, 4096)),  # one for K = 4096: 1.28; without exchange: 1.19
            close=1.12,  # the least by the repaired model has 1.00
            free=(
                ((64, 8192, 8192), HopperConfig(tile=(64, 128, 64), persistent=False, split_k=2)),
                ((32, 4096, 11008), HopperConfig(tile=(64, 32, 64), transposed=True, persistent=False, split_k=2)),
            ),
        ),
        spans=(FEW_TILES, FEW_TILES, MANY_TILES),
        shapes=((512, 512, 512), (129, 200, 72), (1, 8, 4096), (64, 4096, 128)),
        simulated_shapes=((129, 200, 72), (1, 8, 4096), (64, 4096, 128)),
        tiers=(0.85, 0.93),  # of the slowest of five shapes: GPUs of one architecture differ there most
        library=of_course("hopper.choose", "choose"),
    ),
    case_exercise(("16.3", "tuned", 3), recorded("near ties", judge.tuning, nominated, fastest)),
)
