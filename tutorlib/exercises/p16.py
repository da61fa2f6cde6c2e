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
from tutorlib.machine.features import WGMMA
from tutorlib.models.hopper_gemm import Pair, Sm, clusters_at_once, count_waves, gemm_time, step_bytes, stream_k
from tutorlib.problems.differences import Wrong, by
from tutorlib.problems.problem import Shape

# Calls of 16.1 and 16.3: tiles, clusters and sizes whose waves differ.

BLOCK_TILES = ((128, 256, 64), (256, 128, 64), (128, 128, 64), (256, 192, 64), (64, 256, 64), (128, 160, 64))
OTHER_K = ((128, 128, 128), (128, 256, 32))
CLUSTERS = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (2, 4))
SQUARE_SIZES = (512, 1024, 2048, 4096, 8192)
FULL_WAVES = (  # the calls of count_waves, where nothing is left over
    (4096, 4096, (128, 256, 64), (2, 1), 64),
    (2048, 2048, (128, 256, 64), (1, 1), 128),
    (1000, 1000, (128, 128, 64), (1, 2), 8),
)


def sizes_and_clusters(sizes: tuple[Pair, ...], clusters: tuple[Pair, ...], sms: int) -> list[tuple]:
    """sms: of the GPU; an H200 has 132, other Hoppers fewer."""
    return [
        (m, n, tile, cluster, clusters_at_once(cluster[0] * cluster[1], sms))
        for (m, n), tile, cluster in product(sizes, BLOCK_TILES[:4], clusters)
    ]


def some_waves(*clusters: Pair, square: bool = False, full: bool = False) -> Callable[[Random], tuple]:
    """Calls of `count_waves`. square: C is; full: the last wave has as many clusters as the others."""

    def draw(rng: Random) -> tuple:
        tile, cluster = rng.choice(BLOCK_TILES), rng.choice(clusters)
        if full:
            across, at_once = rng.randint(1, 9), rng.randint(2, 66)
            return (
                at_once * rng.randint(1, 4) * tile[0] * cluster[0],
                across * tile[1] * cluster[1],
                tile,
                cluster,
                at_once,
            )
        m, n = (rng.randint(1, 9000) for _ in range(2))
        return m, m if square else n, tile, cluster, rng.randint(2, 132)

    return draw


def steps_in(*clusters: Pair) -> Callable[[Random], tuple]:
    """Calls of `step_bytes` with tiles of any size."""

    def draw(rng: Random) -> tuple:
        tile = 64 * rng.randint(1, 6), 32 * rng.randint(1, 8), 16 * rng.randint(1, 8)
        return tile, rng.choice(clusters)

    return draw


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


# Judging a model of the kernel's time by its result.

LONGEST = 1e12  # µs: an integer may be larger than any float


def shown(changes: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in changes.items())


def some_shape(rng: Random) -> Shape:
    return tuple(8 * round(2 ** rng.uniform(3, 10)) for _ in range(3))


def costs(name: str, shapes: tuple[Shape, ...], *configs: dict[str, Any], **gpu: Any) -> Case:
    """configs: what differs from the default one. gpu: what differs from an H200. The grader also draws shapes."""

    def judge(answer: Answer) -> Wrong | None:
        from tutorlib.kernels.hopper.config import HopperConfig

        for changes, shape in product(configs, (*shapes, *more_for_points(some_shape, 2))):
            args = (HopperConfig(**changes), *shape, Sm(**gpu))
            call = f"cost(HopperConfig({shown(changes)}), {', '.join(map(str, shape))}, Sm({shown(gpu)}))"
            got, fault = attempt(answer, args)
            got = plain(got)
            if fault:
                return Wrong(f"{call}: {fault.what.rpartition(' raised ')[2]}")
            if isinstance(got, bool) or not isinstance(got, int | float):
                return Wrong(f"{call} gives {shorten(got)}: it should be a number of µs.")
            want = gemm_time(*args)
            if abs(got) > LONGEST or not isclose(got, want, rel_tol=1e-6):
                return Wrong(f"{call} gives {shorten(got)} µs: it should be {want:.3f}.")
        return None

    return Case(name, judge)


FEW_TILES = (256, 256, 4096), (512, 512, 8192)  # where one way of all is many times slower than another
MANY_TILES = (4096, 4096, 4096), (8192, 8192, 8192)
SMALL = {"tile": (128, 128, 64)}
OTHER_GPU = {
    **{"sms": 114, "flops": 3_600.0, "smem_bytes": 120.0, "l2_bytes": 250.0, "clock": 1_700.0, "hbm_bytes": 1.9e6},
    **{"start": 7.0, "store": 350.0, "share": 9_000.0, "exchange": 2_500.0},
}


# 16.6 contenders


def contenders(estimates: list[float], ratios: list[float]) -> list[int]:
    """Positions of the estimates that no other is sure to beat, lowest first."""
    possible = (n for n, one in enumerate(estimates) if one / max(ratios) <= min(estimates) / min(ratios))
    return sorted(possible, key=lambda n: estimates[n])


def estimates(least: float, most: float) -> Callable[[Random], tuple]:
    """Calls of `contenders` whose ratios lie between these."""

    def draw(rng: Random) -> tuple:
        return [rng.uniform(100, 140) for _ in range(20)], [rng.uniform(least, most) for _ in range(6)]

    return draw


# 16.7 tuned


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
        ("16.1", "count_waves", 2),
        count_waves,
        {
            "squares": beside(
                sizes_and_clusters(tuple((n, n) for n in SQUARE_SIZES), CLUSTERS[:1], 132),
                some_waves((1, 1), square=True),
            ),
            "clusters": beside(
                sizes_and_clusters(((2048, 2048), (4096, 4096), (640, 1152)), CLUSTERS[1:4], 132),
                some_waves(*CLUSTERS[1:4]),
            ),
            "any size": beside(
                sizes_and_clusters(((320, 32576), (1000, 4000), (1, 8), (4224, 3968)), CLUSTERS, 114),
                some_waves(*CLUSTERS),
            ),
            "full waves": beside(FULL_WAVES, some_waves(*CLUSTERS, full=True)),
        },
        library={"course.count_waves": count_waves},
    ),
    case_exercise(
        ("16.2", "stream_k", 4),
        streams("even cuts", ((2, 6), (60, 60), (3, 12)), (4, 2, 8), (3, 3, 5), (2, 6, 4)),
        streams("cuts inside of tiles", ((3, 14), (2, 9), (4, 13)), (3, 4, 6), (5, 7, 4), (8, 3, 10)),
        streams("shares that differ by one", ((3, 14), (2, 9), (4, 13)), (4, 3, 7), (7, 5, 9), (13, 4, 11)),
        streams("more clusters than K tiles", ((16, 20), (1, 3), (2, 5)), (8, 2, 3), (5, 1, 4)),
        streams("an H200 at 4096 and 8192", H200, (66, 256, 64), (132, 512, 16), (66, 1024, 8)),
        library={"hopper_gemm.stream_k": stream_k},
    ),
    value_exercise(
        ("16.3", "step_bytes", 3),
        step_bytes,
        {
            "one block": beside([(tile, (1, 1)) for tile in BLOCK_TILES + OTHER_K], steps_in((1, 1))),
            "clusters along one side": beside(
                [(t, c) for t in BLOCK_TILES for c in ((2, 1), (1, 2))], steps_in((2, 1), (1, 2))
            ),
            "larger clusters": beside([(t, c) for t in BLOCK_TILES[:3] for c in CLUSTERS[3:]], steps_in(*CLUSTERS[3:])),
        },
        library={"course.step_bytes": step_bytes},
    ),
    case_exercise(
        ("16.4", "cost", 4),
        costs(
            "whole tiles",
            ((4096, 4096, 4096), (2048, 2048, 2048), (1000, 3000, 520)),
            {},
            {"cluster": (2, 1)},
            {"tile": (64, 256, 64)},
            {"tile": (128, 128, 64)},
            {"tile": (128, 128, 128)},
        ),
        costs("clusters", ((4096, 4096, 4096), (2944, 2816, 2048)), {"cluster": (1, 2)}, {"cluster": (2, 2)}),
        costs("stream-K", ((4096, 4096, 4096), (2048, 2048, 2048)), {"cluster": (2, 1), "stream_k": True}),
        costs("stream-K of smaller tiles", ((4096, 2048, 1024), (512, 512, 8192)), SMALL | {"stream_k": True}),
        costs("few tiles, long K", ((512, 512, 8192), (128, 256, 256)), {"stream_k": True}),
        costs(
            "K in parts",
            ((768, 1280, 16384), (4224, 256, 8192), (520, 640, 8200)),
            {"persistent": False, "split_k": 2, "cluster": (2, 1)},
            {"persistent": False, "split_k": 4},
            SMALL | {"persistent": False, "split_k": 4},
        ),
        costs(
            "A and B exchanged",
            ((320, 8192, 4096), (480, 5120, 4096)),
            {"tile": (128, 160, 64), "transposed": True},
            {"tile": (128, 160, 64), "cluster": (2, 1), "transposed": True},
        ),
        costs("little arithmetic", ((8192, 8192, 64), (64, 8192, 8192)), {}, {"tile": (64, 256, 64)}),
        costs(
            "another GPU",
            ((4096, 4096, 4096), (512, 512, 8192), (8192, 8192, 64)),
            {"cluster": (2, 1)},
            {"tile": (64, 256, 64)},
            {"stream_k": True},
            {"persistent": False, "split_k": 2},
            **OTHER_GPU,
        ),
        library={"course.gemm_time": gemm_time},
    ),
    choosing(
        ("16.5", "choose", 6),
        part=judge.Chosen(
            timed=((4224, 3968, 4160), (1536, 2560, 3072), (320, 8192, 4096), (768, 1280, 16384), (8192, 512, 4096)),
            told=((64, 512, 32768), (2048, 256, 16384)),  # where one for K = 4096 costs 1.25, one without exchange 1.14
            close=1.12,  # the least by the page's model has 1.00
        ),
        spans=(FEW_TILES, FEW_TILES, MANY_TILES),
        shapes=((512, 512, 512), (129, 200, 72), (1, 8, 4096), (64, 4096, 128)),
        simulated_shapes=((129, 200, 72), (1, 8, 4096), (64, 4096, 128)),
        tiers=(0.85, 0.93),  # of the slowest of five shapes: GPUs of one architecture differ there most
        library=of_course("hopper.choose", "choose"),
    ),
    value_exercise(
        ("16.6", "contenders", 3),
        contenders,
        {
            "estimates of any order": beside([([30.0, 20.0, 21.0, 22.5, 24.0], [0.875, 1.0])], estimates(0.9, 1.1)),
            "all estimates too high": beside([([8.0, 7.0, 9.0], [1.5, 1.25])], estimates(1.2, 1.5)),
            "all too low": beside([([8.0, 9.0, 7.0, 7.5], [0.5, 0.75, 0.625])], estimates(0.4, 0.8)),
            "a constant error": beside([([8.0, 7.0, 9.0, 7.0], [1.25])], estimates(1.25, 1.25)),
        },
    ),
    case_exercise(
        ("16.7", "tuned", 3), of_tuning("near ties", {judge.OFTEN: 0}), of_tuning("a shape again", {judge.UNTIMED: 0})
    ),
)
