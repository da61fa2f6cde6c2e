"""The choice of a configuration for a shape: of those that a small model of the machine estimates to be the fastest,
the one that measurements of kernels like them place first.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from math import ceil, inf
from typing import Any

from tutorlib.kernels.hopper.config import BYTES, ConfigError, HopperConfig, Majors
from tutorlib.kernels.hopper.cost import LINE, cost
from tutorlib.kernels.hopper.learned import corrected

TMA_BYTES = 16  # that the rows of a matrix must be multiples of
K_MAJORS: Majors = ("k", "k")


class ShapeError(ValueError):
    """A GEMM that TMA cannot load or store. The message says why and what to do."""


TILES = tuple((m, n) for m in (64, 128, 192, 256) for n in range(16, 257, 16) if m * n <= 256 * 192)  # M, N
CLUSTERS = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4))
SPLITS = (2, 3, 4, 5, 6, 8)
LONG_AREA = 64 * 128  # elements of the largest tile whose K tiles may be two lines long: stages must be many
SHORT_LIST = 24  # candidates, that are ranked by what was measured
SQUARE = 4  # tiles wide is a band in which 16 consecutive blocks compute 4×4 tiles


@cache
def candidates(dtype: str = "bf16", majors: Majors = K_MAJORS) -> tuple[HopperConfig, ...]:
    """Every combination that breaks no rule, and in which TMA takes whole lines of A and of B. majors: the caller's."""
    return tuple(generated(dtype, majors))


def generated(dtype: str, majors: Majors) -> Iterator[HopperConfig]:
    for (m, n), cluster, transposed, lines in product(TILES, CLUSTERS, (False, True), (1, 2)):
        if lines > 1 and m * n > LONG_AREA:
            continue
        tile = m, n, lines * LINE // BYTES[dtype]
        of_ab = majors[::-1] if transposed else majors
        contiguous = (tile[2 if major == "k" else mode] for mode, major in enumerate(of_ab))
        if any(elements * BYTES[dtype] % LINE for elements in contiguous):
            continue
        base: dict[str, Any] = {"tile": tile, "cluster": cluster, "transposed": transposed, "dtype": dtype}
        base |= {"majors": of_ab}
        base |= {"zigzag": True, "polls": True}  # a little faster where a block has many tiles, no matter elsewhere
        ways: list[dict[str, Any]] = [{"stream_k": True}, {}]
        ways += [{"persistent": False, "split_k": split} for split in SPLITS]
        ways += [{"schedule": "pingpong"}, {"schedule": "pingpong", "stream_k": True}]
        for way in ways:
            for defer in (True, False):
                if defer and (way.get("schedule") == "pingpong" or not way.get("persistent", True)):
                    continue
                try:
                    yield HopperConfig(**base, **way, defer_stores=defer)
                    break  # deferred where there are registers for it
                except ConfigError:
                    pass


def shape_problem(m: int, n: int, k: int, dtype: str = "bf16", majors: Majors = K_MAJORS) -> str | None:
    """Why TMA cannot take A (M, K) and B (N, K), of these majors, and C (M, N), N contiguous; None where it can."""
    if min(m, n, k) < 1:
        return f"M, N, K = {m}, {n}, {k}: there is nothing to multiply"
    of_a, of_b = (("K", k) if major == "k" else own for major, own in zip(majors, (("M", m), ("N", n)), strict=True))
    for (name, along), bytes_ in ((of_a, BYTES[dtype]), (of_b, BYTES[dtype]), (("N", n), 2)):
        if along * bytes_ % TMA_BYTES:
            unit = TMA_BYTES // bytes_
            line = "column" if name == "M" else "row"
            return (
                f"{name} = {along}: a {line} of {along * bytes_} bytes, and TMA takes multiples of {TMA_BYTES}; "
                f"pad {name} with zeros to {ceil(along / unit) * unit}"
            )
    return None


def for_once(config: HopperConfig, m: int) -> HopperConfig:
    """The same, but L2 gives up B's lines first where the m rows of A are half a band of the raster, or less.

    Then neighbors alone need a line of B, and at once; what it would displace, A and C, is needed longer. At 8 to 512
    rows that gains 1 to 4 % on an H100; at a whole band nothing, at several it costs (figures/data/explored).
    """
    tile, cluster = (size[1 if config.transposed else 0] for size in (config.tile, config.cluster))
    if 2 * ceil(m / (tile * cluster)) > config.group:
        return config
    return replace(config, l2_a="evict_first") if config.transposed else replace(config, l2_b="evict_first")


def in_bands(config: HopperConfig, m: int, n: int, sms: int) -> HopperConfig:
    """The same, but blocks without clusters have bands of SQUARE where all tiles are computed at once; and no last band
    of theirs is one tile wide.

    Neighbors seem to share a read of L2 if they ask for a line together (L2 Request Coalescer: Nsight Compute,
    Profiling Guide). A square of tiles has the fewest rows and columns, so it needs the fewest lines. In more waves,
    narrow bands would read A more often from device memory. And where the last band is narrower, unless it is short,
    kernels were up to 16 % slower (figures/data/explored/h100_bands.jsonl); 9 rows of tiles took up to 8 % longer in
    bands of 8 and 1 than in one band (h200_bands.jsonl): where a band is a tile wide, no two blocks need a line of B.
    """
    if config.cluster_blocks > 1:
        return config
    if config.transposed:
        m, n = n, m
    rows, columns = ceil(m / config.tile[0]), ceil(n / config.tile[1])
    squares = rows > SQUARE and (rows % SQUARE == 0 or columns <= SQUARE)
    group = SQUARE if squares and rows * columns <= sms else config.group
    return replace(config, group=group + (rows > group and rows % group == 1))


def choose(m: int, n: int, k: int, sms: int = 132, dtype: str = "bf16", majors: Majors = K_MAJORS) -> HopperConfig:
    """The candidate that should be fastest. majors: of A and B. Raises ShapeError."""
    return ranked(m, n, k, sms, dtype, majors)[0]


@cache
def ranked(m: int, n: int, k: int, sms: int, dtype: str, majors: Majors) -> tuple[HopperConfig, ...]:
    """The short list, the one that should be fastest first. Raises ShapeError.

    bf16 and fp16 with K contiguous were measured: their estimates are corrected by what was learned.
    """
    found = short_list(m, n, k, sms, dtype, majors)
    if BYTES[dtype] != 2 or majors != K_MAJORS:
        return found
    return tuple(found[at] for at in corrected(found, m, n, k, sms).argsort(kind="stable"))


def short_list(m: int, n: int, k: int, sms: int, dtype: str, majors: Majors) -> tuple[HopperConfig, ...]:
    """The model's first choices: half of them its best, then the best of each further way to divide the work.

    Raises ShapeError.
    """
    if problem := shape_problem(m, n, k, dtype, majors):
        raise ShapeError(problem)
    costs = {config: cost(config, m, n, k, sms) for config in candidates(dtype, majors)}
    by_cost = sorted((config for config in costs if costs[config] < inf), key=costs.__getitem__)
    first, ways = by_cost[: SHORT_LIST // 2], dict[tuple[Any, ...], HopperConfig]()
    for config in by_cost[SHORT_LIST // 2 :]:
        if way_of(config) not in map(way_of, first):
            ways.setdefault(way_of(config), config)
    return tuple(finished(config, m, n, sms) for config in (first + list(ways.values()))[:SHORT_LIST])


def way_of(config: HopperConfig) -> tuple[Any, ...]:
    """How it divides the work, whatever its tile."""
    return config.cluster_size, config.split_k, config.stream_k, config.transposed


def finished(config: HopperConfig, m: int, n: int, sms: int) -> HopperConfig:
    """The same, with what the model does not know of: L2's hint for B, and the width of bands."""
    return in_bands(for_once(config, m), m, n, sms)
