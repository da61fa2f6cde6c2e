"""The main loops of notebooks 09 to 12."""

from dataclasses import dataclass

import cutlass
from cutlass import cute

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.thread_share import MainLoop, Steps


@cute.jit
def single_buffer(steps: Steps) -> None:
    """Notebook 09: load, wait, compute."""
    for k_tile in range(steps.k_tiles):
        steps.load(k_tile, 0)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.sync_threads()


@cute.jit
def multistage(steps: Steps) -> None:
    """Notebooks 10 (two stages) and 12 (any number): tile k is in buffer k % stages, stages - 1 tiles are ahead."""
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 2)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    read, write = 0, steps.stages - 1
    for k_tile in range(steps.k_tiles):
        ahead = k_tile + steps.stages - 1
        if ahead < steps.k_tiles:
            steps.load(ahead, write)
        cute.arch.cp_async_commit_group()
        write = read
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, read)
            else:
                read = (read + 1) % steps.stages
                cute.arch.cp_async_wait_group(steps.stages - 2)
                cute.arch.sync_threads()
                steps.fetch(0, read)
            steps.multiply(k_block)


# Notebook 12's appendix: the same loop with its instructions in other places, which makes it faster ---------------


@dataclass(frozen=True)
class LoopSchedule:
    """The places at which `multistage` issues its instructions.

    spread: the loads of A are issued after the first K block's multiplication, those of B after a later one's; else
        both before.
    branch: no load is issued where no tile is left; else the last tile is loaded once more, and the loop has no
        branch across which the compiler could not move instructions.
    """

    spread: bool = False
    branch: bool = True


TUNED = GemmConfig((128, 256, 32), (2, 4), 4)
LONG = GemmConfig((128, 256, 64), (2, 4), 3)
SPREAD = LoopSchedule(spread=True, branch=False)  # the fastest variant


def make_loop(schedule: LoopSchedule) -> MainLoop:
    """The main loop of this schedule, for two stages or more."""

    @cute.jit
    def loop(steps: Steps) -> None:
        for k_tile in cutlass.range_constexpr(steps.stages - 1):
            if cutlass.const_expr(k_tile < steps.k_tiles):
                steps.load(k_tile, k_tile)
            cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(steps.stages - 2)
        cute.arch.sync_threads()
        steps.fetch(0, 0)
        read, write = 0, steps.stages - 1
        last = steps.k_blocks - 1
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            ahead = k_tile + steps.stages - 1
            if cutlass.const_expr(not schedule.spread):
                load_ahead(steps, schedule, ahead, write, a=True, b=True)
            for k_block in cutlass.range_constexpr(steps.k_blocks):
                if cutlass.const_expr(k_block < last):
                    steps.fetch(k_block + 1, read)
                    steps.multiply(k_block)
                if cutlass.const_expr(schedule.spread and k_block < last):
                    load_ahead(steps, schedule, ahead, write, a=k_block == 0, b=k_block == (last - 1) // 2)
            cute.arch.cp_async_commit_group()
            write = read
            read = (read + 1) % steps.stages
            cute.arch.cp_async_wait_group(steps.stages - 2)
            cute.arch.sync_threads()
            steps.fetch(0, read)
            steps.multiply(last)
        cute.arch.cp_async_wait_group(0)

    return loop


@cute.jit
def load_ahead(
    steps: Steps,
    schedule: cutlass.Constexpr,
    tile: cutlass.Int32,
    buffer: cutlass.Int32,
    a: cutlass.Constexpr,
    b: cutlass.Constexpr,
) -> None:
    """Issue cp.async for a tile of A, of B or of both."""
    if cutlass.const_expr(schedule.branch):
        if tile < steps.k_tiles:
            load_operands(steps, tile, buffer, a, b)
    else:
        load_operands(steps, cutlass.min(tile, steps.k_tiles - 1), buffer, a, b)


@cute.jit
def load_operands(
    steps: Steps, tile: cutlass.Int32, buffer: cutlass.Int32, a: cutlass.Constexpr, b: cutlass.Constexpr
) -> None:
    if cutlass.const_expr(a):
        steps.a.load(tile, buffer)
    if cutlass.const_expr(b):
        steps.b.load(tile, buffer)
