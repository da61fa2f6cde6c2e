"""Exercises of notebook 16: a configuration of the Hopper GEMM for any shape."""

from collections.abc import Callable
from functools import partial
from itertools import product
from math import isclose
from random import Random
from typing import Any

from tutorlib.checking.exercise import Answer
from tutorlib.checking.library_use import of_course
from tutorlib.checking.randomness import beside, more_for_points
from tutorlib.checking.scenario import Record, recorded
from tutorlib.checking.values import Case, attempt, plain, shorten
from tutorlib.exercises.judges import hopper as judge
from tutorlib.exercises.p15 import SHARED
from tutorlib.exercises.values import case_exercise, value_exercise
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine.features import WGMMA
from tutorlib.models.hopper_gemm import Sm, gemm_time
from tutorlib.problems.differences import Wrong, by
from tutorlib.problems.problem import Shape

# Judging models of the kernel's time.


def repaired(config: HopperConfig, m: int, n: int, k: int, sm: Sm) -> float:
    return gemm_time(config, m, n, k, sm, repaired=True)


def some_shape(rng: Random) -> Shape:
    return tuple(8 * round(2 ** rng.uniform(3, 10)) for _ in range(3))


def like_the_course(name: str, shapes: tuple[Shape, ...], *configs: dict[str, Any]) -> Case:
    """Estimates within 2% of `repaired`'s. The grader also draws shapes. configs: differences from the default one."""

    def judge(answer: Answer) -> Wrong | None:
        for changes, shape in product(configs, (*shapes, *more_for_points(some_shape, 2))):
            args = (HopperConfig(**changes), *shape, Sm())
            configured = ", ".join(f"{name}={value!r}" for name, value in changes.items())
            call = f"repaired(HopperConfig({configured}), {', '.join(map(str, shape))}, Sm())"
            got, fault = attempt(answer, args)
            if fault:
                return Wrong(f"{call}: {fault.what.rpartition(' raised ')[2]}")
            want = repaired(*args)
            if not real(got := plain(got)) or not isclose(got, want, rel_tol=0.02):
                return Wrong(f"{call} gives {shorten(got)}: it should be {want:.2f} µs.")
        return None

    return Case(name, judge)


LONGEST = 1e12  # an integer may be larger than any float


def real(got: Any) -> bool:
    return isinstance(got, int | float) and not isinstance(got, bool) and abs(got) < LONGEST


TABLES = "hopper_levers", "hopper_tiles"
BUDGETS = (  # of errors, the greatest over the least: sweeps, sizes, the most; `cost` has 1.25, 1.06, 1.07 and 1.04
    (TABLES, (4096, 8192), 1.14),
    (TABLES[:1], (8192,), 1.03),
    (("hopper_short",), (4096,), 1.035),
    (("hopper_short",), (8192,), 1.035),
)


def within_budgets(answer: Answer) -> Wrong | None:
    """The first budget that the answer's errors exceed."""
    faults: list[Wrong] = []

    def estimate(config: HopperConfig, *shape: int) -> float:
        got, fault = attempt(answer, (config, *shape, Sm()))
        if not fault and real(got := plain(got)) and got > 0:
            return got
        faults.append(fault or Wrong(f"for {by(shape)} it gives {shorten(got)}: it should be a number of µs."))
        return 1.0

    for sweeps, sizes, most in BUDGETS:
        errors = [error for error in judge.model_errors(estimate, *sweeps) if error[1][0] in sizes]
        if faults:
            return faults[0]
        (least, at, low), (greatest, place, high) = (pick(errors, key=lambda error: error[2]) for pick in (min, max))
        if high > most * low:
            found = f"×{low:.3f} the measured time ({least} at {by(at)}) and ×{high:.3f} ({greatest} at {by(place)})"
            return Wrong(f"its estimates are between {found}, more than ×{most} apart.")
    for m, n, k in more_for_points(some_shape, 2):
        one, two = (estimate(HopperConfig(), m, n, times * (k + 64)) for times in (1, 2))
        if faults or not one < two:
            return faults[0] if faults else Wrong(f"for {by((m, n, k + 64))} and twice the K it gives the same time.")
    return None


FEW_TILES = (256, 256, 4096), (512, 512, 8192)  # where one way of all is many times slower than another
MANY_TILES = (4096, 4096, 4096), (8192, 8192, 8192)


# 16.1 contenders


def contenders(estimates: list[float], ratios: list[float]) -> list[int]:
    """Positions of the estimates that no other is sure to beat, lowest first."""
    possible = (n for n, one in enumerate(estimates) if one / max(ratios) <= min(estimates) / min(ratios))
    return sorted(possible, key=lambda n: estimates[n])


def estimates(least: float, most: float) -> Callable[[Random], tuple]:
    """Calls of `contenders` whose ratios lie between these."""

    def draw(rng: Random) -> tuple:
        return [rng.uniform(100, 140) for _ in range(20)], [rng.uniform(least, most) for _ in range(6)]

    return draw


# 16.4 tuned


def nominated(rng: Random) -> tuple:
    """Twelve kernels at two shapes; in the first the fastest is interrupted at once, in the second it comes late."""
    tiles = rng.sample([f"tile {m}×{n}" for m in (64, 128) for n in range(64, 257, 16)], 12)
    shapes = []
    for shape, best in (((1576, 768, 3072), 4), ((64, 5120, 25600), 10)):
        least, factors = rng.uniform(8, 80), [rng.uniform(1.015, 1.02 if n < 4 else 1.1) for n in range(12)]
        shapes.append((shape, {tile: least * (1 if n == best else factors[n]) for n, tile in enumerate(tiles)}))
    return (shapes,)


def of_tuning(name: str, counts: Record) -> Case:
    """The record has the fastest of each shape, and these counts."""

    def expected(shapes: judge.Tuned) -> Record:
        fastest = [(shape, min(us, key=us.__getitem__)) for shape, us in shapes]
        winners = {f"the fastest at {by(shape)}": tile for shape, tile in fastest}
        return winners | ({judge.AGAIN: fastest[0][1]} if judge.UNTIMED in counts else {}) | counts

    return recorded(name, judge.tuning, nominated, expected)


choosing: Any = partial(judge.ChosenExercise.of, needs=WGMMA, problem=SHARED, patterned=False, spills=False)
EXERCISES = (
    value_exercise(
        ("16.1", "contenders", 3),
        contenders,
        {
            "estimates of any order": beside([([30.0, 20.0, 21.0, 22.5, 24.0], [0.875, 1.0])], estimates(0.9, 1.1)),
            "all estimates too high": beside([([8.0, 7.0, 9.0], [1.5, 1.25])], estimates(1.2, 1.5)),
            "all too low": beside([([8.0, 9.0, 7.0, 7.5], [0.5, 0.75, 0.625])], estimates(0.4, 0.8)),
            "a constant error": beside([([8.0, 7.0, 9.0, 7.0], [1.25])], estimates(1.25, 1.25)),
        },
    ),
    case_exercise(
        ("16.2", "repaired", 5),
        Case("the tables", within_budgets),
        like_the_course(
            "shapes that were not timed",
            ((4096, 4096, 1024), (256, 512, 64), (8192, 8192, 64)),
            {"cluster": (2, 1), "defer_stores": True},
            {"tile": (128, 128, 64), "cluster": (1, 2)},
            {"tile": (256, 192, 64), "stream_k": True},
            {"persistent": False, "split_k": 2},
            {"tile": (128, 160, 64), "cluster": (2, 1), "defer_stores": True, "transposed": True},
        ),
        library={"course.gemm_time": gemm_time},
    ),
    choosing(
        ("16.3", "choose", 6),
        part=judge.Chosen(
            timed=((4224, 3968, 4160), (1536, 2560, 3072), (320, 8192, 4096), (768, 1280, 16384), (8192, 512, 4096)),
            told=((64, 512, 32768), (200, 16384, 4096)),  # where one for K = 4096 costs 1.20, one without exchange 1.19
            close=1.12,  # the least by the repaired model has 1.00
        ),
        spans=(FEW_TILES, FEW_TILES, MANY_TILES),
        shapes=((512, 512, 512), (129, 200, 72), (1, 8, 4096), (64, 4096, 128)),
        simulated_shapes=((129, 200, 72), (1, 8, 4096), (64, 4096, 128)),
        tiers=(0.85, 0.93),  # of the slowest of five shapes: GPUs of one architecture differ there most
        library=of_course("hopper.choose", "choose"),
    ),
    case_exercise(
        ("16.4", "tuned", 3), of_tuning("near ties", {judge.OFTEN: 0}), of_tuning("a shape again", {judge.UNTIMED: 0})
    ),
)
