"""Shared memory's layouts and TMA's atoms, a thread's position, the ring of stages, and the loads."""

from dataclasses import dataclass
from typing import Any

import cutlass
from cutlass import BFloat16, Float8E4M3FN, Float16, Float32, Int16, Int32, Int64, cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineState

from tutorlib.kernels.hopper.config import L2_HINTS, MMA_M, STORE_ROWS, WARPGROUP, HopperConfig, Major
from tutorlib.kernels.hopper.parts import COURSE, Parts

DTYPES = {"bf16": BFloat16, "fp16": Float16, "e4m3": Float8E4M3FN}
Tma = tuple[cute.CopyAtom, cute.Tensor]  # how a matrix is copied, and its coordinates


def smem_layout(
    shape: tuple[int, ...], dtype: type[cutlass.Numeric], major: Major = "k", together: int | None = None
) -> cute.ComposedLayout:
    """(rows, columns, buffers, …), swizzled over as many bytes as TMA, wgmma and stmatrix can.

    major: "k": a row is contiguous; "mn": a column is. together: elements of it that are; None: all.
    """
    contiguous = (together or shape[1 if major == "k" else 0]) * dtype.width // 8
    width = next(width for width in (128, 64, 32) if contiguous % width == 0)
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind[f"{major.upper()}_SW{width}"], dtype)
    order = (0, 1) if major == "k" else (1, 0)
    return cute.tile_to_shape(atom, shape, (*order, *range(2, len(shape))))


def stage_layout(mode: int, config: HopperConfig) -> cute.ComposedLayout:
    """(tile M or N, tile K, stages) of A, whose mode of C is 0, or of B, 1."""
    shape = (config.tile[mode], config.tile[2], config.ab_stages)
    return smem_layout(shape, DTYPES[config.dtype], config.majors[mode])


def store_layout(rows: int, *buffers: int, config: HopperConfig) -> cute.ComposedLayout:
    """(rows, store_columns, buffers, …) of C."""
    shape = (rows, config.store_columns, *buffers)
    dtype = DTYPES[config.c_dtype]
    return smem_layout(shape, dtype, "mn", STORE_ROWS) if config.transposed else smem_layout(shape, dtype)


def buffers_layout(config: HopperConfig) -> cute.ComposedLayout:
    """(64, store_columns, store_buffers, warpgroups) of C in the epilogue."""
    return store_layout(MMA_M, config.store_buffers, config.mma_warpgroups, config=config)


def make_mma(config: HopperConfig, columns: int, warpgroups: int) -> cute.TiledMma:
    """wgmma of 64 × `columns` on each warpgroup, both operands from shared memory."""
    shape, smem = (MMA_M, columns), warpgroup.OperandSource.SMEM
    majors = [OperandMajorMode[major.upper()] for major in config.majors]
    dtype = DTYPES[config.dtype]
    if config.dtype == "e4m3":
        op = warpgroup.MmaF8Op(dtype, dtype, Float32, shape, smem, *majors)
    else:
        op = warpgroup.MmaF16BF16Op(dtype, Float32, shape, smem, *majors)
    return cute.make_tiled_mma(cute.make_mma_atom(op), (warpgroups, 1, 1))


def make_load(matrix: cute.Tensor, layout: cute.ComposedLayout, blocks: int) -> cpasync.TmaInfo:
    """TMA of one stage's tile; where several blocks of a cluster want it, each loads its part for all of them."""
    op = cpasync.CopyBulkTensorTileG2SMulticastOp() if blocks > 1 else cpasync.CopyBulkTensorTileG2SOp()
    rows, columns, _ = cute.product_each(layout.shape)
    return cpasync.make_tiled_tma_atom(
        op, matrix, cute.slice_(layout, (None, None, 0)), (rows, columns), num_multicast=blocks
    )


def make_store(matrix: cute.Tensor, config: HopperConfig) -> cpasync.TmaInfo:
    """TMA of a warp's 16 rows × store_columns into C."""
    box = (STORE_ROWS, config.store_columns)
    return cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), matrix, store_layout(STORE_ROWS, config=config), box
    )


# The ring -------------------------------------------------------------------------------------------------------------


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
    block, cluster: this block's (M, N) place in its cluster, and the cluster's extent. first: the rank of the block at
        (0, 0) among those that compute with the same part of K.
    """

    full: cute.Pointer
    empty: cute.Pointer
    block: tuple[Int32, Int32]
    cluster: tuple[int, int]
    first: Int32
    config: HopperConfig
    parts: Parts

    def initialize(self) -> None:
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
            self.parts.free(self, stage)


def make_ring(memory: SmemAllocator, me: Here, config: HopperConfig, parts: Parts = COURSE) -> Ring:
    full, empty = (memory.allocate_array(Int64, config.ab_stages) for _ in range(2))
    return Ring(full, empty, me.block, config.cluster, me.part * config.cluster_size, config, parts)


@cute.jit
def start(mbarriers: tuple[Any, ...], tmas: tuple[cute.CopyAtom, ...], me: Here, config: cutlass.Constexpr) -> None:
    """Initialize the mbarriers while the TMA descriptors are prefetched, and wait until every block can see them.

    With PDL all of it happens while the stream's kernel before this one ends; its results come after.
    """
    if me.group == 0 and me.warp == 0:
        for tma in tmas:
            cpasync.prefetch_descriptor(tma)
        with cute.arch.elect_one():
            for owner in mbarriers:
                if cutlass.const_expr(owner is not None):
                    owner.initialize()
            cute.arch.mbarrier_init_fence()
    if cutlass.const_expr(config.cluster_blocks > 1):
        cute.arch.cluster_arrive_relaxed()
        cute.arch.cluster_wait()
    else:
        cute.arch.sync_threads()
    if cutlass.const_expr(config.pdl):
        cute.arch.griddepcontrol_wait()


@dataclass(frozen=True)
class TmaLoad:
    """A matrix's TMA loads into shared memory.

    g: (rows, K, row tiles, K tiles) in global memory. s: (rows, K, stages). mode: its rows are C's rows, 0, or C's
    columns, 1: the blocks along the cluster's other mode share each tile. block, cluster, first: as Ring has them.
    """

    tma: cute.CopyAtom
    g: cute.Tensor
    s: cute.Tensor
    mode: int
    block: tuple[Int32, Int32]
    cluster: tuple[int, int]
    first: Int32
    l2: str
    parts: Parts

    def load(self, tile: tuple[Int32, Int32], k_tile: Int32, stage: Int32, full: cute.Pointer) -> None:
        self.parts.load(self, tile[self.mode], k_tile, stage, full)

    def copy(self, source: cute.Tensor, target: cute.Tensor, full: cute.Pointer, mask: Any) -> None:
        """Issue the copy for the blocks of which `mask` has the bit; `full` of each counts the bytes that it gets."""
        policy = None if self.l2 == "normal" else Int64(L2_HINTS[self.l2])
        blocks = Int16(Int32(mask) << self.first)
        cute.copy(self.tma, source, target, tma_bar_ptr=full, mcast_mask=blocks, cache_policy=policy)


def make_operands(
    a: Tma, b: Tma, sA: cute.Tensor, sB: cute.Tensor, me: Here, config: HopperConfig, parts: Parts = COURSE
) -> tuple[TmaLoad, ...]:
    """A's and B's loads. sA, sB: (tile M or N, tile K, stages)."""
    (bM, bN, bK), first = config.tile, me.part * config.cluster_size
    gA = cute.local_tile(a[1], (bM, bK), (None, None))  # (bM, bK, M tiles, K tiles)
    gB = cute.local_tile(b[1], (bN, bK), (None, None))  # (bN, bK, N tiles, K tiles)
    return (
        TmaLoad(a[0], gA, sA, 0, me.block, config.cluster, first, config.l2_a, parts),
        TmaLoad(b[0], gB, sB, 1, me.block, config.cluster, first, config.l2_b, parts),
    )


@dataclass(frozen=True)
class Loads:
    """The producer's steps. stage_bytes: of all operands together."""

    operands: tuple[TmaLoad, ...]
    stage_bytes: int
    ring: Ring

    @property
    def stages(self) -> int:
        return self.ring.config.ab_stages

    @cute.jit
    def issue(self, tile: tuple[Int32, Int32], k_tile: Int32, stage: Int32, phase: Int32) -> None:
        """When the stage has been read, issue the loads of the K tile of C's (M, N) tile into it."""
        full = self.ring.full + stage
        self.ring.wait_empty(stage, phase)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, self.stage_bytes)
        for operand in self.operands:
            operand.load(tile, k_tile, stage, full)

    @cute.jit
    def finish(self, state: PipelineState) -> None:
        """A block must not end while other blocks of its cluster still arrive on its mbarriers."""
        if cutlass.const_expr(self.ring.config.cluster_size > 1):
            for _ in cutlass.range(self.stages, unroll=1):
                self.ring.wait_empty(state.index, state.phase)
                state.advance()


@cute.jit
def divide_roles(me: Here, config: cutlass.Constexpr, produce: cutlass.Constexpr, consume: cutlass.Constexpr) -> None:
    """One warp of the last warpgroup runs produce(), all warps of the others run consume()."""
    if me.group == config.mma_warpgroups:
        if cutlass.const_expr(config.moves_registers):
            cute.arch.setmaxregister_decrease(config.register_split[0])
        if me.warp == 0:
            produce()
    else:
        if cutlass.const_expr(config.moves_registers):
            cute.arch.setmaxregister_increase(config.register_split[1])
        consume()
