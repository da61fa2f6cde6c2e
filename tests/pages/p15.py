"""Page 15: answers that are whole functions, and what rows of p15.txt are made of."""

from dataclasses import replace
from math import ceil

import cutlass
from cutlass import Int32, cute
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tests.pages.change import copy_of
from tests.pages.table import base_of, right, with_changes
from tutorlib.exercises.judges.hopper import LEVERS
from tutorlib.kernels.hopper import parts
from tutorlib.kernels.hopper import parts as course
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.parts import Parts, consume_tiles, free_stage

own = copy_of(parts)


@right("15.2")
@cute.jit
def two_states(tiles, multiply, out, defer: cutlass.Constexpr):
    """A second state for the stage that is freed."""
    read = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)
    freed = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)
    for number in cutlass.range(tiles.items(), unroll=1):
        multiply.step(read, True)
        read.advance()
        if number > 0:
            out.store(number - 1)
        for _ in cutlass.range(1, tiles.take(number).k_tiles, unroll=1):
            multiply.step(read, False)
            read.advance()
            multiply.retire(1, freed)
            freed.advance()
        multiply.retire(0, freed)
        freed.advance()
        out.round(number)
    out.store(tiles.items() - 1)
    out.drain()


@right("15.3")
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


UNUSUAL = Parts(consume=two_states, free=a_lane_for_each)


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


OWN = Parts(consume=own.consume_tiles, free=own.free_stage)


def part(function, changes):
    """An own part of 15.4 with the changes of a row."""
    return with_changes(base_of(function), changes)


def chosen(stream_k):
    return replace(LEVERS, stream_k=bool(stream_k))


def by_counts(m, n, k, limit=15, share=0.0):
    """Stream-K where an SM would be idle for more K tiles of 256×256 than the limit, and for more of the time."""
    waves = ceil(m / 256) * ceil(n / 256) / 66
    idle = ceil(waves) - waves
    return chosen(idle * k / 64 > limit and idle / ceil(waves) > share)


def whole(config=by_counts, pair=True, **slots):
    """An answer to 15.4 of own parts, with these in their places."""
    made = Parts(**{**vars(OWN), **slots})
    return lambda *shape: (config(*shape), made) if pair else made


def always(**settings):
    """One configuration for every shape."""
    return lambda *shape: replace(LEVERS, **settings)
