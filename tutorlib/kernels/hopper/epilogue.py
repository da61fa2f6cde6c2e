"""The epilogue: a tile's accumulators are rounded and stored through shared memory, or first added to other blocks'."""

from dataclasses import dataclass
from math import gcd
from typing import Any

import cutlass
from cutlass import Boolean, Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.memory import SmemAllocator

from tutorlib.kernels.hopper.config import L2_HINTS, MMA_M, STORE_ROWS, WARPGROUP, HopperConfig
from tutorlib.kernels.hopper.layouts import DTYPES, make_mma
from tutorlib.kernels.hopper.pipeline import Here, wait
from tutorlib.kernels.hopper.scheduler import Schedule

FOURS_AT_A_TIME = 16  # 16-byte loads of a thread in flight, half as many where accumulators take most registers; 2ⁿ


@dataclass(frozen=True)
class Stores:
    """A warp's epilogue for its rows of C: registers → stmatrix → its buffers in shared memory → TMA.

    Every warp has its own buffers and issues its own stores, so no warp waits for another.

    rounded: (tile N / 2, 64s of rows), this thread's results. stmatrix: copies a warpgroup's 64 × store_columns;
    tRsC: (values, 1, 1, store_buffers), this thread's places. A TMA box is 16 × store_columns;
    sC: (box, store_buffers), this warp's buffers. mC: (M, N).
    """

    rounded: cute.Tensor
    stmatrix: cute.TiledCopy
    tRsC: cute.Tensor
    tma_c: cute.CopyAtom
    sC: cute.Tensor
    mC: cute.Tensor
    me: Here
    config: HopperConfig

    @property
    def steps(self) -> range:
        """All of a tile's."""
        return range(self.config.store_steps)

    def round(self, tCrC: cute.Tensor, scale: Float32 | None, steps: range, tile: tuple[Int32, Int32]) -> None:
        """The accumulators of these steps of the tile, times the scale; their registers are free from now on."""
        values, n = self.config.store_columns // 2, self.config.tile[1] // 2
        firsts = {n * m_atom + column // 2 for m_atom, column in (self.config.store_places[step] for step in steps)}
        for first in sorted({8 * (eight // 8) for one in firsts for eight in range(one, one + values)}):
            to = cute.make_tensor(self.rounded.iterator + first, cute.make_layout(8))
            to.store(self.values(tCrC, scale, first, tile).to(self.rounded.element_type))

    def values(self, tCrC: cute.Tensor, scale: Float32 | None, first: int, tile: tuple[Int32, Int32]) -> Any:
        """The 8 results from this one on, in fp32: (2 neighbors, 2 rows, 2 pieces of 8 columns) of the tile."""
        part = cute.make_tensor(tCrC.iterator + first, cute.make_layout(8)).load()
        return part if scale is None else part * scale

    @cute.jit
    def send(self, tile: tuple[Int32, Int32], steps: cutlass.Constexpr) -> None:
        """Start storing what was rounded. The stores may still be in flight when the next tile's come."""
        config, stages = self.config, self.config.store_buffers
        box = STORE_ROWS, config.store_columns
        policy = None if config.l2_c == "normal" else Int64(L2_HINTS[config.l2_c])
        for number in cutlass.range_constexpr(len(steps)):
            step, buffer = steps[number], number % stages
            m_atom, column = config.store_places[step]
            if cutlass.const_expr(number == 0 or number >= stages):  # the buffers that come must have been read
                cute.arch.cp_async_bulk_wait_group(0 if number == 0 else stages - 1, read=True)
                cute.arch.sync_warp()
            target = self.tRsC[None, None, None, buffer]
            values = self.rounded.iterator + (config.tile[1] * m_atom + column) // 2
            source = cute.make_tensor(values, cute.make_layout(target.shape))
            cute.copy(self.stmatrix, source, target)
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.sync_warp()
            m_block = tile[0] * (config.tile[0] // MMA_M) + m_atom * config.tile_warpgroups + self.me.in_tile
            mC = cute.domain_offset((0, tile[1] * config.tile[1] + column), self.mC)
            gC = cute.local_tile(mC, box, (m_block * 4 + self.me.warp, 0))  # (16, store_columns)
            tSsC, tSgC = cpasync.tma_partition(
                self.tma_c, 0, cute.make_layout(1), cute.group_modes(self.sC, 0, 2), cute.group_modes(gC, 0, 2)
            )
            cute.copy(self.tma_c, tSsC[None, buffer], tSgC, cache_policy=policy)
            cute.arch.cp_async_bulk_commit_group()

    def finish(self) -> None:
        """Shared memory must live until the last store has read it."""
        cute.arch.cp_async_bulk_wait_group(0, read=True)


def make_stores(tma_c: cute.CopyAtom, mC: cute.Tensor, sC: cute.Tensor, me: Here, config: HopperConfig) -> Stores:
    """mC: (M, N). sC: (64, store_columns, store_buffers, warpgroups)."""
    dtype, box = DTYPES[config.c_dtype], (STORE_ROWS, config.store_columns)
    mine = sC[None, None, None, me.group]  # (64, store_columns, store_buffers)
    warps = cute.local_tile(mine, box, (me.warp, 0, None))  # (16, store_columns, store_buffers)
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(config.transposed, num_matrices=4), dtype)
    stmatrix = cute.make_tiled_copy_C(atom, make_mma(config, config.store_columns, 1))
    tRsC = stmatrix.get_slice(me.thread).partition_D(mine)
    m_atoms = config.tile[0] // (MMA_M * config.tile_warpgroups)
    rounded = cute.make_rmem_tensor((config.tile[1] // 2, m_atoms), dtype)
    return Stores(rounded, stmatrix, tRsC, tma_c, warps, mC, me, config)


@dataclass(frozen=True)
class Partials:
    """Accumulators of a slice of a tile's K, sent to the block that adds them up.

    Each block has a place in `acc` for one tile, and a flag for each warp: 1 while its accumulators lie there.

    accumulators: fp32, for each block (4 of a thread, threads, a thread's fours). flags: for each block (warps).
    """

    acc: cute.Tensor
    flags: cute.Tensor
    me: Here
    config: HopperConfig

    def place(self, cluster: Int32) -> tuple[cute.Tensor, cute.Pointer]:
        """(this thread's accumulators (4, fours), its warp's flag) in that cluster's block with this block's rank."""
        threads, fours = WARPGROUP * self.config.tile_warpgroups, self.config.accumulators // 4
        block = cluster * self.config.cluster_size + self.me.rank
        thread = self.me.in_tile * WARPGROUP + self.me.thread
        layout = cute.make_layout((4, fours, threads, 1), stride=(1, 4 * threads, 4, 4 * threads * fours))
        acc = cute.make_tensor(self.acc.iterator, layout)[None, None, thread, block]
        return acc, self.flags.iterator + block * (threads // 32) + self.me.in_tile * 4 + self.me.warp

    @cute.jit
    def give(self, tCrC: cute.Tensor, cluster: Int32) -> None:
        """Write this block's accumulators where others find them."""
        acc, flag = self.place(cluster)
        cute.autovec_copy(cute.make_tensor(tCrC.iterator, cute.make_layout(acc.shape)), acc)
        cute.arch.sync_warp()
        with cute.arch.elect_one():
            cute.arch.store(flag, Int32(1), sem="release", scope="gpu")

    @cute.jit
    def add(self, tCrC: cute.Tensor, cluster: Int32) -> None:
        """Add another cluster's accumulators as soon as they are there; its flag is clear for the next launch."""
        acc, flag = self.place(cluster)
        given = Int32(0)
        while given == 0:
            given = cute.arch.make_warp_uniform(cute.arch.load(flag, Int32, sem="acquire", scope="gpu"))
        cute.arch.sync_warp()
        mine = cute.make_tensor(tCrC.iterator, cute.make_layout(acc.shape))
        fours = gcd(acc.shape[1], FOURS_AT_A_TIME if self.config.accumulators <= 128 else FOURS_AT_A_TIME // 2)
        for number in cutlass.range_constexpr(acc.shape[1] // fours):
            others = cute.make_rmem_tensor((4, fours), Float32)
            cute.autovec_copy(cute.local_tile(acc, (4, fours), (0, number)), others)
            part = cute.local_tile(mine, (4, fours), (0, number))
            part.store(part.load() + others.load())
        with cute.arch.elect_one():
            cute.arch.store(flag, Int32(0), sem="relaxed", scope="gpu")


@dataclass(frozen=True)
class Exchange:
    """Accumulators of a tile whose K the blocks of a cluster share: each receiver adds up, and stores, a part of it.

    given: fp32 (4 of a thread, a thread's fours of a part, threads, split_k - 1), what the others give a receiver,
        where stages were; arrived: the mbarrier that completes with all of it.
    ready: an mbarrier with one arrival of each receiver's warp, when it has read its last stage.
    peers: `ready` of the block that this lane tells so; tells: there is one for this lane of a receiver.
    """

    given: cute.Tensor
    arrived: cute.Pointer
    ready: cute.Pointer
    peers: cute.Pointer
    tells: Boolean
    me: Here
    config: HopperConfig

    def initialise(self) -> None:
        """By one thread, before any block can give."""
        warps = 4 * self.config.tile_warpgroups
        cute.arch.mbarrier_init(self.ready, warps * self.config.receivers)
        cute.arch.mbarrier_init(self.arrived, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(self.arrived, self.config.given_bytes)

    def part(self, tCrC: cute.Tensor, part: int) -> cute.Tensor:
        """(4, fours): this thread's accumulators of a part of the tile."""
        fours = self.given.shape[1]
        parts = cute.make_layout((4, fours, self.config.receivers))
        return cute.make_tensor(tCrC.iterator, parts)[None, None, part]

    @cute.jit
    def give(self, tCrC: cute.Tensor) -> None:
        """Every other receiver its part, at the place that is this block's there, when all have read their stages."""
        if self.tells:
            cute.arch.mbarrier_arrive(self.peers)
        wait(self.ready, Int32(0), self.config)
        thread = self.me.in_tile * WARPGROUP + self.me.thread
        for part in cutlass.range_constexpr(self.config.receivers):
            if part != self.me.part:
                place = self.me.part - Int32(self.me.part > part)
                rank = self.me.rank + (part - self.me.part) * self.config.cluster_size
                bits = cute.recast_tensor(self.part(tCrC, part), Int32)
                for four in cutlass.range_constexpr(self.given.shape[1]):
                    to = self.given[None, four, thread, place].iterator
                    values = tuple(bits[number, four] for number in range(4))
                    cute.arch.store_async_dsmem(to, values, self.arrived, rank)

    @cute.jit
    def add(self, tCrC: cute.Tensor, part: cutlass.Constexpr) -> None:
        """Add the other blocks' contributions to this part, always in the same order."""
        thread, mine = self.me.in_tile * WARPGROUP + self.me.thread, self.part(tCrC, part)
        wait(self.arrived, Int32(0), self.config)
        for place in cutlass.range_constexpr(self.config.split_k - 1):
            for four in cutlass.range_constexpr(self.given.shape[1]):
                others = self.given[None, four, thread, place].load()
                mine[None, four].store(mine[None, four].load() + others)


@cute.jit
def make_exchange(
    sA: cute.Tensor, sB: cute.Tensor, memory: SmemAllocator, me: Here, config: cutlass.Constexpr
) -> Exchange:
    """With K split, other blocks' parts arrive in the stages of the matrix with the larger tile."""
    threads, fours = WARPGROUP * config.tile_warpgroups, config.accumulators // (4 * config.receivers)
    shape = (4, fours, threads, config.split_k - 1)
    layout = cute.make_layout(shape, stride=(1, 4 * threads, 4, 4 * threads * fours))
    stages = sB if config.tile[1] > config.tile[0] else sA
    given = cute.make_tensor(cute.recast_ptr(stages.iterator, cute.make_swizzle(0, 4, 3), Float32), layout)
    arrived, ready = (memory.allocate_array(Int64, 1) for _ in range(2))
    lane = cute.arch.lane_idx()
    part, tells = lane, lane < config.split_k and me.part < config.receivers
    if lane >= config.split_k:
        part = me.part
    peers = cute.arch.map_dsmem_ptr(ready, me.rank + (part - me.part) * config.cluster_size)
    return Exchange(given, arrived, ready, peers, tells, me, config)


@dataclass(frozen=True)
class Finish:
    """A warp's epilogue for the accumulators of an item."""

    stores: Stores
    partials: Partials | None
    exchange: Exchange | None
    scale: Float32 | None
    config: HopperConfig

    @cute.jit
    def item(self, tCrC: cute.Tensor, schedule: Schedule, number: Int32) -> None:
        """The block with the last K blocks of a tile adds the other blocks' parts, in a fixed order, and stores."""
        place, _, k_end = schedule.item(number)
        k_tiles = schedule.plan.k_tiles.divisor
        if cutlass.const_expr(self.exchange is not None):
            self.part(tCrC, schedule.block_tile(place), schedule.me.part)
        elif cutlass.const_expr(self.partials is None):
            self.tile(tCrC, schedule.block_tile(place))
        elif k_end < k_tiles:
            self.partials.give(tCrC, schedule.me.cluster)
        else:
            giver = schedule.me.cluster
            while schedule.share_begin(giver) > place * k_tiles:
                giver -= 1
                self.partials.add(tCrC, giver)
            self.tile(tCrC, schedule.block_tile(place))

    @cute.jit
    def tile(self, tCrC: cute.Tensor, tile: tuple[Int32, Int32]) -> None:
        """Scale and round a tile's accumulators, and start storing them if that is not left for later."""
        self.stores.round(tCrC, self.scale, self.stores.steps, tile)
        if cutlass.const_expr(not self.config.defer_stores):
            self.stores.send(tile, self.stores.steps)

    @cute.jit
    def part(self, tCrC: cute.Tensor, tile: tuple[Int32, Int32], mine: Int32) -> None:
        """Give the other parts of a tile away, add up mine, and store it."""
        count = self.config.store_steps // self.config.receivers
        self.exchange.give(tCrC)
        for part in cutlass.range_constexpr(self.config.receivers):  # registers have no addresses: a branch each
            if part == mine:
                steps = range(part * count, (part + 1) * count)
                self.exchange.add(tCrC, part)
                self.stores.round(tCrC, self.scale, steps, tile)
                self.stores.send(tile, steps)

    @cute.jit
    def deferred(self, schedule: Schedule, number: Int32) -> None:
        """Start storing what was rounded of an item, if it was a whole tile or its end."""
        place, _, k_end = schedule.item(number)
        if cutlass.const_expr(self.partials is None) or k_end == schedule.plan.k_tiles.divisor:
            self.stores.send(schedule.block_tile(place), self.stores.steps)
