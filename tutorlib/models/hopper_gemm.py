"""Notebook 14's counts for a Hopper GEMM: registers, bytes of a step, masks, waves, a block's tiles, and its time."""

from math import ceil
from typing import TYPE_CHECKING, Any

from tutorlib.models.l2 import grouped
from tutorlib.models.work import Sm

if TYPE_CHECKING:
    from torch import Tensor

Pair = tuple[int, int]
BlockTile = tuple[int, int, int]  # (M, N, K)
MIN_PART = 4  # K tiles: a smaller part of a tile takes longer to add than to compute


def at_launch(warpgroups: int) -> int:
    """Registers of each thread when the block starts."""
    return 65_536 // (128 * (warpgroups + 1)) // 8 * 8


def register_split(warpgroups: int, need: int) -> Pair:
    """(producer's, consumers') registers of each thread after setmaxnreg, for this number of consumer warpgroups.

    need: of the producer's threads. The pool is what the block starts with; setmaxnreg takes multiples of 8 from 24 on.
    """
    producer = max(24, -(-need // 8) * 8)
    return producer, ((warpgroups + 1) * at_launch(warpgroups) - producer) // warpgroups // 8 * 8


def step_bytes(tile: BlockTile, cluster: Pair) -> Pair:
    """(of shared memory, of L2) for each block of a cluster in one step along K; bf16.

    TMA writes both tiles, each wgmma of 64 rows reads them and all of B. Blocks of one row share A's tile, those of one
    column B's.
    """
    (m, n, k), (cluster_m, cluster_n) = tile, cluster
    return (m + n + m // 64 * (64 + n)) * k * 2, (m // cluster_n + n // cluster_m) * k * 2


def multicast(rank: int, cluster: Pair, rows: int, mode: int) -> tuple[int, int, int]:
    """(first row, rows, mask of receivers) of a block's load of a tile that it shares; mode 0: A's, 1: B's.

    Ranks run along M first.
    """
    place = rank % cluster[0], rank // cluster[0]
    part = rows // cluster[1 - mode]
    receivers = [
        other
        for other in range(cluster[0] * cluster[1])
        if (other % cluster[0], other // cluster[0])[mode] == place[mode]
    ]
    return place[1 - mode] * part, part, sum(1 << other for other in receivers)


def count_waves(m: int, n: int, tile: BlockTile, cluster: Pair, at_once: int) -> Pair:
    """(waves, clusters at work in the last one), where `at_once` clusters run at a time."""
    clusters = ceil(m / (tile[0] * cluster[0])) * ceil(n / (tile[1] * cluster[1]))
    return ceil(clusters / at_once), (clusters - 1) % at_once + 1


def walk(block: int, cluster: Pair, clusters: int, grid: Pair, group: int) -> list[Pair]:
    """The tiles (m, n) of C of a persistent block, in order. grid: of cluster tiles, in bands of `group` rows."""
    number, rank = divmod(block, cluster[0] * cluster[1])
    places = [grouped(tile, *grid, group) for tile in range(number, grid[0] * grid[1], clusters)]
    return [(m * cluster[0] + rank % cluster[0], n * cluster[1] + rank // cluster[0]) for m, n in places]


def dequantize(x: "Tensor", scales: "Tensor", block: Pair) -> "Tensor":
    """x (rows, columns) in fp32, of which every `block` shares one of the scales; blocks may be cut off."""
    rows, columns = x.shape
    spread = scales.repeat_interleave(block[0], 0)[:rows].repeat_interleave(block[1], 1)[:, :columns]
    return x.float() * spread


def gemm_time(config: Any, m: int, n: int, k: int, sm: Sm) -> float:
    """Estimated µs of kernels.hopper's GEMM in a configuration.

    The start, rounds of K tiles and results, and what sharing tiles costs; no less than device memory needs.
    """
    if config.transposed:
        m, n = n, m
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    smem, from_l2 = step_bytes(config.tile, config.cluster)
    step = max(2 * tile_m * tile_n * tile_k / sm.flops, smem / sm.smem_bytes) + from_l2 / sm.l2_bytes
    tiles = ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))
    k_tiles, clusters = ceil(k / (tile_k * config.split_k)), sm.at_once(cluster_m * cluster_n * config.split_k)
    area, store = tile_m * tile_n / (128 * 256), sm.store
    if config.stream_k:
        rounds = max(tiles / clusters, MIN_PART / k_tiles)
        shared = sm.share * area * max(1, 1 / rounds)
    else:
        rounds, shared = ceil(tiles / clusters), 0
    if config.split_k > 1:
        store += sm.exchange
    cycles = rounds * (k_tiles * step + store * area) + shared
    return sm.start + max(cycles / sm.clock, 2 * (m * k + n * k + m * n) / sm.hbm_bytes)
