"""A thread's position, the ring of stages between the loads and the tensor cores, and the loads."""

from dataclasses import dataclass
from typing import Any

import cutlass
from cutlass import Boolean, Int16, Int32, Int64, cute
from cutlass.cute.nvgpu import cpasync
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineState

from tutorlib.kernels.hopper.config import L2_HINTS, WARPGROUP, HopperConfig
from tutorlib.kernels.hopper.timeline import Did, Trace


@dataclass(frozen=True)
class Here:
    """A thread's position.

    thread, warp: of its warpgroup. group: warpgroup of the block; in_tile: of those that share a tile.
    block: (M, N) place in the cluster; part: of K, where its blocks share that; rank: all of these as a number.
    cluster, clusters: of the grid.
    """

    thread: Int32
    warp: Int32
    group: Int32
    in_tile: Int32
    block: tuple[Int32, Int32]
    rank: Int32
    cluster: Int32
    clusters: Int32
    part: Int32


def locate(config: HopperConfig) -> Here:
    thread, _, _ = cute.arch.thread_idx()
    block_x, block_n, part = cute.arch.block_idx()  # x: clusters, and in each its blocks along M
    grid_x, _, _ = cute.arch.grid_dim()
    cluster_m = config.cluster[0]
    group = cute.arch.make_warp_uniform(thread // WARPGROUP)
    return Here(
        thread=thread % WARPGROUP,
        warp=cute.arch.make_warp_uniform(thread // 32) % 4,
        group=group,
        in_tile=group if config.tile_warpgroups > 1 else Int32(0),
        block=(block_x % cluster_m, block_n),
        rank=block_x % cluster_m + block_n * cluster_m + part * config.cluster_size,
        cluster=block_x // cluster_m,
        clusters=grid_x // cluster_m,
        part=part,
    )


@cute.jit
def wait(mbarrier: cute.Pointer, phase: Int32, config: cutlass.Constexpr) -> None:
    """Wait until the phase of this parity is complete."""
    if cutlass.const_expr(config.polls):
        complete = cute.arch.mbarrier_try_wait(mbarrier, phase)
        while not complete:
            complete = cute.arch.mbarrier_try_wait(mbarrier, phase)
    else:
        cute.arch.mbarrier_wait(mbarrier, phase)


@dataclass(frozen=True)
class Ring:
    """The stages' mbarriers. Producer and consumers walk round them, each with a PipelineState: (index, phase).

    full: completes with one arrival and all bytes of a stage. empty: with one arrival of each warp, in this block or
        another of the cluster, that reads what this block loads.
    peers: `empty` of the block on which this lane arrives when its warp has read a stage; tells: this lane has one.
    """

    full: cute.Pointer
    empty: cute.Pointer
    peers: cute.Pointer
    tells: Boolean
    config: HopperConfig

    def initialise(self) -> None:
        cluster_m, cluster_n = self.config.cluster
        readers = 4 * self.config.tile_warpgroups * (cluster_m + cluster_n - 1)
        for stage in range(self.config.ab_stages):
            cute.arch.mbarrier_init(self.full + stage, 1)
            cute.arch.mbarrier_init(self.empty + stage, readers)

    def wait_full(self, stage: Int32, phase: Int32) -> None:
        wait(self.full + stage, phase, self.config)

    def wait_empty(self, stage: Int32, phase: Int32) -> None:
        wait(self.empty + stage, phase, self.config)

    @cute.jit
    def release(self, stage: Int32) -> None:
        """This warp has read the stage."""
        if cutlass.const_expr(self.config.cluster_size == 1):
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive(self.empty + stage)
        else:
            if self.tells:
                cute.arch.mbarrier_arrive(self.peers + stage)


@cute.jit
def make_ring(memory: SmemAllocator, me: Here, config: cutlass.Constexpr) -> Ring:
    """A block reads what the blocks in its row of the cluster load of A, and what those in its column load of B.

    So lanes 0, 1, … of each warp arrive in one of these blocks each.
    """
    cluster_m, cluster_n = config.cluster
    lane = cute.arch.lane_idx()
    row, column = me.block[0], lane  # the first cluster_n lanes: this row
    if lane >= cluster_n:  # the next ones: this column, without this block, which is in its row too
        row, column = lane - cluster_n, me.block[1]
        if row >= me.block[0]:
            row += 1
    rank = row + column * cluster_m + me.part * config.cluster_size
    tells = lane < cluster_m + cluster_n - 1
    if not tells:
        rank = me.rank
    full, empty = (memory.allocate_array(Int64, config.ab_stages) for _ in range(2))
    return Ring(full, empty, cute.arch.map_dsmem_ptr(empty, rank), tells, config)


@cute.jit
def start(mbarriers: tuple[Any, ...], tmas: tuple[cute.CopyAtom, ...], me: Here, config: cutlass.Constexpr) -> None:
    """Initialize the mbarriers while the TMA descriptors are prefetched, and wait until every block can see them."""
    if me.group == 0 and me.warp == 0:
        for tma in tmas:
            cpasync.prefetch_descriptor(tma)
        with cute.arch.elect_one():
            for owner in mbarriers:
                if cutlass.const_expr(owner is not None):
                    owner.initialise()
            cute.arch.mbarrier_init_fence()
    if cutlass.const_expr(config.cluster_blocks > 1):
        cute.arch.cluster_arrive_relaxed()
        cute.arch.cluster_wait()
    else:
        cute.arch.sync_threads()
    if cutlass.const_expr(config.pdl):
        cute.arch.griddepcontrol_launch_dependents()
        cute.arch.griddepcontrol_wait()


@dataclass(frozen=True)
class TmaLoad:
    """A matrix's TMA loads into shared memory.

    source: (box, row tiles, K tiles) in global memory. target: (box, stages). blocks: mask of those that receive it.
    mode: its rows are C's rows, 0, or columns, 1.
    """

    tma: cute.CopyAtom
    source: cute.Tensor
    target: cute.Tensor
    blocks: Int16
    mode: int
    l2: str

    def load(self, tile: tuple[Int32, Int32], k_tile: Int32, stage: Int32, full: cute.Pointer) -> None:
        policy = None if self.l2 == "normal" else Int64(L2_HINTS[self.l2])
        source, target = self.source[None, tile[self.mode], k_tile], self.target[None, stage]
        cute.copy(self.tma, source, target, tma_bar_ptr=full, mcast_mask=self.blocks, cache_policy=policy)


def make_operand(
    tma: cute.CopyAtom, g: cute.Tensor, s: cute.Tensor, mode: int, l2: str, me: Here, config: HopperConfig
) -> TmaLoad:
    """g: (rows, K, row tiles, K tiles); s: (rows, K, stages). Blocks along the cluster's other mode share each tile."""
    across = 1 - mode
    target, source = cpasync.tma_partition(
        tma,
        me.block[across],
        cute.make_layout(config.cluster[across]),
        cute.group_modes(s, 0, 2),
        cute.group_modes(g, 0, 2),
    )
    shape = (*config.cluster, config.split_k)
    blocks = cute.make_layout_image_mask(cute.make_layout(shape), (*me.block, me.part), across)
    return TmaLoad(tma, source, target, blocks, mode, l2)


@dataclass(frozen=True)
class Loads:
    """The producer's loop. stage_bytes: of all operands together."""

    operands: tuple[TmaLoad, ...]
    stage_bytes: int
    ring: Ring
    trace: Trace

    @cute.jit
    def issue(self, tile: tuple[Int32, Int32], k_tile: Int32, stage: Int32, phase: Int32) -> None:
        """When the stage has been read, issue the loads of the K tile of C's (M, N) tile into it."""
        full = self.ring.full + stage
        self.ring.wait_empty(stage, phase)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, self.stage_bytes)
        for operand in self.operands:
            operand.load(tile, k_tile, stage, full)
        self.trace.stamp(Did.ISSUE_LOAD, k_tile)

    @cute.jit
    def finish(self, state: PipelineState) -> None:
        """A block must not end while other blocks of its cluster still arrive on its mbarriers."""
        if cutlass.const_expr(self.ring.config.cluster_size > 1):
            for _ in cutlass.range(self.ring.config.ab_stages, unroll=1):
                self.ring.wait_empty(state.index, state.phase)
                state.advance()
