"""The schedule of a cluster of blocks: its tiles of C, the part of their K, and their order.

It is arithmetic on the numbers of a cluster and an item. Nothing is assigned at run time, so the producer and the warps
that multiply find the same items without communication.
"""

from dataclasses import dataclass
from typing import NamedTuple

import cutlass
from cutlass import Int32, cute

from tutorlib.kernels.hopper.config import MIN_SHARED_K_TILES, HopperConfig
from tutorlib.kernels.hopper.pipeline import Here


class Plan(NamedTuple):
    """The assignment of tiles to clusters, computed once on the host.

    tiles: (M, N) of C in cluster tiles. k_tiles: steps along K of each.
    shared: so many tiles, the first in raster order, are cut evenly along K among all clusters.
    share: K tiles of them for each cluster, and one more for the first `longer_shares` clusters.
    whole: other tiles for each cluster, and one more for the first `longer_wholes` clusters.
    band: tiles in a band of the raster. edge: width of the last band.
    """

    tiles: tuple[Int32, Int32]
    k_tiles: cute.FastDivmodDivisorV2
    shared: Int32
    share: Int32
    longer_shares: Int32
    whole: Int32
    longer_wholes: Int32
    band: cute.FastDivmodDivisorV2
    edge: cute.FastDivmodDivisorV2


@cute.jit
def make_plan(
    tiles: tuple[Int32, Int32], k_tiles: Int32, max_clusters: Int32, config: cutlass.Constexpr
) -> tuple[Plan, Int32]:
    """(the plan, clusters to launch) for C of so many cluster tiles on a GPU that holds `max_clusters` at a time."""
    count = tiles[0] * tiles[1]
    clusters, shared = count, Int32(0)
    if cutlass.const_expr(config.persistent and not config.stream_k):
        clusters = cutlass.min(count, max_clusters)
    if cutlass.const_expr(config.stream_k):
        clusters = cutlass.max(cutlass.min(max_clusters, count * k_tiles // MIN_SHARED_K_TILES), 1)
        shared = count % clusters
        if shared > 0 and 2 * shared < clusters and count > clusters:
            shared += clusters  # fewer would be cut into too many parts
    along, across = tiles if config.raster == "m" else tiles[::-1]
    plan = Plan(
        tiles=tiles,
        k_tiles=cute.fast_divmod_create_divisor_v2(k_tiles),
        shared=shared,
        share=shared * k_tiles // clusters,
        longer_shares=shared * k_tiles % clusters,
        whole=(count - shared) // clusters,
        longer_wholes=(count - shared) % clusters,
        band=cute.fast_divmod_create_divisor_v2(along * config.group),
        edge=cute.fast_divmod_create_divisor_v2((across - 1) % config.group + 1),
    )
    return plan, clusters


@dataclass(frozen=True)
class WorkItem:
    """A tile of C that a cluster works on, or a part of its K.

    tile: (M, N) in block tiles. k_begin, k_end: of its K tiles. first: the one that comes first in order of time;
    direction: the step to the next, 1 or -1.
    """

    tile: tuple[Int32, Int32]
    k_begin: Int32
    k_end: Int32
    first: Int32
    direction: Int32

    @property
    def k_tiles(self) -> Int32:
        return self.k_end - self.k_begin

    def k_tile(self, step: Int32) -> Int32:
        """The K tile of a step, counted from 0."""
        return self.first + step * self.direction


@dataclass(frozen=True)
class Schedule:
    """A cluster's share of the plan."""

    plan: Plan
    me: Here
    config: HopperConfig

    def share_begin(self, cluster: Int32) -> Int32:
        """The start of a cluster's share of the shared tiles, in K tiles counted through all of them."""
        return cluster * self.plan.share + cutlass.min(cluster, self.plan.longer_shares)

    @cute.jit
    def parts(self) -> Int32:
        """The number of shared tiles of which this cluster has a part."""
        begin, end = self.share_begin(self.me.cluster), self.share_begin(self.me.cluster + 1)
        parts = (end - 1) // self.plan.k_tiles - begin // self.plan.k_tiles + 1
        if end == begin:
            parts = Int32(0)
        return parts

    def items(self) -> Int32:
        """The number of this cluster's items: parts of shared tiles, then whole tiles."""
        whole = self.plan.whole + Int32(self.me.cluster < self.plan.longer_wholes)
        return self.parts() + whole if self.config.stream_k else whole

    @cute.jit
    def item(self, number: Int32) -> tuple[Int32, Int32, Int32]:
        """(tile, first K tile, end of the K tiles) of this cluster's item.

        Its parts are taken from the last tile to the first: so it begins with the one part that may lack a tile's
        end, which another cluster waits for, and ends with the one that may have to wait.
        Where the blocks of a cluster split K, none goes without: TMA fills K tiles after the last with zeros.
        """
        k_tiles = self.plan.k_tiles.divisor
        tile, k_begin, k_end = self.me.cluster + number * self.me.clusters, Int32(0), k_tiles
        if cutlass.const_expr(self.config.split_k > 1):
            part = (k_tiles + self.config.split_k - 1) // self.config.split_k
            k_begin = self.me.part * part
            k_end = cutlass.max(cutlass.min(k_begin + part, k_tiles), k_begin + 1)
        if cutlass.const_expr(self.config.stream_k):
            parts = self.parts()
            tile += self.plan.shared - parts * self.me.clusters
            if number < parts:
                begin, end = self.share_begin(self.me.cluster), self.share_begin(self.me.cluster + 1)
                tile = (end - 1) // self.plan.k_tiles - number
                k_begin = cutlass.max(begin - tile * k_tiles, 0)
                k_end = cutlass.min(end - tile * k_tiles, k_tiles)
        return tile, k_begin, k_end

    def k_tiles_of(self, number: Int32) -> Int32:
        """The number of K tiles of this cluster's item."""
        _, k_begin, k_end = self.item(number)
        return k_end - k_begin

    @cute.jit
    def take(self, number: Int32) -> WorkItem:
        """This cluster's item. In zigzag, concurrent blocks turn round together: the last K tiles are still in L2."""
        tile, k_begin, k_end = self.item(number)
        first, direction = k_begin, Int32(1)
        if cutlass.const_expr(self.config.zigzag):
            wave = number - self.parts() if self.config.stream_k else number
            if wave % 2 == 1:
                first, direction = k_end - 1, Int32(-1)
        return WorkItem(self.block_tile(tile), k_begin, k_end, first, direction)

    @cute.jit
    def coordinates(self, tile: Int32) -> tuple[Int32, Int32]:
        """(M, N) of the tile-th cluster tile: down bands that are `group` tiles wide, the last one narrower."""
        along, across = self.plan.tiles if self.config.raster == "m" else self.plan.tiles[::-1]
        group = self.config.group
        band, place = divmod(tile, self.plan.band)
        step, lane = place // group, place % group
        if across - band * group < group:
            step, lane = divmod(place, self.plan.edge)
        if cutlass.const_expr(self.config.snake):
            if band % 2 == 1:
                step = along - 1 - step
        lane += band * group
        return (step, lane) if self.config.raster == "m" else (lane, step)

    def block_tile(self, tile: Int32) -> tuple[Int32, Int32]:
        """(M, N) in block tiles of this block's part of the tile-th cluster tile."""
        m, n = self.coordinates(tile)
        return m * self.config.cluster[0] + self.me.block[0], n * self.config.cluster[1] + self.me.block[1]
