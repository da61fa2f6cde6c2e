"""The epilogue: a tile's accumulators are rounded and stored through shared memory, or first added to other blocks'."""

from dataclasses import dataclass
from math import gcd
from typing import Any, ClassVar

import cutlass
from cutlass import Boolean, Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.memory import SmemAllocator

from tutorlib.kernels.hopper.config import MMA_M, STORE_ROWS, WARPGROUP, HopperConfig
from tutorlib.kernels.hopper.parts import COURSE, Parts
from tutorlib.kernels.hopper.pipeline import DTYPES, Here, make_mma, wait
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
    parts: Parts
    asks: ClassVar[bool] = False  # for a matrix that is loaded under the main loop: it has `ask` and `wait`

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

    def box(
        self, tma: cute.CopyAtom, matrix: cute.Tensor, tile: tuple[Int32, Int32], step: int
    ) -> tuple[cute.Tensor, cute.Tensor]:
        """TMA's views of this warp's buffers, (box, store_buffers), and of a step's box of a matrix like C."""
        config = self.config
        m_atom, column = config.store_places[step]
        m_block = tile[0] * (config.tile[0] // MMA_M) + m_atom * config.tile_warpgroups + self.me.in_tile
        moved = cute.domain_offset((0, tile[1] * config.tile[1] + column), matrix)
        box = cute.local_tile(moved, (STORE_ROWS, config.store_columns), (m_block * 4 + self.me.warp, 0))
        return cpasync.tma_partition(
            tma, 0, cute.make_layout(1), cute.group_modes(self.sC, 0, 2), cute.group_modes(box, 0, 2)
        )

    def send(self, tile: tuple[Int32, Int32], steps: range) -> None:
        """Start storing what was rounded. The stores may still be in flight when the next tile's come."""
        self.parts.store(Pieces(self, tile, steps))


@dataclass(frozen=True)
class Pieces:
    """A warp's share of a rounded tile, or of a part of it, in pieces of 16 × store_columns."""

    stores: Stores
    tile: tuple[Int32, Int32]
    steps: range

    @property
    def pieces(self) -> int:
        return len(self.steps)

    @property
    def buffers(self) -> int:
        return self.stores.config.store_buffers

    def write(self, piece: int, buffer: int) -> None:
        """stmatrix: a piece from registers to the warp's buffer."""
        stores = self.stores
        m_atom, column = stores.config.store_places[self.steps[piece]]
        target = stores.tRsC[None, None, None, buffer]
        values = stores.rounded.iterator + (stores.config.tile[1] * m_atom + column) // 2
        cute.copy(stores.stmatrix, cute.make_tensor(values, cute.make_layout(target.shape)), target)

    def copy(self, piece: int, buffer: int) -> None:
        """Issue TMA's copy of the buffer to the piece's place in C."""
        tSsC, tSgC = self.stores.box(self.stores.tma_c, self.stores.mC, self.tile, self.steps[piece])
        cute.copy(self.stores.tma_c, tSsC[None, buffer], tSgC)


def make_stores(
    tma_c: cute.CopyAtom, mC: cute.Tensor, sC: cute.Tensor, me: Here, config: HopperConfig, parts: Parts = COURSE
) -> Stores:
    """mC: (M, N). sC: (64, store_columns, store_buffers, warpgroups)."""
    dtype, box = DTYPES[config.c_dtype], (STORE_ROWS, config.store_columns)
    mine = sC[None, None, None, me.group]  # (64, store_columns, store_buffers)
    warps = cute.local_tile(mine, box, (me.warp, 0, None))  # (16, store_columns, store_buffers)
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(config.transposed, num_matrices=4), dtype)
    stmatrix = cute.make_tiled_copy_C(atom, make_mma(config, config.store_columns, 1))
    tRsC = stmatrix.get_slice(me.thread).partition_D(mine)
    m_atoms = config.tile[0] // (MMA_M * config.tile_warpgroups)
    rounded = cute.make_rmem_tensor((config.tile[1] // 2, m_atoms), dtype)
    return Stores(rounded, stmatrix, tRsC, tma_c, warps, mC, me, config, parts)


@dataclass(frozen=True)
class Partials:
    """Accumulators of a slice of a tile's K, sent to the block that adds them up.

    Each block has a place in `acc` for one tile, and a flag for each warp: 1 while its accumulators are there.

    accumulators: fp32, for each block (4 of a thread, threads, a thread's fours). flags: for each block (warps).
    """

    acc: cute.Tensor
    flags: cute.Tensor
    me: Here
    config: HopperConfig
    parts: Parts = COURSE

    def of(self, tCrC: cute.Tensor, cluster: Int32) -> "Partial":
        """This thread's accumulators, and their place in that cluster's block with this block's rank."""
        threads, fours = WARPGROUP * self.config.tile_warpgroups, self.config.accumulators // 4
        block = cluster * self.config.cluster_size + self.me.rank
        thread = self.me.in_tile * WARPGROUP + self.me.thread
        layout = cute.make_layout((4, fours, threads, 1), stride=(1, 4 * threads, 4, 4 * threads * fours))
        acc = cute.make_tensor(self.acc.iterator, layout)[None, None, thread, block]
        flag = self.flags.iterator + block * (threads // 32) + self.me.in_tile * 4 + self.me.warp
        mine = cute.make_tensor(tCrC.iterator, cute.make_layout(acc.shape))
        return Partial(mine, acc, flag, FOURS_AT_A_TIME if self.config.accumulators <= 128 else FOURS_AT_A_TIME // 2)

    def give(self, tCrC: cute.Tensor, cluster: Int32) -> None:
        """Write this block's accumulators where others find them."""
        self.parts.give(self.of(tCrC, cluster))

    def add(self, tCrC: cute.Tensor, cluster: Int32) -> None:
        """Add another cluster's accumulators as soon as they are there; its flag is clear for the next launch."""
        self.parts.add(self.of(tCrC, cluster))


@dataclass(frozen=True)
class Partial:
    """A thread's share of the accumulators that one block hands over to another.

    mine: (4, fours) in registers. others: the same in global memory. flag: of this warp there. most: fours of a slice.
    """

    mine: cute.Tensor
    others: cute.Tensor
    flag: cute.Pointer
    most: int

    @property
    def fours(self) -> int:
        """Vectors of 4 in a slice; their loads are in flight together."""
        return gcd(self.mine.shape[1], self.most)

    @property
    def slices(self) -> int:
        return self.mine.shape[1] // self.fours

    def write(self) -> None:
        """Write this thread's accumulators to global memory."""
        cute.autovec_copy(self.mine, self.others)

    def add(self, number: int) -> None:
        """Load one slice of the other block's accumulators and add it to this thread's. Raises IndexError."""
        if not isinstance(number, int) or number not in range(self.slices):
            raise IndexError(f"part.add({number}): slices are the Python numbers from 0 to {self.slices - 1}")
        loaded = cute.make_rmem_tensor((4, self.fours), Float32)
        cute.autovec_copy(cute.local_tile(self.others, (4, self.fours), (0, number)), loaded)
        mine = cute.local_tile(self.mine, (4, self.fours), (0, number))
        mine.store(mine.load() + loaded.load())


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

    def initialize(self) -> None:
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
    """A warp's epilogue: what becomes of an item's accumulators.

    tCrC: ((2, 2, N/8), M atoms, 1), this thread's accumulators.
    """

    stores: Stores
    partials: Partials | None
    exchange: Exchange | None
    scale: Float32 | None
    tCrC: cute.Tensor
    schedule: Schedule
    config: HopperConfig

    @cute.jit
    def ask(self, number: Int32) -> None:
        """Before an item's main loop: start loading what its epilogue reads."""
        if cutlass.const_expr(self.stores.asks):
            self.stores.ask(self.schedule.block_tile(self.schedule.item(number)[0]))

    def round(self, number: Int32) -> None:
        """Scale and round an item's accumulators: their registers are free from now on."""
        self.take(number, False)

    def round_and_store(self, number: Int32) -> None:
        """The same, and start storing what was rounded."""
        self.take(number, True)

    @cute.jit
    def take(self, number: Int32, stores: cutlass.Constexpr) -> None:
        """The block with the last K tiles of a tile first adds the other blocks' parts, in a fixed order."""
        place, _, k_end = self.schedule.item(number)
        k_tiles, tile = self.schedule.plan.k_tiles.divisor, self.schedule.block_tile(place)
        if cutlass.const_expr(self.exchange is not None):
            self.part(tile, self.schedule.me.part)
        elif cutlass.const_expr(self.partials is None):
            if cutlass.const_expr(self.stores.asks):
                self.stores.wait(number)
            self.whole(tile, stores)
        elif k_end < k_tiles:
            self.partials.give(self.tCrC, self.schedule.me.cluster)
        else:
            giver = self.schedule.me.cluster
            while self.schedule.share_begin(giver) > place * k_tiles:
                giver -= 1
                self.partials.add(self.tCrC, giver)
            self.whole(tile, stores)

    @cute.jit
    def whole(self, tile: tuple[Int32, Int32], stores: cutlass.Constexpr) -> None:
        self.stores.round(self.tCrC, self.scale, self.stores.steps, tile)
        if cutlass.const_expr(stores):
            self.stores.send(tile, self.stores.steps)

    @cute.jit
    def store(self, number: Int32) -> None:
        """Start storing what was rounded of an item, if it was a whole tile or its end."""
        place, _, k_end = self.schedule.item(number)
        if cutlass.const_expr(self.partials is None) or k_end == self.schedule.plan.k_tiles.divisor:
            self.stores.send(self.schedule.block_tile(place), self.stores.steps)

    def drain(self) -> None:
        """Shared memory must live until the last store has read it."""
        cute.arch.cp_async_bulk_wait_group(0, read=True)

    @cute.jit
    def part(self, tile: tuple[Int32, Int32], mine: Int32) -> None:
        """Give the other parts of a tile away, add up mine, and store it."""
        count = self.config.store_steps // self.config.receivers
        self.exchange.give(self.tCrC)
        for part in cutlass.range_constexpr(self.config.receivers):  # registers have no addresses: a branch each
            if part == mine:
                steps = range(part * count, (part + 1) * count)
                self.exchange.add(self.tCrC, part)
                self.stores.round(self.tCrC, self.scale, steps, tile)
                self.stores.send(tile, steps)
