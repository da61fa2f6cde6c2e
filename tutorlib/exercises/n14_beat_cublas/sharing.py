"""Judging the shares of a line of K tiles: all clusters' shares together."""

from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

from tutorlib.checking.exercise import Answer
from tutorlib.checking.graded_run import more_for_points
from tutorlib.checking.values import Case, law, plain
from tutorlib.exercises.words import mistakes
from tutorlib.models import work
from tutorlib.models.hopper_gemm import Pair

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


def streams(name: str, draw: Callable[[Random], Sizes], *calls: Sizes) -> Case:
    """draw: makes sizes of this kind, of which the grader also tries two."""

    def judge(answer: Answer) -> Any:
        for clusters, tiles, k_tiles in (*calls, *more_for_points(draw, 2)):
            first = [(cluster, clusters, tiles, k_tiles) for cluster in range(clusters)]
            shape = law(name, first, is_items)
            if found := shape.judge(answer):
                return found
            whole = law(
                name,
                first[:1],
                lambda got, cluster, *sizes: shares_work(answer, *sizes),
                mistakes("14.8", whole_tiles=work.whole_tiles),
            )
            if found := whole.judge(answer):
                return found
        return None

    return Case(name, judge, [(cluster, *call) for call in calls for cluster in range(call[0])])


def even(rng: Random) -> Sizes:
    clusters = rng.randint(2, 9)
    return clusters, clusters * rng.randint(1, 3), rng.randint(3, 12)


def uneven(rng: Random) -> Sizes:
    return rng.randint(3, 14), rng.randint(2, 9), rng.randint(4, 13)


def few_steps(rng: Random) -> Sizes:
    tiles, k_tiles = rng.randint(1, 3), rng.randint(2, 5)
    return tiles * k_tiles + rng.randint(1, 5), tiles, k_tiles


def of_an_h200(rng: Random) -> Sizes:
    return rng.choice((66, 132)), rng.randint(100, 300), rng.randint(8, 16)


def is_items(got: Any, *args: int) -> str | None:
    if isinstance(got, tuple) and all(isinstance(item, tuple) and [type(x) for x in item] == [int] * 3 for item in got):
        return None
    return "it should be a list of (tile, first K tile, end of the K tiles)"
