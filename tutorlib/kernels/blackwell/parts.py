"""The parts of the Blackwell kernel: the steps of its three loops, the MMA, tensor memory, and the loops."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cutlass
from cutlass import BFloat16, Boolean, Float32, Int16, Int32, cute
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib.dsl.tracing import fence_after
from tutorlib.kernels.blackwell.config import BOX, MMA_WARP, ROWS, BlackwellConfig
from tutorlib.kernels.hopper.first import BoxCopy
from tutorlib.kernels.hopper.walk import TileWalk

# Steps ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drain:
    """A warp's epilogue: tensor memory to registers to shared memory to C.

    tTtC: (values, 1, 1, parts, accumulators); tTrC: registers, fp32.
    tRrC: the same in bf16, as `r2s` takes them; tRsC: (values, 1, 1, buffers). tSsC: (box, buffers) of this warp;
    tSgC: (box, row boxes, column boxes) of C. row: the first row box of this warp in a tile's. rows: boxes in a tile.
    """

    t2r: cute.TiledCopy
    tTtC: cute.Tensor
    tTrC: cute.Tensor
    r2s: cute.TiledCopy
    tRrC: cute.Tensor
    tRsC: cute.Tensor
    tma: cute.CopyAtom
    tSsC: cute.Tensor
    tSgC: cute.Tensor
    row: Int32
    rows: int


@dataclass(frozen=True)
class TileSteps:
    """A block's steps, for a thread of any role.

    full, empty: mbarriers, one for each of `stages`. A phase of full[stage] ends with 1 arrival and the bytes that it
        announces, stage_bytes; one of empty[stage] when the multiplications that read it are committed to it.
    ready, free: one for each accumulator. A phase of ready ends when the multiplications of a tile are committed to it,
        one of free with an arrival of each warp that stores, `storers`.
    leads: whether this block issues the multiplications: with a pair the first one does. In a pair, full and free are
        the leader's, and both blocks have empty and ready of their own.
    issue: multiplies a stage, given the TiledMma, an accumulator, the operands, and whether it is the tile's first.
    """

    config: BlackwellConfig
    walk: TileWalk
    k_tiles: int
    full: cute.Pointer
    empty: cute.Pointer
    ready: cute.Pointer
    free: cute.Pointer
    leads: Boolean | bool
    rank: Int32
    feeds: tuple[BoxCopy, ...]
    tiled_mma: cute.TiledMma
    tCrA: cute.Tensor
    tCrB: cute.Tensor
    issue: Callable[..., None]
    tCtC: Any  # a cute.Tensor and a Drain, as soon as there is tensor memory
    drain: Any

    @property
    def tiles(self) -> Int32:
        """Tiles that this block computes, one after the other."""
        return self.walk.count

    @property
    def stages(self) -> int:
        return self.config.stages

    @property
    def accumulators(self) -> int:
        return self.config.accumulators

    @property
    def stage_bytes(self) -> int:
        """Bytes that full[stage] counts, from both blocks of a pair."""
        return self.config.stage_bytes * self.config.width

    @property
    def parts(self) -> int:
        """Parts of 64 columns in which a warp reads an accumulator."""
        return cute.size(self.drain.tTtC, mode=[3])

    @property
    def both(self) -> Int16:
        """The mask of both blocks of a pair; without a pair, of this block."""
        return Int16((1 << self.config.width) - 1)

    @property
    def leader(self) -> Int32:
        """The rank of the pair's first block in the cluster."""
        return Int32(0)

    def load(self, number: Any, k_tile: Any, stage: Any) -> None:
        """Start TMA's copies of a K tile of the number-th tile; their bytes count for full[stage], of the leader."""
        m, n = self.walk.tile(number)
        width = self.config.width
        for feed, row in zip(self.feeds, (m * width + self.rank, n * width + self.rank), strict=True):
            cute.copy(feed.tma, feed.tXgX[None, row, k_tile], feed.tXsX[None, stage], tma_bar_ptr=self.full + stage)

    def multiply(self, stage: Any, accumulator: Any, first: Any) -> None:
        """Issue a stage's four tcgen05.mma; `first`: overwrite the accumulator."""
        fence_after()
        acc = self.tCtC[None, None, None, accumulator]
        tCrA, tCrB = (operand[None, None, None, stage] for operand in (self.tCrA, self.tCrB))
        self.issue(self.tiled_mma, acc, tCrA, tCrB, first)

    def read(self, accumulator: Any, part: Any) -> None:
        """Start tcgen05.ld of 64 columns of this warp's 32 lanes into registers."""
        fence_after()
        cute.copy(self.drain.t2r, self.drain.tTtC[None, None, None, part, accumulator], self.drain.tTrC)

    def write(self, number: Any, part: Any) -> None:
        """Round the registers, and let TMA store them as a part of the number-th tile."""
        drain, buffers = self.drain, self.config.store_buffers
        buffer = (number * self.parts + part) % buffers  # not the one that was written last
        m, n = self.walk.tile(number)
        cute.arch.cp_async_bulk_wait_group(buffers - 1, read=True)
        cute.arch.sync_warp()
        drain.tRrC.store(drain.r2s.retile(drain.tTrC).load().to(BFloat16))
        cute.copy(drain.r2s, drain.tRrC, drain.tRsC[None, None, None, buffer])
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_warp()
        row = (m * self.config.width + self.rank) * drain.rows + drain.row
        cute.copy(drain.tma, drain.tSsC[None, buffer], drain.tSgC[None, row, n * self.parts + part])
        cute.arch.cp_async_bulk_commit_group()


# Parts ----------------------------------------------------------------------------------------------------------------

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
def meet(pair: cutlass.Constexpr) -> None:
    """All warps of a block, or of both blocks of a pair."""
    if cutlass.const_expr(pair):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
    else:
        cute.arch.sync_threads()


@cute.jit
def allocate(
    warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer, pair: cutlass.Constexpr = False
) -> cute.Pointer:
    """For all warps of a block, or of a pair: the first of `columns` columns. address: 4 bytes of shared memory."""
    if warp == MMA_WARP:
        cute.arch.alloc_tmem(columns, address, is_two_cta=pair)
        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=pair)
    meet(pair)
    return cute.arch.retrieve_tmem_ptr(Float32, TMEM_ALIGNMENT, address)


@cute.jit
def release(warp: Int32, columns: cutlass.Constexpr, acc: cute.Pointer, pair: cutlass.Constexpr = False) -> None:
    """For all warps of a block, or of a pair, after their last use of tensor memory."""
    meet(pair)
    if warp == MMA_WARP:
        cute.arch.dealloc_tmem(acc, columns, is_two_cta=pair)


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
    """The TMA warp: fill every stage as soon as it is empty, tile after tile; at the end no commit is in flight."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            steps.load(number, k_tile, state.index)
            state.advance()
    for _ in cutlass.range(steps.stages, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
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
                commit_to(steps, steps.empty + stage.index, steps.both)
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
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + acc.index, steps.leader)
            steps.write(number, part)
        acc.advance()
