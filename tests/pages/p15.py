"""Page 15: answers that are whole functions, and what rows of p15.txt are made of."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import ceil

import cutlass
import numpy as np
from cutlass import Int32, cute
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tests.pages.change import copy_of
from tests.pages.table import base_of, right, solved, with_changes, wrong
from tutorlib.kernels.hopper import parts
from tutorlib.kernels.hopper import parts as course
from tutorlib.kernels.hopper.choose import candidates, choose, cost
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.parts import (
    Parts,
    consume_tiles,
    free_stage,
    load_shared,
    produce_tiles,
    store_pieces,
)
from tutorlib.kernels.hopper.specialized import load_steps, multiply_steps


@right("15.1")
@cute.jit
def counts_by_itself(steps):
    """No pipeline state: index and phase from the K tile's number; expect_tx and arrive apart."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage, turn = k_tile % steps.stages, k_tile // steps.stages
        cute.arch.mbarrier_wait(steps.empty + stage, (turn & 1) ^ 1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_expect_tx(steps.full + stage, steps.stage_bytes)
            cute.arch.mbarrier_arrive(steps.full + stage)
        steps.load(k_tile, stage)


@right("15.2")
@cute.jit
def keeps_the_last_stage(steps):
    """What nobody waits for need not be told: the last stages are never freed."""
    cute.arch.mbarrier_wait(steps.full, 0)
    warpgroup.fence()
    steps.multiply(0, True)
    warpgroup.commit_group()
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        cute.arch.mbarrier_wait(steps.full + stage, k_tile // steps.stages & 1)
        warpgroup.fence()
        steps.multiply(stage, False)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + (k_tile - 1) % steps.stages)
    warpgroup.wait_group(0)


@cute.jit
def step(steps, state, first: cutlass.Constexpr):
    """Helper: one K tile's wgmmas as a group."""
    cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
    warpgroup.fence()
    steps.multiply(state.index, first)
    warpgroup.commit_group()


own = copy_of(parts)


@right("15.3")
@cute.jit
def while_loops(tiles, loads):
    """while in place of range."""
    state = make_pipeline_state(PipelineUserType.Producer, loads.stages)
    number = Int32(0)
    while number < tiles.items():
        item = tiles.take(number)
        step = Int32(0)
        while step < item.k_tiles:
            loads.issue(item.tile, item.k_tile(step), state.index, state.phase)
            state.advance()
            step += 1
        number += 1
    loads.finish(state)


@right("15.4")
@cute.jit
def two_states(tiles, multiply, out, defer: cutlass.Constexpr):
    """A second state for the stage that is freed."""
    read = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)
    freed = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)
    for number in cutlass.range(tiles.items(), unroll=1):
        multiply.step(read, True)
        read.advance()
        if cutlass.const_expr(defer) and number > 0:
            out.store(number - 1)
        for _ in cutlass.range(1, tiles.take(number).k_tiles, unroll=1):
            multiply.step(read, False)
            read.advance()
            multiply.retire(1, freed)
            freed.advance()
        multiply.retire(0, freed)
        freed.advance()
        if cutlass.const_expr(defer):
            out.round(number)
        else:
            out.round_and_store(number)
    if cutlass.const_expr(defer):
        out.store(tiles.items() - 1)
    out.drain()


@right("15.5")
@cute.jit
def counts_buffers(out):
    """A Python number for the buffer, and one wait whose count follows from the piece."""
    buffer = 0
    for piece in cutlass.range_constexpr(out.pieces):
        if cutlass.const_expr(piece == 0 or piece >= out.buffers):
            cute.arch.cp_async_bulk_wait_group(out.buffers - 1 if piece else 0, read=True)
            cute.arch.sync_warp()
        out.write(piece, buffer)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_warp()
        out.copy(piece, buffer)
        cute.arch.cp_async_bulk_commit_group()
        buffer = (buffer + 1) % out.buffers


@right("15.6")
@cute.jit
def mask_by_a_loop(operand, row, k_tile, stage, full):
    """The mask bit by bit, from the ranks of all blocks."""
    across, cluster = 1 - operand.mode, operand.cluster
    place = operand.block[operand.mode]
    mask = Int32(0)
    for rank in cutlass.range_constexpr(cluster[0] * cluster[1]):
        other = (rank % cluster[0], rank // cluster[0])[operand.mode]
        if place == other:
            mask |= 1 << rank
    s = cute.group_modes(operand.s[None, None, stage], 0, 2)
    g = cute.group_modes(operand.g[None, None, row, k_tile], 0, 2)
    target, source = cpasync.tma_partition(operand.tma, operand.block[across], cute.make_layout(cluster[across]), s, g)
    operand.copy(source, target, full, mask)


@right("15.7")
@cute.jit
def a_lane_for_each(ring, stage):
    """The first lanes for the row, the next ones for the column; mapped addresses."""
    down, across = ring.cluster
    lane = cute.arch.lane_idx()
    m, n = ring.block[0], lane
    if lane >= across:
        m, n = lane - across, ring.block[1]
        if m >= ring.block[0]:
            m += 1
    if lane < down + across - 1:
        cute.arch.mbarrier_arrive(cute.arch.map_dsmem_ptr(ring.empty + stage, ring.first + m + n * down))


@cute.jit
def give_with_a_fence(part):
    """A fence of the GPU, then a relaxed flag."""
    part.write()
    cute.arch.sync_warp()
    with cute.arch.elect_one():
        cute.arch.fence_acq_rel_gpu()
        cute.arch.store(part.flag, Int32(1), sem="relaxed", scope="gpu")


@cute.jit
def add_with_a_fence(part):
    """A relaxed flag, then a fence; the first lane clears it."""
    given = Int32(0)
    while given != 1:
        given = cute.arch.make_warp_uniform(cute.arch.load(part.flag, Int32, sem="relaxed", scope="gpu"))
    cute.arch.fence_acq_rel_gpu()
    cute.arch.sync_warp()
    for number in cutlass.range_constexpr(part.slices):
        part.add(part.slices - 1 - number)
    if cute.arch.lane_idx() == 0:
        cute.arch.store(part.flag, Int32(0), sem="relaxed", scope="gpu")


@cute.jit
def give_by_a_lane(part):
    """Lane 5 raises the flag."""
    part.write()
    cute.arch.sync_warp()
    if cute.arch.lane_idx() == 5:
        cute.arch.store(part.flag, Int32(1), sem="release", scope="sys")


@cute.jit
def one_lane_asks(part):
    """In each turn of the loop one lane asks, and tells the others; the warp meets there."""
    given = Int32(0)
    while given == 0:
        if cute.arch.lane_idx() == 0:
            given = cute.arch.load(part.flag, Int32, sem="acquire", scope="gpu")
        cute.arch.sync_warp()
        given = cute.arch.shuffle_sync(given, 0)
    for number in cutlass.range_constexpr(part.slices):
        part.add(number)
    cute.arch.store(part.flag, Int32(0), sem="relaxed", scope="gpu")


UNUSUAL = Parts(
    while_loops,
    two_states,
    counts_buffers,
    mask_by_a_loop,
    a_lane_for_each,
    give_with_a_fence,
    add_with_a_fence,
)


@wrong("15.1", "deadlock, race")
@cute.jit
def phase_of_two_rounds(steps):
    """Its phase is right for two rounds of the stages."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        phase = 0
        if k_tile < steps.stages:
            phase = 1
        cute.arch.mbarrier_wait(steps.empty + stage, phase)
        if Int32(cute.arch.lane_idx()) < 1:
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
        steps.load(k_tile, stage)


@wrong("15.2", "does not compile")
@cute.jit
def first_is_compared(steps):
    """`first` is known when the kernel runs, and steps.multiply wants to know it before."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        cute.arch.mbarrier_wait(steps.full + stage, k_tile // steps.stages & 1)
        warpgroup.fence()
        steps.multiply(stage, k_tile == 0)
        warpgroup.commit_group()
        if k_tile > 0:
            warpgroup.wait_group(1)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive(steps.empty + (k_tile - 1) % steps.stages)
    warpgroup.wait_group(0)


@wrong("15.2", "no copies in flight", lesson=True)
@cute.jit
def one_at_a_time(steps):
    """The page's slow loop."""
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    multiply_one(steps, state, True)
    state.advance()
    for _ in cutlass.range(steps.k_tiles - 1, unroll=1):
        multiply_one(steps, state, False)
        state.advance()


@cute.jit
def multiply_one(steps, state, first: cutlass.Constexpr):
    step(steps, state, first)
    warpgroup.wait_group(0)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive(steps.empty + state.index)


@wrong("15.5", "waits until C is written", lesson=True)
@cute.jit
def copies_at_once(out):
    """The page's version: nothing orders the lanes and TMA."""
    for piece in cutlass.range_constexpr(out.pieces):
        out.write(piece, piece % out.buffers)
        out.copy(piece, piece % out.buffers)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def lane_0_polls(part):
    """Nothing tells the other lanes."""
    if cute.arch.lane_idx() == 0:
        given = Int32(0)
        while given == 0:
            given = cute.arch.load(part.flag, Int32, sem="acquire", scope="gpu")
    for number in cutlass.range_constexpr(part.slices):
        part.add(number)
    cute.arch.sync_warp()
    with cute.arch.elect_one():
        cute.arch.store(part.flag, Int32(0), sem="relaxed", scope="gpu")


def plain_python(*args):
    """Not compiled."""


OWN = Parts(
    own.produce_tiles,
    own.consume_tiles,
    own.store_pieces,
    own.load_shared,
    own.free_stage,
    own.give_part,
    own.add_part,
)


def part(function, changes):
    """An own part of 15.9 with the changes of a row."""
    return with_changes(base_of(function), changes)


def whole(config=None, pair=True, **slots):
    """An answer to 15.9 of own parts, with these in their places."""
    made = Parts(**{**vars(OWN), **slots})
    return lambda *shape: (config or choose(*shape), made) if pair else made
