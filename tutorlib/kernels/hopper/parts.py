"""The parts of the Hopper GEMM that notebook 15's reader writes, and a slot for each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cutlass
from cutlass import Int32, cute
from cutlass.cute.nvgpu import cpasync
from cutlass.pipeline import PipelineUserType, make_pipeline_state


@cute.jit
def produce_tiles(tiles: Any, loads: Any) -> None:
    """The producer warp: issue the loads of every K tile of every item as stages become free."""
    state = make_pipeline_state(PipelineUserType.Producer, loads.stages)
    for number in cutlass.range(tiles.items(), unroll=1):
        item = tiles.take(number)
        for step in cutlass.range(item.k_tiles, unroll=1):
            loads.issue(item.tile, item.k_tile(step), state.index, state.phase)
            state.advance()
    loads.finish(state)


@cute.jit
def consume_tiles(tiles: Any, multiply: Any, out: Any, defer: cutlass.Constexpr) -> None:
    """A warp that multiplies: every item. defer: store a tile once the next one's first wgmmas are in flight."""
    state = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)
    for number in cutlass.range(tiles.items(), unroll=1):
        multiply.step(state, True)
        if cutlass.const_expr(defer) and number > 0:
            out.store(number - 1)
        before = state.clone()
        state.advance()
        for _ in cutlass.range(tiles.take(number).k_tiles - 1, unroll=1):
            multiply.step(state, False)
            multiply.retire(1, before)
            before = state.clone()
            state.advance()
        multiply.retire(0, before)
        if cutlass.const_expr(defer):
            out.round(number)
        else:
            out.round_and_store(number)
    if cutlass.const_expr(defer):
        out.store(tiles.items() - 1)
    out.drain()


@cute.jit
def store_pieces(out: Any) -> None:
    """A warp's rounded results: registers → its buffers in shared memory → TMA. The last copies stay in flight."""
    for piece in cutlass.range_constexpr(out.pieces):
        buffer = piece % out.buffers
        if cutlass.const_expr(piece == 0):
            cute.arch.cp_async_bulk_wait_group(0, read=True)
            cute.arch.sync_warp()
        elif cutlass.const_expr(piece >= out.buffers):
            cute.arch.cp_async_bulk_wait_group(out.buffers - 1, read=True)
            cute.arch.sync_warp()
        out.write(piece, buffer)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_warp()
        out.copy(piece, buffer)
        cute.arch.cp_async_bulk_commit_group()


@cute.jit
def load_shared(operand: Any, row: Int32, k_tile: Int32, stage: Int32, full: cute.Pointer) -> None:
    """Load this block's slice of a tile into the stage of every block of the cluster that wants the tile."""
    mode, block, cluster = operand.mode, operand.block, operand.cluster
    sharers, place = cluster[1 - mode], block[1 - mode]
    if cutlass.const_expr(mode == 0):
        mask = sum(1 << n * cluster[0] for n in range(cluster[1])) << block[0]
    else:
        mask = ((1 << cluster[0]) - 1) << block[1] * cluster[0]
    target, source = cpasync.tma_partition(
        operand.tma,
        place,
        cute.make_layout(sharers),
        cute.group_modes(operand.s[None, None, stage], 0, 2),
        cute.group_modes(operand.g[None, None, row, k_tile], 0, 2),
    )
    operand.copy(source, target, full, mask)


@cute.jit
def free_stage(ring: Any, stage: Int32) -> None:
    """Lane r of the warp arrives in the block of rank r if that block loads anything that this block reads."""
    lane = cute.arch.lane_idx()
    m, n = lane % ring.cluster[0], lane // ring.cluster[0]
    if n < ring.cluster[1] and (m == ring.block[0] or n == ring.block[1]):
        cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + lane)


@cute.jit
def give_part(part: Any) -> None:
    """Write this warp's accumulators where the block that adds them finds them, then raise the flag."""
    part.write()
    cute.arch.sync_warp()
    with cute.arch.elect_one():
        cute.arch.store(part.flag, Int32(1), sem="release", scope="gpu")


@cute.jit
def add_part(part: Any) -> None:
    """Wait for the flag, add the other block's accumulators, and clear the flag for the next launch."""
    given = Int32(0)
    while given == 0:
        given = cute.arch.make_warp_uniform(cute.arch.load(part.flag, Int32, sem="acquire", scope="gpu"))
    cute.arch.sync_warp()
    for number in cutlass.range_constexpr(part.slices):
        part.add(number)
    with cute.arch.elect_one():
        cute.arch.store(part.flag, Int32(0), sem="relaxed", scope="gpu")


@dataclass(frozen=True)
class Parts:
    """The slots. Each takes a @cute.jit function with the parameters of the one that fills it by default."""

    produce: Callable[..., None] = produce_tiles
    consume: Callable[..., None] = consume_tiles
    store: Callable[..., None] = store_pieces
    load: Callable[..., None] = load_shared
    free: Callable[..., None] = free_stage
    give: Callable[..., None] = give_part
    add: Callable[..., None] = add_part


COURSE = Parts()
