"""The choice of a configuration for a shape: the candidate with the least time in a small model of the machine.

The model's constants are in constants.json; `python -m tests.chooser.fit` writes it from measurements.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import ceil, gcd, sqrt
from pathlib import Path
from typing import Any, NamedTuple

from tutorlib.kernels.hopper.config import BYTES, MIN_SHARED_K_TILES, MMA_M, ConfigError, HopperConfig, Majors
from tutorlib.models.hopper_gemm import clusters_at_once

FILE = Path(__file__).with_name("constants.json")
CLOCK = 1_850.0  # cycles in a µs, under load
SMEM_BYTES = 128.0  # in a cycle, read or written
SHARPNESS = 4.5  # of the step from one limit of a K tile to another: where two are close, both cost
OVERLAP = 2.25  # the same for all K tiles and device memory, which is needed unevenly
AREA = 128 * 256  # elements of the tile of C that the constants are for
LINE = 128  # bytes of L2
SPECIAL, ARITHMETIC = 16, 128  # operations of an SM in a cycle (CUDA C++ Programming Guide, 8.4.1, sm_90)
FETCHED = 5.1  # elements in a cycle: threads wait for each eight; an H200's residual costs so much, cooperative
SECTOR = 32  # bytes in which L2 sends lines
TMA_BYTES = 16  # that the rows of a matrix must be multiples of
K_MAJORS: Majors = ("k", "k")


class ShapeError(ValueError):
    """A GEMM that TMA cannot load or store. The message says why and what to do."""


@dataclass(frozen=True)
class Constants:
    """The model's measured constants; cycles and bytes are per SM, for tiles of 128×256.

    mma_efficiency: fraction of the tensor cores' rate where nothing else is the limit. turn: cycles of any K tile,
        however small: its two barriers.
    l2_bytes: from L2 per cycle, when all SMs load as much. crossing: L2's extra work, as a fraction, where a K tile's
        part of a row is in two lines; straddling: more of it, where that part begins in mid-sector.
    alone_bytes: l2_bytes for blocks without clusters. They are spread over the GPU in another way, and L2 merges
        neighbors' requests for a line as long as all blocks are at the same K: not where they share tiles.
        alone_crossing: factor on crossing and straddling for them, since such requests are seldom merged.
    drift: how much longer a K tile takes blocks without clusters, as a fraction, once rounds of tiles have brought
        them out of step. coupling: the same for each other block of a cluster, which shares its loads and waits for it.
    inside, outside: TMA's cycles for a line of a row in the matrix, and of one beyond its edge, which it fills with 0.
    latency: cycles from the request for a stage to its arrival with all of a block's stages in flight, except those
        held: the one being read, and the next until its loads have been issued.
    hbm_bytes: of A and B, per µs of the GPU. long: factor where a row of a K tile fills two lines, which device memory
        delivers one after the other. uneven: how much longer they take, as a fraction of the last wave's idle part,
        since fewer SMs ask for less at a time.
    start: µs of every launch; gather: more for the square root of a cluster's other blocks, which start together.
    last: cycles of the last tile's stores.
    store: cycles from a tile's last multiplication to the next tile's first; in ping-pong the other tile's
        multiplication hides them while it lasts. deferred: the same where stores are deferred.
    exchange: cycles in which a block that receives a tile's accumulators from another, which splits its K, adds them.
    share: cycles to hand over a tile's accumulators through L2 and to add them; wait: for them, however small.
    """

    mma_efficiency: float
    turn: float
    l2_bytes: float
    crossing: float
    straddling: float
    alone_bytes: float
    alone_crossing: float
    drift: float
    coupling: float
    inside: float
    outside: float
    latency: float
    held: float
    hbm_bytes: float
    long: float
    uneven: float
    start: float
    gather: float
    last: float
    store: float
    deferred: float
    exchange: float
    share: float
    wait: float


@cache
def fitted() -> Constants:
    """The constants of constants.json."""
    return Constants(**json.loads(FILE.read_text(encoding="utf-8"))["constants"])


class OpWork(NamedTuple):
    """A fused epilogue's work on each accumulator besides rounding and storing it, in operations of a thread.

    special: exp, tanh, rsqrt. arithmetic: additions, multiplications, fused or not. fetched: elements of a matrix.
    """

    special: float = 0.0
    arithmetic: float = 0.0
    fetched: float = 0.0

    @property
    def cycles(self) -> float:
        """Of an SM, for a tile of AREA."""
        return AREA * (self.special / SPECIAL + self.arithmetic / ARITHMETIC + self.fetched / FETCHED)


NO_WORK = OpWork()
TILES = tuple((m, n) for m in (64, 128, 192, 256) for n in range(16, 257, 16) if m * n <= 256 * 192)  # M, N
CLUSTERS = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4))
SPLITS = (2, 3, 4, 5, 6, 8)
LONG_AREA = 64 * 128  # elements of the largest tile whose K tiles may be two lines long: stages must be many
MIN_SPLIT_K_TILES = 2  # of a block that splits K
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


def cost(
    config: HopperConfig,
    m: int,
    n: int,
    k: int,
    sms: int = 132,
    constants: Constants | None = None,
    work: OpWork = NO_WORK,
) -> float:
    """Estimated µs of a GEMM on a GPU with `sms` SMs; infinite where a block would have hardly any K tiles.

    work: of its epilogue.
    """
    known = constants or fitted()
    if config.transposed:
        m, n = n, m
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    tiles = ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))
    k_tiles, clusters = ceil(k / tile_k), clusters_at_once(config.cluster_blocks, sms)
    area = tile_m * tile_n / AREA
    store = known.deferred if config.defer_stores else known.store
    extra, cut, idle = 0.0, 0, 0.0
    if config.stream_k:
        clusters = max(min(clusters, tiles * k_tiles // MIN_SHARED_K_TILES), 1)
        steps, stores = tiles * k_tiles / clusters, ceil(tiles / clusters) - 1
        if cut := cut_tiles(tiles, clusters):
            extra = known.wait + known.share * area * max(1.0, clusters / tiles)
    else:
        if k_tiles < MIN_SPLIT_K_TILES * config.split_k > MIN_SPLIT_K_TILES:
            return float("inf")
        clusters = min(clusters, tiles)
        waves = ceil(tiles / clusters)
        idle = 1 - tiles / (waves * clusters)
        steps, stores = waves * ceil(k_tiles / config.split_k), waves - 1
        extra = waves * known.exchange * area * (config.split_k - 1) / config.receivers
    busy_sms, rounds = clusters * config.cluster_blocks / sms, max(tiles / clusters, 1.0)
    step = step_cycles(config, (m, n, k), busy_sms, rounds, cut / tiles, known)
    between = (store + work.cycles) * area
    if config.schedule == "pingpong":  # the other warpgroup multiplies meanwhile
        between = max(between - k_tiles * step, 0.0)
    busy = steps * step + stores * between + extra
    bytes_ = BYTES[config.dtype]
    long = known.long if tile_k * bytes_ > LINE else 1.0
    loading = (m + n) * k * bytes_ / (known.hbm_bytes * long) * (1 + known.uneven * idle)
    main = ((busy / CLOCK) ** OVERLAP + loading**OVERLAP) ** (1 / OVERLAP)
    start = known.start + known.gather * sqrt(config.cluster_blocks - 1)
    return start + main + (known.last + work.cycles) * area / CLOCK


def cut_tiles(tiles: int, clusters: int) -> int:
    """Tiles that stream-K cuts up among all clusters: those that fill no wave, and a wave more where they are few."""
    left = tiles % clusters
    return left + clusters if 0 < 2 * left < clusters < tiles else left


def step_cycles(
    config: HopperConfig, mnk: tuple[int, int, int], busy_sms: float, rounds: float, cut: float, known: Constants
) -> float:
    """Cycles of a K tile while this part of all SMs is at work: the longest of what it needs, or a little more.

    rounds: tiles of a block, on the average. cut: part of all tiles that stream-K cuts up.
    """
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    row = tile_k * BYTES[config.dtype]
    mma = tile_m / MMA_M * tile_n / 2 * row / 32 / known.mma_efficiency
    smem = tile_m / MMA_M * (MMA_M + tile_n) * row / SMEM_BYTES
    lengths = [mnk[2 if major == "k" else mode] * BYTES[config.dtype] for mode, major in enumerate(config.majors)]
    more_a, more_b = (crossed(length, known) for length in lengths)

    def l2(bytes_: float, times: float) -> float:
        of_a, of_b = tile_m / cluster_n * (1 + times * more_a), tile_n / cluster_m * (1 + times * more_b)
        return (of_a + of_b) * row / bytes_ * min(busy_sms, 1.0)

    from_l2, together = l2(known.l2_bytes, 1.0), known.coupling * (config.cluster_size - 1)
    if config.cluster_blocks == 1:
        together = known.drift * (1 - 1 / rounds)
        from_l2 = cut * from_l2 + (1 - cut) * l2(known.alone_bytes, known.alone_crossing)
    out_m, out_n = rows_outside(mnk[0], tile_m, cluster_m, rounds), rows_outside(mnk[1], tile_n, cluster_n, rounds)
    rows, out = (tile_m - out_m) / cluster_n + (tile_n - out_n) / cluster_m, out_m / cluster_n + out_n / cluster_m
    tma = (known.inside * rows + known.outside * out) * row / LINE
    in_flight = known.latency / (config.ab_stages - known.held)
    limits = (mma, smem, from_l2, tma, in_flight, known.turn)
    return sum(limit**SHARPNESS for limit in limits) ** (1 / SHARPNESS) * (1 + together)


def rows_outside(extent: int, tile: int, cluster: int, rounds: float) -> float:
    """Rows of a block's tiles beyond the matrix's edge: its worst tile's, and like the average in its other rounds."""
    tiles = ceil(extent / (tile * cluster)) * cluster
    beyond = tiles * tile - extent
    return min(beyond, tile) / rounds + beyond / tiles * (1 - 1 / rounds)


def crossed(length: int, known: Constants) -> float:
    """L2's extra work, as a fraction, for K tiles of LINE bytes in rows of `length` bytes: they may cross lines."""
    return known.crossing * (1 - gcd(length, LINE) / LINE) + known.straddling * (length % SECTOR != 0)


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


def in_squares(config: HopperConfig, m: int, n: int, sms: int) -> HopperConfig:
    """The same, but in bands of SQUARE where blocks without clusters compute all tiles at once.

    Neighbors seem to share a read of L2 if they ask for a line together (L2 Request Coalescer: Nsight Compute,
    Profiling Guide). A square of tiles has the fewest rows and columns, so it needs the fewest lines. In more waves,
    narrow bands would read A more often from device memory. And where the last band is narrower, unless it is short,
    kernels were up to 16 % slower (figures/data/explored/h100_bands.jsonl).
    """
    if config.transposed:
        m, n = n, m
    rows, columns = ceil(m / config.tile[0]), ceil(n / config.tile[1])
    squares = rows > SQUARE and (rows % SQUARE == 0 or columns <= SQUARE)
    at_once = config.cluster_blocks == 1 and rows * columns <= sms
    return replace(config, group=SQUARE) if squares and at_once else config


@cache
def choose(m: int, n: int, k: int, sms: int = 132, dtype: str = "bf16", majors: Majors = K_MAJORS) -> HopperConfig:
    """The candidate that should be fastest. majors: of A and B. Raises ShapeError."""
    if problem := shape_problem(m, n, k, dtype, majors):
        raise ShapeError(problem)
    fastest = min(candidates(dtype, majors), key=lambda config: cost(config, m, n, k, sms))
    return finished(fastest, m, n, sms)


def finished(config: HopperConfig, m: int, n: int, sms: int) -> HopperConfig:
    """The same, with what the model does not know of: L2's hint for B, and the width of bands."""
    return in_squares(for_once(config, m), m, n, sms)
