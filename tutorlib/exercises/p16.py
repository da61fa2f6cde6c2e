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
from tutorlib.checking.values import Case, attempt, law, plain, shorten
from tutorlib.exercises.judges import hopper as judge
from tutorlib.exercises.p15 import SHARED
from tutorlib.exercises.values import case_exercise, value_exercise
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine.features import WGMMA
from tutorlib.models.hopper_gemm import Pair, Sm, divide, gemm_time, stream_k
from tutorlib.problems.differences import Wrong, by
from tutorlib.problems.problem import Shape

# Judging the shares of a line of K tiles: all clusters' shares together.

Sizes = tuple[int, int, int]  # clusters, tiles, K tiles


def shares_work(answer: Answer, clusters: int, tiles: int, k_tiles: int) -> str | None:
    """What is wrong with the shares of all clusters together, as the end of a sentence."""
    shares = [plain(answer(cluster, clusters, tiles, k_tiles)) for cluster in range(clusters)]
    taken: dict[Pair, int] = {}
    for cluster, items in enumerate(shares):
        for tile, begin, end in items:
            if not (0 <= tile < tiles and 0 <= begin < end <= k_tiles):
                return (
                    f"cluster {cluster} has {(tile, begin, end)}, which is none of {tiles} tiles with {k_tiles} K tiles"
                )
            for k_tile in range(begin, end):
                if (tile, k_tile) in taken:
                    return f"clusters {taken[tile, k_tile]} and {cluster} both compute K tile {k_tile} of tile {tile}"
                taken[tile, k_tile] = cluster
    missing = [(t, k) for t, k in product(range(tiles), range(k_tiles)) if (t, k) not in taken]
    if missing:
        tile, k_tile = missing[0]
        return f"no cluster computes K tile {k_tile} of tile {tile}, nor {len(missing) - 1} others"
    lengths = [sum(end - begin for _, begin, end in items) for items in shares]
    if max(lengths) - min(lengths) > 1:
        return (
            f"cluster {lengths.index(max(lengths))} has {max(lengths)} K tiles, cluster {lengths.index(min(lengths))} "
            f"{min(lengths)}: all wait for the slowest"
        )
    pieces = sum(map(len, shares))
    if pieces > tiles + clusters - 1:
        return (
            f"the tiles are cut into {pieces} parts, and {tiles + clusters - 1} suffice: each further part is a tile "
            "of accumulators to hand over and add"
        )
    return None


H200 = ((66, 132), (100, 300), (8, 16))


def streams(name: str, between: tuple[Pair, Pair, Pair], *calls: Sizes) -> Case:
    """between: the least and the most of each size; the grader also tries two that it draws."""

    def draw(rng: Random) -> Sizes:
        clusters, tiles, k_tiles = (rng.randint(*limits) for limits in between)
        return clusters, tiles, k_tiles

    def judge(answer: Answer) -> Any:
        for clusters, tiles, k_tiles in (*calls, *more_for_points(draw, 2)):
            first = [(cluster, clusters, tiles, k_tiles) for cluster in range(clusters)]
            whole = law(name, first[:1], lambda got, cluster, *sizes: shares_work(answer, *sizes))
            if found := law(name, first, is_items).judge(answer) or whole.judge(answer):
                return found
        return None

    return Case(name, judge, [(cluster, *call) for call in calls for cluster in range(call[0])])


def is_items(got: Any, *args: int) -> str | None:
    if isinstance(got, tuple) and all(isinstance(item, tuple) and [type(x) for x in item] == [int] * 3 for item in got):
        return None
    return "it should be a list of (tile, first K tile, end of the K tiles)"


# Judging the division of the work, and models of the kernel's time.

Estimate = Callable[..., Any]  # of a configuration at M, N, K on a GPU


def some_shape(rng: Random) -> Shape:
    return tuple(8 * round(2 ** rng.uniform(3, 10)) for _ in range(3))


def works(
    name: str, shapes: tuple[Shape, ...], *configs: dict[str, Any], of: Estimate = divide, off: float = 1e-6, **gpu: Any
) -> Case:
    """Numbers as `of` has them, but for a part `off`. The grader also draws shapes.

    configs: what differs from the default one. gpu: what differs from an H200.
    """

    def judge(answer: Answer) -> Wrong | None:
        for changes, shape in product(configs, (*shapes, *more_for_points(some_shape, 2))):
            args = (HopperConfig(**changes), *shape, Sm(**gpu))
            configured, on = (", ".join(f"{n}={value!r}" for n, value in given.items()) for given in (changes, gpu))
            call = f"{of.__name__}(HopperConfig({configured}), {', '.join(map(str, shape))}, Sm({on}))"
            got, fault = attempt(answer, args)
            if fault:
                return Wrong(f"{call}: {fault.what.rpartition(' raised ')[2]}")
            got, want = plain(got), of(*args)
            if not alike(got, want, off):
                digits = f"{want:.2f} µs" if isinstance(want, float) else f"({want[0]}, {want[1]:g}, {want[2]:g})"
                return Wrong(f"{call} gives {shorten(got)}: it should be {digits}.")
        return None

    return Case(name, judge)


def alike(got: Any, want: Any, off: float) -> bool:
    """Whether these are numbers, or tuples of numbers, that agree but for a part."""
    if isinstance(want, tuple):
        return isinstance(got, tuple) and len(got) == len(want) and all(map(partial(alike, off=off), got, want))
    return real(got) and isclose(got, want, rel_tol=off)


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


def repaired(config: HopperConfig, m: int, n: int, k: int, sm: Sm) -> float:
    return gemm_time(config, m, n, k, sm, repaired=True)


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
SMALL = {"tile": (128, 128, 64)}
OTHER_GPU: dict[str, Any] = {
    **{"sms": 114, "flops": 3_600.0, "smem_bytes": 120.0, "l2_bytes": 250.0, "clock": 1_700.0, "hbm_bytes": 1.9e6},
    **{"start": 7.0, "store": 350.0, "share": 9_000.0, "exchange": 2_500.0},
}


# 16.3 contenders


def contenders(estimates: list[float], ratios: list[float]) -> list[int]:
    """Positions of the estimates that no other is sure to beat, lowest first."""
    possible = (n for n, one in enumerate(estimates) if one / max(ratios) <= min(estimates) / min(ratios))
    return sorted(possible, key=lambda n: estimates[n])


def estimates(least: float, most: float) -> Callable[[Random], tuple]:
    """Calls of `contenders` whose ratios lie between these."""

    def draw(rng: Random) -> tuple:
        return [rng.uniform(100, 140) for _ in range(20)], [rng.uniform(least, most) for _ in range(6)]

    return draw


# 16.6 tuned


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
    case_exercise(
        ("16.1", "stream_k", 4),
        streams("even cuts", ((2, 6), (60, 60), (3, 12)), (4, 2, 8), (3, 3, 5), (2, 6, 4)),
        streams("cuts inside of tiles", ((3, 14), (2, 9), (4, 13)), (3, 4, 6), (5, 7, 4), (8, 3, 10)),
        streams("shares that differ by one", ((3, 14), (2, 9), (4, 13)), (4, 3, 7), (7, 5, 9), (13, 4, 11)),
        streams("more clusters than K tiles", ((16, 20), (1, 3), (2, 5)), (8, 2, 3), (5, 1, 4)),
        streams("an H200 at 4096 and 8192", H200, (66, 256, 64), (132, 512, 16), (66, 1024, 8)),
        library={"hopper_gemm.stream_k": stream_k},
    ),
    case_exercise(
        ("16.2", "divide", 4),
        works(
            "whole tiles",
            ((4096, 4096, 4096), (2048, 2048, 2048), (1000, 3000, 520)),
            {},
            {"cluster": (2, 1)},
            {"tile": (64, 256, 64)},
            {"tile": (128, 128, 64)},
            {"tile": (128, 128, 128)},
        ),
        works("clusters", ((4096, 4096, 4096), (2944, 2816, 2048)), {"cluster": (1, 2)}, {"cluster": (2, 2)}),
        works("stream-K", ((4096, 4096, 4096), (2048, 2048, 2048)), {"cluster": (2, 1), "stream_k": True}),
        works("stream-K of smaller tiles", ((4096, 2048, 1024), (512, 512, 8192)), SMALL | {"stream_k": True}),
        works("few tiles, long K", ((512, 512, 8192), (128, 256, 256)), {"stream_k": True}),
        works(
            "K in parts",
            ((768, 1280, 16384), (4224, 256, 8192), (520, 640, 8200)),
            {"persistent": False, "split_k": 2, "cluster": (2, 1)},
            {"persistent": False, "split_k": 4},
            SMALL | {"persistent": False, "split_k": 4},
        ),
        works(
            "A and B exchanged",
            ((320, 8192, 4096), (480, 5120, 4096)),
            {"tile": (128, 160, 64), "transposed": True},
            {"tile": (128, 160, 64), "cluster": (2, 1), "transposed": True},
        ),
        works("little arithmetic", ((8192, 8192, 64), (64, 8192, 8192)), {}, {"tile": (64, 256, 64)}),
        works(
            "another GPU",
            ((4096, 4096, 4096), (512, 512, 8192), (8192, 8192, 64)),
            {"cluster": (2, 1)},
            {"tile": (64, 256, 64)},
            {"stream_k": True},
            {"persistent": False, "split_k": 2},
            **OTHER_GPU,
        ),
        library={"course.gemm_time": gemm_time, "course.divide": divide},
    ),
    value_exercise(
        ("16.3", "contenders", 3),
        contenders,
        {
            "estimates of any order": beside([([30.0, 20.0, 21.0, 22.5, 24.0], [0.875, 1.0])], estimates(0.9, 1.1)),
            "all estimates too high": beside([([8.0, 7.0, 9.0], [1.5, 1.25])], estimates(1.2, 1.5)),
            "all too low": beside([([8.0, 9.0, 7.0, 7.5], [0.5, 0.75, 0.625])], estimates(0.4, 0.8)),
            "a constant error": beside([([8.0, 7.0, 9.0, 7.0], [1.25])], estimates(1.25, 1.25)),
        },
    ),
    case_exercise(
        ("16.4", "repaired", 5),
        Case("the tables", within_budgets),
        works(
            "shapes that were not timed",
            ((4096, 4096, 1024), (256, 512, 64), (8192, 8192, 64)),
            {"cluster": (2, 1), "defer_stores": True},
            {"tile": (128, 128, 64), "cluster": (1, 2)},
            {"tile": (256, 192, 64), "stream_k": True},
            {"persistent": False, "split_k": 2},
            {"tile": (128, 160, 64), "cluster": (2, 1), "defer_stores": True, "transposed": True},
            of=repaired,
            off=0.02,
        ),
        library={"course.gemm_time": gemm_time},
    ),
    choosing(
        ("16.5", "choose", 6),
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
        ("16.6", "tuned", 3), of_tuning("near ties", {judge.OFTEN: 0}), of_tuning("a shape again", {judge.UNTIMED: 0})
    ),
)
