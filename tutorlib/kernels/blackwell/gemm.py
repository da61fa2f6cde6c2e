"""The GEMM of notebook 17, a persistent kernel of three roles; its parts may be the reader's.

C (M, N) = A (M, K) · Bᵀ with B (N, K), all row-major bf16, accumulators in fp32. Six warps: four store, one
multiplies, one loads. With `pair`, two blocks of a cluster compute 256 rows together: each loads its 128 rows
of A and half of B's, the first one's MMA warp multiplies for both, and each has its own rows of accumulators in its
tensor memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import cutlass
from cutlass import BFloat16, Boolean, Int32, Int64, cute
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.memory import SmemAllocator

from tutorlib.kernels.blackwell import parts
from tutorlib.kernels.blackwell.config import BOX, MMA_WARP, ROWS, SINGLE, TMA_WARP, WARPS, BlackwellConfig, band
from tutorlib.kernels.blackwell.parts import Drain, TileSteps
from tutorlib.kernels.hopper.first import ALIGNMENT, BoxCopy, boxes, described, out_layout, ring_layout
from tutorlib.kernels.hopper.pipeline import Tma
from tutorlib.kernels.hopper.walk import TileWalk

SMS = 148  # of a B200; as many blocks share all tiles
STORERS = 4  # warps of a block that store


@dataclass(frozen=True)
class Parts:
    """The functions that the kernel is made of."""

    make_umma: Callable[[tuple[int, int, int], bool], cute.TiledMma]
    issue: Callable[[cute.TiledMma, cute.Tensor, cute.Tensor, cute.Tensor, Any], None]
    make_t2r: Callable[[cute.Tensor, Any], tuple[cute.TiledCopy, cute.Tensor, cute.Tensor]]
    allocate: Callable[[Int32, int, cute.Pointer], cute.Pointer]
    release: Callable[[Int32, int, cute.Pointer], None]
    produce: Callable[[TileSteps], None]
    multiply: Callable[[TileSteps], None]
    store: Callable[[TileSteps], None]


def course_parts(pair: bool = False) -> Parts:
    """The course's own, for a block alone or for a pair."""
    memory = partial(parts.allocate, pair=pair), partial(parts.release, pair=pair)
    roles = parts.produce_tiles, parts.multiply_tiles, parts.store_tiles
    return Parts(parts.make_umma, parts.issue, parts.make_t2r, *memory, *roles)


def as_operand(s: cute.Tensor, shape: Any, stages: int) -> cute.Tensor:
    """The ring's bytes as the MMA names them: ((rows, 16), 1, K blocks, stages)."""
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_SW128, BFloat16)
    layout = tcgen05.tile_to_mma_shape(atom, cute.append(shape, stages), (0, 1, 2))
    return cute.make_tensor(s.iterator, layout.outer)


@cute.jit
def initialize(steps: TileSteps, warp: Int32, tmas: Any, config: cutlass.Constexpr) -> None:
    """The mbarriers: full and empty of each stage, ready and free of each accumulator. One warp, before any barrier."""
    counts = [1] * (2 * config.stages + config.accumulators) + [STORERS * config.width] * config.accumulators
    if warp == TMA_WARP:
        for tma in tmas:
            cpasync.prefetch_descriptor(tma)
        with cute.arch.elect_one():
            for number, arrivals in enumerate(counts):
                cute.arch.mbarrier_init(steps.full + number, arrivals)
            cute.arch.mbarrier_init_fence()


def make_drain(tCtC: Any, make_t2r: Any, tma: Any, mC: Any, sC: Any, warp: Any, thread: Any) -> Drain:
    """tCtC: ((128, N), 1, 1, accumulators) of tensor memory. sC: (128, 64, buffers), a warp's rows in one piece."""
    t2r, tTtC, tTrC = make_t2r(tCtC[(None, None), 0, 0, None], thread)
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


@dataclass(frozen=True)
class Block:
    """A warp's view of its block: shared memory, mbarriers, and the steps, still without tensor memory.

    warp: 0 to 5. thread: 0 to 191. address: 4 bytes of shared memory for alloc_tmem.
    """

    warp: Int32
    thread: Int32
    address: cute.Pointer
    steps: TileSteps
    make_t2r: Callable[..., Any]
    tma_c: cute.CopyAtom
    mC: cute.Tensor
    sC: cute.Tensor

    def steps_in(self, acc: cute.Pointer) -> TileSteps:
        """The steps of all three loops, with the accumulators from the column on that `acc` points to."""
        config, tiled_mma = self.steps.config, self.steps.tiled_mma
        shape = cute.append(tiled_mma.partition_shape_C(config.tile[:2]), config.accumulators)
        tCtC = cute.make_tensor(acc, tiled_mma.make_fragment_C(shape).layout)  # ((128, N), 1, 1, accumulators)
        warp, thread = self.warp % STORERS, self.thread % ROWS
        return replace(
            self.steps, tCtC=tCtC, drain=make_drain(tCtC, self.make_t2r, self.tma_c, self.mC, self.sC, warp, thread)
        )


def make_block(a: Tma, b: Tma, c: Tma, tiled_mma: cute.TiledMma, sizes: Any, config: Any, parts: Parts) -> Block:
    """Allocate shared memory, cut the matrices into boxes. Its mbarriers are not initialized.

    sizes: tiles of C along M and N; K tiles of each; clusters that share them; height of a band of tiles.
    """
    (bM, bN, bK), width, stages = config.tile, config.width, config.stages
    (tma_a, mA), (tma_b, mB), (tma_c, mC) = a, b, c
    tiles_m, tiles_n, k_tiles, clusters, height = sizes
    ring_a, ring_b = ring_layout(ROWS, bK, stages), ring_layout(config.b_rows, bK, stages)
    layout_c = ring_layout(ROWS, BOX[1], config.store_buffers)
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(thread // 32)
    rank = block % width

    memory = SmemAllocator()
    sA = memory.allocate_tensor(BFloat16, ring_a.outer, ALIGNMENT, ring_a.inner)  # (128, bK, stages)
    sB = memory.allocate_tensor(BFloat16, ring_b.outer, ALIGNMENT, ring_b.inner)  # (bN or its half, bK, stages)
    sC = memory.allocate_tensor(BFloat16, layout_c.outer, ALIGNMENT, layout_c.inner)  # (128, 64, buffers)
    full = memory.allocate_array(Int64, 2 * (stages + config.accumulators))
    address = memory.allocate_array(Int32, 1)
    gA = cute.local_tile(mA, (ROWS, bK), (None, None))  # (128, bK, row tiles, K tiles)
    gB = cute.local_tile(mB, (config.b_rows, bK), (None, None))
    feeds = tuple(BoxCopy(tma, *boxes(tma, s, g)) for tma, s, g in ((tma_a, sA, gA), (tma_b, sB, gB)))
    steps = TileSteps(
        config,
        TileWalk(tiles_m, tiles_n, clusters, block // width, height),
        k_tiles,
        full,
        full + stages,
        full + 2 * stages,
        full + 2 * stages + config.accumulators,
        Boolean(rank == 0) if config.pair else True,
        rank,
        feeds,
        tiled_mma,
        tiled_mma.make_fragment_A(as_operand(sA, tiled_mma.partition_shape_A((bM, bK)), stages)),
        tiled_mma.make_fragment_B(as_operand(sB, tiled_mma.partition_shape_B((bN, bK)), stages)),
        parts.issue,
        None,
        None,
    )
    return Block(warp, thread, address, steps, parts.make_t2r, tma_c, mC, sC)


def tma_atoms(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, config: BlackwellConfig) -> tuple[Tma, Tma, Tma]:
    """The loads of a block's stage of A and of B, and the store of a warp's box of C."""
    group = tcgen05.CtaGroup.TWO if config.pair else tcgen05.CtaGroup.ONE
    load, store = cpasync.CopyBulkTensorTileG2SOp(group), cpasync.CopyBulkTensorTileS2GOp()
    k, rows = config.tile[2], config.b_rows
    stage_a, stage_b = (cute.select(ring_layout(high, k, config.stages), [0, 1]) for high in (ROWS, rows))
    return (
        cpasync.make_tiled_tma_atom(load, described(a), stage_a, (ROWS, k)),
        cpasync.make_tiled_tma_atom(load, described(b), stage_b, (rows, k)),
        cpasync.make_tiled_tma_atom(store, described(c), out_layout(*BOX), BOX),
    )


@cute.kernel
def blackwell_kernel(
    a: Tma,
    b: Tma,
    c: Tma,
    tiled_mma: cute.TiledMma,
    sizes: cutlass.Constexpr,
    config: cutlass.Constexpr,
    parts: cutlass.Constexpr,
) -> None:
    """sizes: as `make_block` takes them."""
    block = make_block(a, b, c, tiled_mma, sizes, config, parts)
    initialize(block.steps, block.warp, (a[0], b[0], c[0]), config)
    acc = parts.allocate(block.warp, config.columns, block.address)
    steps = block.steps_in(acc)
    if block.warp == TMA_WARP:
        parts.produce(steps)
    if block.warp == MMA_WARP:
        parts.multiply(steps)
    if block.warp < STORERS:
        parts.store(steps)
        cute.arch.cp_async_bulk_wait_group(0, read=True)
    parts.release(block.warp, config.columns, acc)


def make_blackwell_gemm(
    config: BlackwellConfig = SINGLE, parts: Parts | None = None, sms: int = SMS
) -> Callable[..., None]:
    """The host function gemm(a, b, c) of these parts, for cute.Tensors of static shape, on `sms` SMs.

    parts: by default the course's.
    """
    made_of = parts or course_parts(config.pair)

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        (bM, bN, bK), (m, n), k = config.tile, c.shape, a.shape[1]
        tiles_m, tiles_n = cute.ceil_div(m, bM), cute.ceil_div(n, bN)
        clusters = min(tiles_m * tiles_n, sms // config.width)
        sizes = tiles_m, tiles_n, cute.ceil_div(k, bK), clusters, band(config.tile, tiles_m, clusters)
        tiled_mma = made_of.make_umma(config.tile, config.pair)
        kernel = blackwell_kernel(*tma_atoms(a, b, c, config), tiled_mma, sizes, config, made_of)
        kernel.launch(grid=(clusters * config.width, 1, 1), block=(32 * WARPS, 1, 1), cluster=(config.width, 1, 1))

    return gemm
