"""Page 17: answers that are whole functions, and what rows of p17.txt are made of."""

import itertools
from math import ceil, floor, log2

import cutlass
import numpy as np
import torch
from cutlass import BFloat16, Boolean, Float32, Int32, cute
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state

from tests.pages.change import copy_of
from tests.pages.table import base_of, right, wrong
from tutorlib.kernels.blackwell import parts
from tutorlib.kernels.blackwell.config import band
from tutorlib.kernels.blackwell.parts import TileSteps
from tutorlib.models.memory import tmem_columns

OWN = copy_of(parts)  # as if they were the reader's
produce_tiles, multiply_tiles, store_tiles = OWN.produce_tiles, OWN.multiply_tiles, OWN.store_tiles
make_umma = OWN.make_umma


def loops(produce=produce_tiles, multiply=multiply_tiles, store=store_tiles):
    return produce, multiply, store


@cute.jit
def by_warp_0(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    """Relinquishes after the barrier, which comes twice."""
    if warp == 0:
        cute.arch.alloc_tmem(columns, address)
    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    return cute.arch.retrieve_tmem_ptr(Float32, 16, address)


@cute.jit
def by_warp_5(warp: Int32, columns: cutlass.Constexpr, acc: cute.Pointer):
    cute.arch.barrier()
    if warp == 5:
        cute.arch.dealloc_tmem(acc, columns)


@cute.jit
def named_barrier(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    """Another warp gives up the right to allocate."""
    if warp == 4:
        cute.arch.alloc_tmem(columns, address)
    cute.arch.barrier(barrier_id=1, number_of_threads=192)
    if warp == 5:
        cute.arch.relinquish_tmem_alloc_permit()
    return cute.arch.retrieve_tmem_ptr(Float32, 16, address)


@cute.jit
def take_columns(warp: Int32, of: cutlass.Constexpr, columns: cutlass.Constexpr, address: cute.Pointer):
    if warp == of:
        cute.arch.alloc_tmem(columns, address)
        cute.arch.relinquish_tmem_alloc_permit()


@cute.jit
def in_helpers(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    take_columns(warp, 4, columns, address)
    cute.arch.sync_threads()
    acc = cute.arch.retrieve_tmem_ptr(Float32, 16, address)
    return acc


@cute.jit
def last_reads(steps: TileSteps, state: PipelineState):
    for _ in cutlass.range(steps.stages, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        state.advance()


@right("17.4")
@cute.jit
def loads_first(steps: TileSteps):
    """Announces after it has sent: a phase can lack an arrival when its bytes are there."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            steps.load(number, k_tile, state.index)
            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            state.advance()
    last_reads(steps, state)


@right("17.4")
@cute.jit
def by_lane_0(steps: TileSteps):
    """A branch for one lane, and a first look at the mbarrier before it waits."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            if not cute.arch.mbarrier_try_wait(steps.empty + state.index, state.phase):
                cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            if cute.arch.lane_idx() == 0 and steps.leads:
                cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            steps.load(number, k_tile, state.index)
            state.advance()
    last_reads(steps, state)


@right("17.5")
@cute.jit
def commits_in_the_loop(steps: TileSteps):
    """Tells `ready` inside the K loop, behind the last multiplication; one flat count of stages."""
    stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        into = number % steps.accumulators
        cute.arch.mbarrier_wait(steps.free + into, (number // steps.accumulators + 1) % 2)
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
            steps.multiply(stage.index, into, k_tile < 1)
            with cute.arch.elect_one():
                tcgen05.commit(steps.empty + stage.index)
                if k_tile == steps.k_tiles - 1:
                    tcgen05.commit(steps.ready + into)
            stage.advance()


@right("17.6")
@cute.jit
def freed_by_lane_0(steps: TileSteps):
    """A helper with a branch for one lane."""
    acc = make_pipeline_state(PipelineUserType.Consumer, steps.accumulators)
    for number in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase)
        for part in cutlass.range_constexpr(steps.parts):
            take(steps, acc.index, part)
            if cutlass.const_expr(part == steps.parts - 1):
                free_by_lane_0(steps.free + acc.index)
            steps.write(number, part)
        acc.advance()


@cute.jit
def free_by_lane_0(free: cute.Pointer):
    lane = cute.arch.lane_idx()
    if lane == 0:
        cute.arch.mbarrier_arrive(free)


@cute.jit
def take(steps: TileSteps, accumulator: cutlass.Int32, part: cutlass.Int32):
    steps.read(accumulator, part)
    cute.arch.fence_view_async_tmem_load()


@cute.jit
def set_before_each(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean):
    adds = Boolean(True)
    if first:
        adds = Boolean(False)
    for k_block in cutlass.range_constexpr(tCrA.shape[2]):
        tiled_mma.set(tcgen05.Field.ACCUMULATE, adds)
        cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)
        adds = Boolean(True)


@cute.jit
def one_k_block(tiled_mma: cute.TiledMma, acc: cute.Tensor, a: cute.Tensor, b: cute.Tensor, adds: Boolean):
    tiled_mma.set(tcgen05.Field.ACCUMULATE, adds)
    cute.gemm(tiled_mma, acc, a, b, acc)


@cute.jit
def in_a_helper(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean):
    for k in cutlass.range_constexpr(cute.size(tCrB, mode=[2])):
        one_k_block(tiled_mma, acc, tCrA[None, None, k], tCrB[None, None, k], Boolean(k > 0) | ~Boolean(first))


@cute.jit
def rolled(tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean):
    for k_block in cutlass.range(cute.size(tCrA, mode=[2]), unroll=1):
        tiled_mma.set(tcgen05.Field.ACCUMULATE, k_block > 0 or not first)
        cute.gemm(tiled_mma, acc, tCrA[None, None, k_block], tCrB[None, None, k_block], acc)


allocate_release = base_of(parts.allocate, parts.release)
produce, multiply = base_of(produce_tiles), base_of(multiply_tiles)
pair = base_of(produce_tiles, multiply_tiles, store_tiles)
