"""How a GEMM's tiles go to the clusters of a persistent kernel: whole ones in turn, or equal shares of all their K."""

from collections.abc import Callable
from dataclasses import dataclass

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


def clusters_at_once(blocks: int, sms: int) -> int:
    """How many clusters of this size run at a time on this number of SMs.

    Those of a cluster are all in one GPC, whose SMs need not be a multiple: on an H200 a sixteenth is left over.
    """
    return sms // blocks if blocks <= 2 else sms * 15 // 16 // blocks


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
