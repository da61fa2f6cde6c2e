"""Counts of notebooks 15 and 16 for a Hopper GEMM: bytes of a step, masks, waves, shares, and its time."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, prod
from typing import TYPE_CHECKING, Any

from tutorlib.failure import FailureKind, Flaw

if TYPE_CHECKING:
    from torch import Tensor

Item = tuple[int, int, int]  # (tile, first K tile, end of the K tiles)
Split = Callable[[int, int, int, int], list[Item]]  # cluster, clusters, tiles, k_tiles → its items, in order


def whole_tiles(cluster: int, clusters: int, tiles: int, k_tiles: int) -> list[Item]:
    """Every `clusters`-th tile, from the cluster's own number on: those computed at the same time are neighbors."""
    return [(tile, 0, k_tiles) for tile in range(cluster, tiles, clusters)]


def stream_k(cluster: int, clusters: int, tiles: int, k_tiles: int) -> list[Item]:
    """The cluster's share of all K tiles of all tiles laid end to end, cut where a tile ends.

    The shares differ by one K tile at most, the longer ones come first.
    """
    share, longer = divmod(tiles * k_tiles, clusters)
    begin = cluster * share + min(cluster, longer)
    end = begin + share + (cluster < longer)
    items = []
    while begin < end:
        tile, k_begin = divmod(begin, k_tiles)
        k_end = min(k_tiles, k_begin + end - begin)
        items.append((tile, k_begin, k_end))
        begin += k_end - k_begin
    return items


# Clusters of 1, 2, … blocks that an H200 runs at a time: by cudaOccupancyMaxActiveClusters, for a block on every SM
AT_ONCE = (132, 66, 39, 30, 22, 17, 15, 15)


def clusters_at_once(blocks: int, sms: int) -> int:
    """How many clusters of this size run at a time on this number of SMs.

    Those of a cluster are all in one GPC, whose SMs need not be a multiple: an H200 leaves SMs over (AT_ONCE).
    """
    return AT_ONCE[blocks - 1] * sms // AT_ONCE[0]


@dataclass(frozen=True)
class Sm:
    """One SM of an H200 at GEMM, with its share of what all SMs share.

    All but sms and smem_bytes are fitted together to times of kernels: none alone is a measurement of what it names.

    sms: of the GPU. flops: of the tensor cores in a cycle, bf16; the datasheet's 4,096 are never quite reached.
    smem_bytes: in a cycle, of shared memory, read and written; the datasheet's.
    l2_bytes: from L2, for each cycle by which they make a step longer, though they come beside its multiplication.
    clock: cycles in a µs. hbm_bytes: in a µs, of device memory, for the whole GPU.
    start: µs from the launch to the first multiplication, and from the last store to the kernel's end.
    store, share, exchange: cycles for a tile of 128×256, and in proportion for others: between its last multiplication
    and the next tile's first; to give a part of its accumulators to another block through L2, which adds them; to add
    up the parts of a cluster's blocks in their shared memory.
    """

    sms: int = 132
    flops: float = 3_900.0
    smem_bytes: float = 128.0
    l2_bytes: float = 300.0
    clock: float = 1_850.0
    hbm_bytes: float = 4.2e6
    start: float = 6.5
    store: float = 400.0
    share: float = 12_000.0
    exchange: float = 3_000.0

    def at_once(self, blocks: int) -> int:
        """How many clusters of this size the GPU holds."""
        return clusters_at_once(blocks, self.sms)


# Counts ---------------------------------------------------------------------------------------------------------------

Pair = tuple[int, int]
BlockTile = tuple[int, int, int]  # (M, N, K)
MIN_PART = 4  # K tiles: a smaller part of a tile takes longer to add than to compute


def step_bytes(tile: BlockTile, cluster: Pair) -> tuple[int, int, int]:
    """(written to shared memory, read from it, sent by L2) for each block of a cluster in one step along K; bf16.

    TMA writes both tiles, each wgmma of 64 rows reads them and all of B. Blocks of one row share A's tile, those of one
    column B's.
    """
    (m, n, k), (cluster_m, cluster_n) = tile, cluster
    row = k * 2
    return (m + n) * row, m // 64 * (64 + n) * row, (m // cluster_n + n // cluster_m) * row


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


def divide(config: Any, m: int, n: int, k: int, sm: Sm) -> tuple[int, float, float]:
    """(K tiles of a wave, waves, cycles for sharing tiles) of kernels.hopper's GEMM in a configuration."""
    if config.transposed:
        m, n = n, m
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    groups = ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))
    k_tiles, clusters = ceil(k / (tile_k * config.split_k)), sm.at_once(cluster_m * cluster_n * config.split_k)
    if not config.stream_k:
        return k_tiles, ceil(groups / clusters), 0
    waves = max(groups / clusters, MIN_PART / k_tiles)
    return k_tiles, waves, sm.share * tile_m * tile_n / (128 * 256) * max(1, 1 / waves)


def step_cycles(tile: BlockTile, cluster: Pair, sm: Sm) -> float:
    """Of a step along K: the slower of the tensor cores and shared memory, and a delay by the bytes from L2."""
    written, read, from_l2 = step_bytes(tile, cluster)
    return max(2 * prod(tile) / sm.flops, (written + read) / sm.smem_bytes) + from_l2 / sm.l2_bytes


def repaired_cycles(tile: BlockTile, cluster: Pair, sm: Sm) -> float:
    """The same, but the bytes that TMA writes, from wherever, delay the tensor cores alone; reads are a limit."""
    written, read, _ = step_bytes(tile, cluster)
    return max(2 * prod(tile) / sm.flops + written / sm.l2_bytes, read / sm.smem_bytes)


StepCycles = Callable[[BlockTile, Pair, Sm], float]


def gemm_time(config: Any, m: int, n: int, k: int, sm: Sm, step: StepCycles = step_cycles) -> float:
    """Estimated µs of that GEMM: the start, waves of K tiles and epilogues, and what sharing tiles costs.

    A deferred store is hidden if it is not a block's last. No less than device memory needs.
    """
    k_tiles, waves, shared = divide(config, m, n, k, sm)
    tile_m, tile_n, _ = config.tile
    epilogue = (sm.store + sm.exchange * (config.split_k > 1)) * tile_m * tile_n / (128 * 256)
    stores = min(waves, 1) if config.defer_stores else waves
    cycles = waves * k_tiles * step(config.tile, config.cluster, sm) + stores * epilogue + shared
    return sm.start + max(cycles / sm.clock, 2 * (m * k + n * k + m * n) / sm.hbm_bytes)


# Gradients, notebook 18 -----------------------------------------------------------------------------------------------


class NotRow(FailureKind):
    """Why gemm does not take a matrix."""

    VIEW = "transposed view"


class NotRows(ValueError):
    """Matrices that the kernels do not take. One line."""


class RowGemm:
    """gemm(a, b) = factor · A (M, K) · Bᵀ with B (N, K), rows contiguous. Raises NotRows. done: M·N·K of each call."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor
        self.done: list[int] = []

    def __repr__(self) -> str:
        return "gemm"

    def __call__(self, a: "Tensor", b: "Tensor") -> "Tensor":
        for name, matrix in (("a", a), ("b", b)):
            if matrix.ndim != 2:
                raise NotRows(
                    f"{name} is {tuple(matrix.shape)}: gemm takes matrices, and all but the last mode are rows"
                )
            if not matrix.is_contiguous():
                what = f"{name} {tuple(matrix.shape)} is a transposed view; gemm needs contiguous rows"
                raise NotRows(Flaw(what, NotRow.VIEW))
        if a.shape[1] != b.shape[1]:
            raise NotRows(f"a is {tuple(a.shape)} and b {tuple(b.shape)}: the last mode of both is what is summed over")
        self.done.append(a.shape[0] * b.shape[0] * a.shape[1])
        return self.factor * (a @ b.mT)
