"""The GEMM of notebook 15, a persistent kernel of three roles; its loops may be the reader's.

C (M, N) = A (M, K) · Bᵀ with B (N, K), all row-major bf16, accumulators in fp32. Six warps: four store, one
multiplies, one loads. With `pair`, two blocks of a cluster compute 256 rows together: each loads its 128 rows
of A and half of B's, the first one's MMA warp multiplies for both, and each has its own rows of accumulators in its
tensor memory. With `sharing`, 2 blocks or pairs next to each other along N each load half of A's tile for both.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cutlass
from cutlass import BFloat16, Boolean, Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib.kernels.blackwell.config import BOX, MMA_WARP, ROWS, SINGLE, TMA_WARP, WARPS, BlackwellConfig
from tutorlib.kernels.blackwell.holding import Holding, hold
from tutorlib.kernels.blackwell.loops import multiply_tiles, produce_tiles, store_tiles
from tutorlib.kernels.blackwell.steps import Drain, Feed, TileSteps, TileWalk
from tutorlib.kernels.hopper.first import boxes, described, out_layout
from tutorlib.kernels.hopper.first_parts import ring_layout
from tutorlib.kernels.hopper.first_share import ALIGNMENT
from tutorlib.kernels.hopper.layouts import Tma

SMS = 148  # of a B200; as many blocks share all tiles
STORERS = 4  # warps of a block that store


@dataclass(frozen=True)
class TileLoops:
    """A loop for each role, and the function that holds tensor memory around them."""

    produce: Callable[[TileSteps], None] = produce_tiles
    multiply: Callable[[TileSteps], None] = multiply_tiles
    store: Callable[[TileSteps], None] = store_tiles
    hold: Callable[[Holding], None] = hold


def make_umma(config: BlackwellConfig) -> cute.TiledMma:
    """tcgen05.mma of the whole tile's M and N and 16 of K, by one block or by two; operands in shared memory."""
    group = tcgen05.CtaGroup.TWO if config.pair else tcgen05.CtaGroup.ONE
    k_major, smem = OperandMajorMode.K, tcgen05.OperandSource.SMEM
    op = tcgen05.MmaF16BF16Op(BFloat16, Float32, (*config.tile[:2], 16), group, smem, k_major, k_major)
    return cute.make_tiled_mma(op)


def as_operand(s: cute.Tensor, shape: Any, stages: int) -> cute.Tensor:
    """The ring's bytes as the MMA names them: ((rows, 16), 1, K blocks, stages)."""
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_SW128, BFloat16)
    layout = tcgen05.tile_to_mma_shape(atom, cute.append(shape, stages), (0, 1, 2))
    return cute.make_tensor(s.iterator, layout.outer)


@cute.jit
def initialise(ring: cute.Pointer, config: cutlass.Constexpr) -> None:
    """The mbarriers: full and empty of each stage, ready and free of each accumulator."""
    counts = [1] * config.stages + [config.sharing] * config.stages
    counts += [1] * config.accumulators + [STORERS * config.width] * config.accumulators
    for number, arrivals in enumerate(counts):
        cute.arch.mbarrier_init(ring + number, arrivals)
    cute.arch.mbarrier_init_fence()


@cute.jit
def await_empty(steps: TileSteps) -> None:
    """Every stage has been read: no commit is in flight to a block that ends."""
    total = steps.tiles * steps.k_tiles
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for _ in cutlass.range(total % steps.stages, unroll=1):
        state.advance()
    turns = total // steps.stages
    for _ in cutlass.range(steps.stages, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase ^ (turns & 1))
        state.advance()


def make_drain(tCtC: Any, tma: Any, mC: Any, sC: Any, warp: Any, thread: Any) -> Drain:
    """tCtC: ((128, N), 1, 1, accumulators) of tensor memory. sC: (128, 64, buffers), a warp's rows in one piece."""
    acc = tCtC[(None, None), 0, 0, None]  # (128, N, accumulators)
    parts = cute.flat_divide(acc, (ROWS, BOX[1]))  # (128, 64, 1, parts, accumulators)
    atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), Float32)
    t2r = tcgen05.make_tmem_copy(atom, parts[None, None, 0, 0, 0])
    mine = t2r.get_slice(thread)
    tTtC = mine.partition_S(parts[None, None, 0, None, None])  # (values, 1, 1, parts, accumulators)
    coordinates = cute.make_identity_tensor((ROWS, BOX[1]))
    tTrC = cute.make_rmem_tensor(mine.partition_D(coordinates).shape, Float32)
    vectors = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), BFloat16, num_bits_per_copy=128)
    r2s = cute.make_tiled_copy_D(vectors, t2r)
    tRsC = r2s.get_slice(thread).partition_D(sC)
    tRrC = cute.make_rmem_tensor(r2s.retile(tTrC).shape, BFloat16)
    tSsC, tSgC = cpasync.tma_partition(
        tma,
        0,
        cute.make_layout(1),
        cute.group_modes(cute.local_tile(sC, BOX, (warp, 0, None)), 0, 2),
        cute.group_modes(cute.local_tile(mC, BOX, (None, None)), 0, 2),
    )
    return Drain(t2r, tTtC, tTrC, r2s, tRrC, tRsC, tma, tSsC, tSgC, warp, ROWS // BOX[0])


@cute.kernel
def blackwell_kernel(
    a: Tma,
    b: Tma,
    c: Tma,
    tiled_mma: cute.TiledMma,
    sizes: cutlass.Constexpr,
    config: cutlass.Constexpr,
    loops: cutlass.Constexpr,
) -> None:
    """sizes: tiles of C along M and, in units of `sharing`, along N; K tiles of each; clusters that share them."""
    (bM, bN, bK), width, stages = config.tile, config.width, config.stages
    (tma_a, mA), (tma_b, mB), (tma_c, mC) = a, b, c
    tiles_m, tiles_n, k_tiles, clusters = sizes
    ring_a, ring_b = ring_layout(ROWS, bK, stages), ring_layout(config.b_rows, bK, stages)
    layout_c = ring_layout(ROWS, BOX[1], config.store_buffers)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(thread // 32)
    in_cluster = block % config.blocks
    rank, place = in_cluster % width, in_cluster // width

    memory = SmemAllocator()
    sA = memory.allocate_tensor(BFloat16, ring_a.outer, ALIGNMENT, ring_a.inner)  # (128, bK, stages)
    sB = memory.allocate_tensor(BFloat16, ring_b.outer, ALIGNMENT, ring_b.inner)  # (bN or its half, bK, stages)
    sC = memory.allocate_tensor(BFloat16, layout_c.outer, ALIGNMENT, layout_c.inner)  # (128, 64, buffers)
    full = memory.allocate_array(Int64, 2 * (config.stages + config.accumulators))
    address = memory.allocate_array(Int32, 1)
    if warp == TMA_WARP:
        for tma in (tma_a, tma_b, tma_c):
            cpasync.prefetch_descriptor(tma)
        with cute.arch.elect_one():
            initialise(full, config)
    gA = cute.local_tile(mA, (ROWS, bK), (None, None))  # (128, bK, row tiles, K tiles)
    gB = cute.local_tile(mB, (config.b_rows, bK), (None, None))
    feed_a = share_of(tma_a, sA, gA, place, rank, config)
    sB_boxes, gB_boxes = boxes(tma_b, sB, gB)
    tCrA = tiled_mma.make_fragment_A(as_operand(sA, tiled_mma.partition_shape_A((bM, bK)), stages))
    tCrB = tiled_mma.make_fragment_B(as_operand(sB, tiled_mma.partition_shape_B((bN, bK)), stages))
    walk = TileWalk(tiles_m, tiles_n, clusters, config.sharing, block // config.blocks, place)
    steps = TileSteps(
        config,
        walk,
        k_tiles,
        full,
        full + stages,
        full + 2 * stages,
        full + 2 * stages + config.accumulators,
        Boolean(rank == 0) if config.pair else True,
        rank,
        (feed_a, Feed(tma_b, gB_boxes, sB_boxes, None)),
        tiled_mma,
        tCrA,
        tCrB,
        None,
        None,
    )
    loops.hold(Holding(config, warp, address, Crew(loops, steps, warp, thread, tma_c, mC, sC)))


@dataclass(frozen=True)
class Crew:
    """A warp's work once tensor memory is allocated. steps: still without it."""

    loops: TileLoops
    steps: TileSteps
    warp: Int32
    thread: Int32
    tma_c: cute.CopyAtom
    mC: cute.Tensor
    sC: cute.Tensor

    @cute.jit
    def work(self, acc: cute.Pointer) -> None:
        config, tiled_mma = self.steps.config, self.steps.tiled_mma
        shape = tiled_mma.partition_shape_C(config.tile[:2])
        layout = tiled_mma.make_fragment_C(cute.append(shape, config.accumulators)).layout
        tCtC = cute.make_tensor(acc, layout)  # ((128, N), 1, 1, accumulators)
        drain = make_drain(tCtC, self.tma_c, self.mC, self.sC, self.warp % STORERS, self.thread % 128)
        steps = replace(self.steps, tCtC=tCtC, drain=drain)
        if self.warp == TMA_WARP:
            self.loops.produce(steps)
            await_empty(steps)
        if self.warp == MMA_WARP:
            self.loops.multiply(steps)
        if self.warp < STORERS:
            self.loops.store(steps)
            cute.arch.cp_async_bulk_wait_group(0, read=True)


def share_of(tma: Any, s: Any, g: Any, place: Any, rank: Any, config: BlackwellConfig) -> Feed:
    """The load of A: this block's part of 128 rows, for every block that needs the same rows."""
    width = config.width
    tXsX, tXgX = cpasync.tma_partition(
        tma, place, cute.make_layout(config.sharing), cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2)
    )
    if config.sharing == 1:
        return Feed(tma, tXgX, tXsX, None)
    blocks = cute.make_layout_image_mask(cute.make_layout((width, config.sharing)), (rank, place), 1)
    return Feed(tma, tXgX, tXsX, blocks)


def make_blackwell_gemm(
    config: BlackwellConfig = SINGLE, loops: TileLoops = TileLoops(), sms: int = SMS
) -> Callable[..., None]:
    """The host function gemm(a, b, c) of these loops, for cute.Tensors of static shape, on `sms` SMs."""

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        (bM, bN, bK), (m, n), k = config.tile, c.shape, a.shape[1]
        stages = config.stages
        group = tcgen05.CtaGroup.TWO if config.pair else tcgen05.CtaGroup.ONE
        alone = cpasync.CopyBulkTensorTileG2SOp(group)
        shared = cpasync.CopyBulkTensorTileG2SMulticastOp(group) if config.sharing > 1 else alone
        ring_a, ring_b = ring_layout(ROWS, bK, stages), ring_layout(config.b_rows, bK, stages)
        load_a = cpasync.make_tiled_tma_atom(
            shared, described(a), cute.select(ring_a, [0, 1]), (ROWS, bK), num_multicast=config.sharing
        )
        load_b = cpasync.make_tiled_tma_atom(alone, described(b), cute.select(ring_b, [0, 1]), (config.b_rows, bK))
        store_c = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), described(c), out_layout(*BOX), BOX)
        tiles_m, tiles_n = -(-m // bM), -(-n // (bN * config.sharing))
        clusters = min(tiles_m * tiles_n, sms // config.blocks)
        sizes = tiles_m, tiles_n, -(-k // bK), clusters
        blackwell_kernel(load_a, load_b, store_c, make_umma(config), sizes, config, loops).launch(
            grid=(clusters * config.blocks, 1, 1), block=(32 * WARPS, 1, 1), cluster=(config.blocks, 1, 1)
        )

    return gemm
