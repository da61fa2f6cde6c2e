"""The parts of the Blackwell kernel: the MMA, tensor memory, the copy out of it, and the loops of its three roles."""

from typing import Any

import cutlass
from cutlass import BFloat16, Boolean, Float32, Int32, cute
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib.dsl.tracing import fence_before
from tutorlib.kernels.blackwell.config import BOX, MMA_WARP, ROWS
from tutorlib.kernels.blackwell.steps import TileSteps

TMEM_ALIGNMENT = 16  # bytes; an allocation begins at a column


def make_umma(tile: tuple[int, int, int], pair: bool) -> cute.TiledMma:
    """tcgen05.mma of the tile's M and N and 16 of K, by one block or by two; operands in shared memory, K-major."""
    group = tcgen05.CtaGroup.TWO if pair else tcgen05.CtaGroup.ONE
    k_major, smem = OperandMajorMode.K, tcgen05.OperandSource.SMEM
    op = tcgen05.MmaF16BF16Op(BFloat16, Float32, (*tile[:2], 16), group, smem, k_major, k_major)
    return cute.make_tiled_mma(op)


@cute.jit
def issue(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean) -> None:
    """acc: ((128, N), 1, 1). tCrA, tCrB: (1, 1, K blocks) of a stage. first: overwrite the accumulator."""
    for k_block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
        tiled_mma.set(tcgen05.Field.ACCUMULATE, True if k_block else Boolean(first) == Boolean(False))
        cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)


@cute.jit
def allocate(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer) -> cute.Pointer:
    """For all warps of a block: the first of `columns` columns. address: 4 bytes of shared memory."""
    if warp == MMA_WARP:
        cute.arch.alloc_tmem(columns, address)
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    return cute.arch.retrieve_tmem_ptr(Float32, TMEM_ALIGNMENT, address)


@cute.jit
def release(warp: Int32, columns: cutlass.Constexpr, acc: cute.Pointer) -> None:
    """For all warps of a block, after their last use of tensor memory."""
    cute.arch.sync_threads()
    if warp == MMA_WARP:
        cute.arch.dealloc_tmem(acc, columns)


@cute.jit
def pair_allocate(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer) -> cute.Pointer:
    """As `allocate`, for all warps of a cluster of pairs."""
    if warp == MMA_WARP:
        cute.arch.alloc_tmem(columns, address, is_two_cta=True)
        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=True)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    return cute.arch.retrieve_tmem_ptr(Float32, TMEM_ALIGNMENT, address)


@cute.jit
def pair_release(warp: Int32, columns: cutlass.Constexpr, acc: cute.Pointer) -> None:
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if warp == MMA_WARP:
        cute.arch.dealloc_tmem(acc, columns, is_two_cta=True)


def make_t2r(acc: cute.Tensor, thread: Any) -> tuple[cute.TiledCopy, cute.Tensor, cute.Tensor]:
    """(t2r, tTtC, tTrC): the copy of 64 columns, its source (values, 1, 1, parts, accumulators), a thread's registers.

    acc: (128, N, accumulators) of tensor memory.
    """
    parts = cute.flat_divide(acc, (ROWS, BOX[1]))  # (128, 64, 1, parts, accumulators)
    atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), Float32)
    t2r = tcgen05.make_tmem_copy(atom, parts[None, None, 0, 0, 0])
    mine = t2r.get_slice(thread)
    tTtC = mine.partition_S(parts[None, None, 0, None, None])
    tTrC = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor((ROWS, BOX[1]))).shape, Float32)
    return t2r, tTtC, tTrC


# The loops, for a block alone and for a pair ------------------------------------------------------------------------


@cute.jit
def produce_tiles(steps: TileSteps) -> None:
    """The TMA warp: fill every stage as soon as it is empty, tile after tile."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            steps.load(number, k_tile, state.index)
            state.advance()


@cute.jit
def multiply_tiles(steps: TileSteps) -> None:
    """The leading block's MMA warp: one tile after the other, each in the next accumulator."""
    if steps.leads:
        stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
        acc = make_pipeline_state(PipelineUserType.Producer, steps.accumulators)
        for _ in cutlass.range(steps.tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase)
            for k_tile in cutlass.range(steps.k_tiles, unroll=1):
                cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
                steps.multiply(stage.index, acc.index, k_tile == 0)
                commit_to(steps, steps.empty + stage.index, steps.whole_cluster)
                stage.advance()
            commit_to(steps, steps.ready + acc.index, steps.both)
            acc.advance()


@cute.jit
def commit_to(steps: TileSteps, barrier: cute.Pointer, blocks: cutlass.Int16) -> None:
    """An arrival at this mbarrier in each of these blocks, when everything issued so far is complete."""
    with cute.arch.elect_one():
        if cutlass.const_expr(steps.config.pair):
            tcgen05.commit(barrier, blocks, tcgen05.CtaGroup.TWO)
        else:
            tcgen05.commit(barrier)


@cute.jit
def store_tiles(steps: TileSteps) -> None:
    """An epilogue warp: read and write its 32 lanes of each accumulator, part by part."""
    acc = make_pipeline_state(PipelineUserType.Consumer, steps.accumulators)
    for number in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase)
        for part in cutlass.range(steps.parts, unroll=1):
            steps.read(acc.index, part)
            cute.arch.fence_view_async_tmem_load()
            if part == steps.parts - 1:
                fence_before()
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + acc.index, steps.leader)
            steps.write(number, part)
        acc.advance()
