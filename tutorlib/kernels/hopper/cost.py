"""The time of a configuration at a shape, in a small model of the machine.

The model's constants are in constants.json; `python -m tests.chooser.fit` writes it from measurements.
"""

import json
from dataclasses import dataclass
from functools import cache
from math import ceil, gcd, inf, sqrt
from pathlib import Path
from typing import Any, NamedTuple

from tutorlib.kernels.hopper.config import BYTES, MIN_SHARED_K_TILES, MMA_M, HopperConfig
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
MIN_SPLIT_K_TILES = 2  # of a block that splits K


class Estimate(NamedTuple):
    """A GEMM's estimated time, and what it consists of, for one block of a cluster.

    us: infinite where a block would have hardly any K tiles. tiles: of clusters; cut: those that stream-K cuts up.
    clusters: at work at a time. waves: of tiles; idle: the idle part of the last. steps: K tiles of a block in all;
    limits: cycles that each resource would take for one, `step`: those it takes. between: cycles from a tile's last
    multiplication to the next tile's first, in all. shared: cycles for sharing tiles. loading, last: µs of device
    memory, and of the last tile's stores.
    """

    us: float
    tiles: int = 0
    cut: int = 0
    clusters: int = 0
    waves: int = 0
    idle: float = 0.0
    steps: float = 0.0
    limits: tuple[float, ...] = ()
    step: float = 0.0
    between: float = 0.0
    shared: float = 0.0
    loading: float = 0.0
    last: float = 0.0


def cost(config: HopperConfig, m: int, n: int, k: int, sms: int = 132, **more: Any) -> float:
    """Estimated µs of a GEMM; infinite where a block would have hardly any K tiles. more: `estimate`'s."""
    return estimate(config, m, n, k, sms, **more).us


def estimate(
    config: HopperConfig,
    m: int,
    n: int,
    k: int,
    sms: int,
    constants: Constants | None = None,
    work: OpWork = NO_WORK,
) -> Estimate:
    """Of a GEMM on a GPU with `sms` SMs. work: of its epilogue."""
    known = constants or fitted()
    if config.transposed:
        m, n = n, m
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    tiles = ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))
    k_tiles, clusters = ceil(k / tile_k), clusters_at_once(config.cluster_blocks, sms)
    area = tile_m * tile_n / AREA
    store = known.deferred if config.defer_stores else known.store
    shared, cut, idle = 0.0, 0, 0.0
    if config.stream_k:
        clusters = max(min(clusters, tiles * k_tiles // MIN_SHARED_K_TILES), 1)
        steps, waves = tiles * k_tiles / clusters, ceil(tiles / clusters)
        if cut := cut_tiles(tiles, clusters):
            shared = known.wait + known.share * area * max(1.0, clusters / tiles)
    else:
        if k_tiles < MIN_SPLIT_K_TILES * config.split_k > MIN_SPLIT_K_TILES:
            return Estimate(inf)
        clusters = min(clusters, tiles)
        waves = ceil(tiles / clusters)
        idle = 1 - tiles / (waves * clusters)
        steps = waves * ceil(k_tiles / config.split_k)
        shared = waves * known.exchange * area * (config.split_k - 1) / config.receivers
    busy_sms, rounds = clusters * config.cluster_blocks / sms, max(tiles / clusters, 1.0)
    limits, step = step_cycles(config, (m, n, k), busy_sms, rounds, cut / tiles, known)
    between = (store + work.cycles) * area
    if config.schedule == "pingpong":  # the other warpgroup multiplies meanwhile
        between = max(between - k_tiles * step, 0.0)
    between *= waves - 1
    busy = steps * step + between + shared
    bytes_ = BYTES[config.dtype]
    long = known.long if tile_k * bytes_ > LINE else 1.0
    loading = (m + n) * k * bytes_ / (known.hbm_bytes * long) * (1 + known.uneven * idle)
    main = ((busy / CLOCK) ** OVERLAP + loading**OVERLAP) ** (1 / OVERLAP)
    start = known.start + known.gather * sqrt(config.cluster_blocks - 1)
    last = (known.last + work.cycles) * area / CLOCK
    us = start + main + last
    return Estimate(us, tiles, cut, clusters, waves, idle, steps, limits, step, between, shared, loading, last)


def cut_tiles(tiles: int, clusters: int) -> int:
    """Tiles that stream-K cuts up among all clusters: those that fill no wave, and a wave more where they are few."""
    left = tiles % clusters
    return left + clusters if 0 < 2 * left < clusters < tiles else left


def step_cycles(
    config: HopperConfig, mnk: tuple[int, int, int], busy_sms: float, rounds: float, cut: float, known: Constants
) -> tuple[tuple[float, ...], float]:
    """A K tile's cycles by each of its limits, and in all: the longest, or a little more. busy_sms: part of all SMs.

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
    return limits, sum(limit**SHARPNESS for limit in limits) ** (1 / SHARPNESS) * (1 + together)


def rows_outside(extent: int, tile: int, cluster: int, rounds: float) -> float:
    """Rows of a block's tiles beyond the matrix's edge: its worst tile's, and like the average in its other rounds."""
    tiles = ceil(extent / (tile * cluster)) * cluster
    beyond = tiles * tile - extent
    return min(beyond, tile) / rounds + beyond / tiles * (1 - 1 / rounds)


def crossed(length: int, known: Constants) -> float:
    """L2's extra work, as a fraction, for K tiles of LINE bytes in rows of `length` bytes: they may cross lines."""
    return known.crossing * (1 - gcd(length, LINE) / LINE) + known.straddling * (length % SECTOR != 0)
