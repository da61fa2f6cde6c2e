"""Unusual right parts of notebook 14's persistent kernel."""

import cutlass
from cutlass import Int32, cute
from cutlass.cute.nvgpu import cpasync
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tests.pages.change import copy_of
from tests.pages.n14_beat_cublas.wrong_parts import NamedPair
from tests.pages.table import answer
from tutorlib.kernels.hopper import parts
from tutorlib.kernels.hopper.choose import choose
from tutorlib.kernels.hopper.slots import Parts

own = copy_of(parts)

# 14.13 take_roles -------------------------------------------------------------------------------------------------


@cute.jit
def consumers_first(
    me,
    consumers: cutlass.Constexpr,
    registers: cutlass.Constexpr,
    produce: cutlass.Constexpr,
    consume: cutlass.Constexpr,
):
    """The consumers' branch first."""
    kept, taken = registers
    if me.group < consumers:
        cute.arch.setmaxregister_increase(taken)
        consume()
    else:
        cute.arch.setmaxregister_decrease(kept)
        if me.warp < 1:
            produce()


@cute.jit
def two_branches(
    me,
    consumers: cutlass.Constexpr,
    registers: cutlass.Constexpr,
    produce: cutlass.Constexpr,
    consume: cutlass.Constexpr,
):
    """The registers in one branch, the work in another."""
    if me.group == consumers:
        cute.arch.setmaxregister_decrease(registers[0])
    else:
        cute.arch.setmaxregister_increase(registers[1])
    if me.group < consumers:
        consume()
    if me.group == consumers and me.warp == 0:
        produce()


@cute.jit
def another_warp_loads(
    me,
    consumers: cutlass.Constexpr,
    registers: cutlass.Constexpr,
    produce: cutlass.Constexpr,
    consume: cutlass.Constexpr,
):
    """The producer's last warp loads, not its first."""
    if me.group == consumers:
        cute.arch.setmaxregister_decrease(registers[0])
        if me.warp == 3:
            produce()
    else:
        cute.arch.setmaxregister_increase(registers[1])
        consume()


# 14.7 produce_tiles -----------------------------------------------------------------------------------------------


@cute.jit
def counts_by_itself(tiles, loads):
    """No pipeline state: stage and phase from the number of all loads."""
    count = Int32(0)
    for number in cutlass.range(tiles.items(), unroll=1):
        item = tiles.take(number)
        for step in cutlass.range(item.k_tiles, unroll=1):
            stage, turn = count % loads.stages, count // loads.stages
            loads.issue(item.tile, item.k_tile(step), stage, (turn & 1) ^ 1)
            count += 1
    state = make_pipeline_state(PipelineUserType.Producer, loads.stages)
    state.advance(count)
    loads.finish(state)


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


@cute.jit
def from_the_end(tiles, loads):
    """The K tiles of a tile from the last to the first, which a sum does not mind."""
    state = make_pipeline_state(PipelineUserType.Producer, loads.stages)
    for number in cutlass.range(tiles.items(), unroll=1):
        item = tiles.take(number)
        for step in cutlass.range(item.k_tiles, unroll=1):
            loads.issue(item.tile, item.k_tile(item.k_tiles - 1 - step), state.index, state.phase)
            state.advance()
    loads.finish(state)


# 14.14 consume_tiles ----------------------------------------------------------------------------------------------


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


@cute.jit
def the_first_tile_apart(tiles, multiply, out, defer: cutlass.Constexpr):
    """The first tile, which has none before it, stands before the loop."""
    state = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)
    if cutlass.const_expr(defer):
        multiply.step(state, True)
        before = state.clone()
        state.advance()
        for _ in cutlass.range(tiles.take(0).k_tiles - 1, unroll=1):
            multiply.step(state, False)
            multiply.retire(1, before)
            before = state.clone()
            state.advance()
        multiply.retire(0, before)
        out.round(0)
        for number in cutlass.range(1, tiles.items(), unroll=1):
            multiply.step(state, True)
            before = state.clone()
            state.advance()
            out.store(number - 1)
            for _ in cutlass.range(tiles.take(number).k_tiles - 1, unroll=1):
                multiply.step(state, False)
                multiply.retire(1, before)
                before = state.clone()
                state.advance()
            multiply.retire(0, before)
            out.round(number)
        out.store(tiles.items() - 1)
    else:
        for number in cutlass.range(tiles.items(), unroll=1):
            multiply.step(state, True)
            before = state.clone()
            state.advance()
            for _ in cutlass.range(tiles.take(number).k_tiles - 1, unroll=1):
                multiply.step(state, False)
                multiply.retire(1, before)
                before = state.clone()
                state.advance()
            multiply.retire(0, before)
            out.round_and_store(number)
    out.drain()


@cute.jit
def all_steps(multiply, state, k_tiles):
    """Helper: the steps of a tile but the first. Returns the state after the last one."""
    before = state.clone()
    state.advance()
    for _ in cutlass.range(k_tiles - 1, unroll=1):
        multiply.step(state, False)
        multiply.retire(1, before)
        before = state.clone()
        state.advance()
    multiply.retire(0, before)
    return state


@cute.jit
def with_a_helper(tiles, multiply, out, defer: cutlass.Constexpr):
    """A function of its own for the inner loop."""
    state = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)
    for number in cutlass.range(tiles.items(), unroll=1):
        multiply.step(state, True)
        if cutlass.const_expr(defer) and number != 0:
            out.store(number - 1)
        state = all_steps(multiply, state, tiles.take(number).k_tiles)
        if cutlass.const_expr(not defer):
            out.round_and_store(number)
        else:
            out.round(number)
    if cutlass.const_expr(defer) and tiles.items() > 0:
        out.store(tiles.items() - 1)
    out.drain()


# 14.15 store_pieces -----------------------------------------------------------------------------------------------


@cute.jit
def waits_at_the_end(out):
    """Waits for all of its copies itself, before it returns, and so need not wait at the beginning."""
    for piece in cutlass.range_constexpr(out.pieces):
        if cutlass.const_expr(piece >= out.buffers):
            cute.arch.cp_async_bulk_wait_group(out.buffers - 1, read=True)
            cute.arch.sync_warp()
        out.write(piece, piece % out.buffers)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_warp()
        out.copy(piece, piece % out.buffers)
        cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)
    cute.arch.sync_warp()


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


@cute.jit
def from_the_last_piece(out):
    """The pieces from the last to the first, with one more barrier of the warp than it needs."""
    for number in cutlass.range_constexpr(out.pieces):
        if cutlass.const_expr(number == 0):
            cute.arch.cp_async_bulk_wait_group(0, read=True)
        elif cutlass.const_expr(number >= out.buffers):
            cute.arch.cp_async_bulk_wait_group(out.buffers - 1, read=True)
        cute.arch.sync_warp()
        out.write(out.pieces - 1 - number, number % out.buffers)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_warp()
        out.copy(out.pieces - 1 - number, number % out.buffers)
        cute.arch.cp_async_bulk_commit_group()


@cute.jit
def fence_after_the_meeting(out):
    """The warp meets, and then each lane fences: a fence between the writes and the copy, on whatever side of it."""
    for piece in cutlass.range_constexpr(out.pieces):
        if cutlass.const_expr(piece == 0 or piece >= out.buffers):
            cute.arch.cp_async_bulk_wait_group(out.buffers - 1 if piece else 0, read=True)
            cute.arch.sync_warp()
        out.write(piece, piece % out.buffers)
        cute.arch.sync_warp()
        cute.arch.fence_proxy("async.shared", space="cta")
        out.copy(piece, piece % out.buffers)
        cute.arch.cp_async_bulk_commit_group()


# 14.5 load_shared -------------------------------------------------------------------------------------------------


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


@cute.jit
def partitions_all(operand, row, k_tile, stage, full):
    """Cuts the whole tensors first, and takes the tile from them."""
    across, cluster, (m, n) = 1 - operand.mode, operand.cluster, operand.block
    s, g = cute.group_modes(operand.s, 0, 2), cute.group_modes(operand.g, 0, 2)
    layout = cute.make_layout(cluster[across])
    target, source = cpasync.tma_partition(operand.tma, operand.block[across], layout, s, g)
    bits = (
        [1 << i * cluster[0] for i in range(cluster[1])] if operand.mode == 0 else [1 << i for i in range(cluster[0])]
    )
    operand.copy(
        source[None, row, k_tile], target[None, stage], full, sum(bits) << (m if operand.mode == 0 else n * cluster[0])
    )


@cute.jit
def two_branches_of_operands(operand, row, k_tile, stage, full):
    """A and B each in a branch of its own."""
    s = cute.group_modes(operand.s[None, None, stage], 0, 2)
    g = cute.group_modes(operand.g[None, None, row, k_tile], 0, 2)
    down, across = operand.cluster
    m, n = operand.block
    if cutlass.const_expr(operand.mode == 1):
        target, source = cpasync.tma_partition(operand.tma, m, cute.make_layout(down), s, g)
        operand.copy(source, target, full, (2**down - 1) << (n * down))
    else:
        target, source = cpasync.tma_partition(operand.tma, n, cute.make_layout(across), s, g)
        first = (2 ** (down * across) - 1) // (2**down - 1)  # every `down`-th bit
        operand.copy(source, target, full, first << m)


# 14.16 free_stage -------------------------------------------------------------------------------------------------


@cute.jit
def one_lane_in_a_loop(ring, stage):
    """An elected lane tells all of them, one after the other."""
    down, across = ring.cluster
    with cute.arch.elect_one():
        for n in cutlass.range_constexpr(across):
            cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + ring.block[0] + n * down)
        for m in cutlass.range_constexpr(down):
            if m != ring.block[0]:
                cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + m + ring.block[1] * down)


@cute.jit
def lanes_from_the_end(ring, stage):
    """Lane 31 speaks to block 0, lane 30 to block 1."""
    block = 31 - cute.arch.lane_idx()
    n = block // ring.cluster[0]
    m = block - n * ring.cluster[0]
    if block < ring.cluster[0] * ring.cluster[1] and (m == ring.block[0] or n == ring.block[1]):
        cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + block)


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


# 14.17 hand_over --------------------------------------------------------------------------------------------------


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


OWN = Parts(
    own.take_roles,
    own.produce_tiles,
    own.consume_tiles,
    own.store_pieces,
    own.load_shared,
    own.free_stage,
    own.give_part,
    own.add_part,
)
UNUSUAL = Parts(
    consumers_first,
    while_loops,
    two_states,
    counts_buffers,
    mask_by_a_loop,
    a_lane_for_each,
    give_with_a_fence,
    add_with_a_fence,
)
RIGHT = {
    "14.13": [consumers_first, two_branches, another_warp_loads],
    "14.7": [counts_by_itself, while_loops, from_the_end],
    "14.14": [two_states, the_first_tile_apart, with_a_helper],
    "14.15": [waits_at_the_end, counts_buffers, from_the_last_piece, fence_after_the_meeting],
    "14.5": [mask_by_a_loop, partitions_all, two_branches_of_operands],
    "14.16": [one_lane_in_a_loop, lanes_from_the_end, a_lane_for_each],
    "14.17": [
        answer("fences", "Fences in place of release and acquire.", NamedPair(give_with_a_fence, add_with_a_fence)),
        answer("mixed", "One with release, the other with a fence.", NamedPair(own.give_part, add_with_a_fence)),
        answer("by_a_lane", "A lane of its own raises the flag, for the whole system.", NamedPair(give_by_a_lane, own.add_part)),
        answer("one_asks", "One lane polls and tells the others.", NamedPair(own.give_part, one_lane_asks)),
    ],
    "14.18": [
        answer("own_parts", "The solution's parts and the course's choice.", lambda m, n, k: (choose(m, n, k), OWN)),
        answer("unusual_parts", "Each part an unusual one.", lambda m, n, k: (choose(m, n, k), UNUSUAL)),
        answer("as_a_list", "A list.", lambda *shape: [choose(*shape), OWN]),
    ],
}  # fmt: skip
