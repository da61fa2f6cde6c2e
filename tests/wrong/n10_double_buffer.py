"""Wrong answers to notebook 10. A rehearsal tells them all, on any machine."""

import cutlass
from cutlass import cute

from tutorlib.gemm import Steps, single_buffer

# 10.1 -----------------------------------------------------------------------------------------------------------


def one_buffers_round(stages, latency, transfer, compute):
    """As if there were one buffer."""
    return float(latency + transfer + compute)


def buffers_alone(stages, latency, transfer, compute):
    """Forgets that the arithmetic and the memory do one tile at a time."""
    return (latency + transfer + compute) / stages


def memory_sends_all_at_once(stages, latency, transfer, compute):
    """Forgets the transfer."""
    return float(max(compute, (latency + transfer + compute) / stages))


def endless_buffers(stages, latency, transfer, compute):
    """Forgets the buffers."""
    return float(max(compute, transfer))


# 10.2 -----------------------------------------------------------------------------------------------------------


@cute.jit
def loads_before_the_wait(steps: Steps):
    """Overwrites the buffer that a slower warp still reads."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(1)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, k_tile % 2)
            steps.multiply(k_block)


@cute.jit
def waits_for_one_too_few(steps: Steps):
    """wait_group off by one."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        cute.arch.cp_async_wait_group(1)
        cute.arch.sync_threads()
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, k_tile % 2)
            steps.multiply(k_block)


@cute.jit
def waits_at_once(steps: Steps):
    """Right, but nothing is under way while it computes."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for k_tile in range(steps.k_tiles):
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, k_tile % 2)
            steps.multiply(k_block)
        cute.arch.sync_threads()


@cute.jit
def reads_always_the_first_buffer(steps: Steps):
    """The stage index of the reads is not advanced."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)


@cute.jit
def loads_a_tile_that_is_not_there(steps: Steps):
    """No condition on the load."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, k_tile % 2)
            steps.multiply(k_block)


# 10.3 -----------------------------------------------------------------------------------------------------------


@cute.jit
def not_ahead(steps: Steps):
    """Right, with two buffers, and each K block is fetched when it is needed."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, k_tile % 2)
            steps.multiply(k_block)


@cute.jit
def fetches_before_the_wait(steps: Steps):
    """Fetches the next tile's first block before the wait for that tile."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    for k_tile in range(steps.k_tiles):
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, k_tile % 2)
            else:
                steps.fetch(0, (k_tile + 1) % 2)
                cute.arch.cp_async_wait_group(0)
                cute.arch.sync_threads()
            steps.multiply(k_block)


@cute.jit
def no_barrier(steps: Steps):
    """The wait alone, without the barrier."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    for k_tile in range(steps.k_tiles):
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, k_tile % 2)
            else:
                cute.arch.cp_async_wait_group(0)
                steps.fetch(0, (k_tile + 1) % 2)
            steps.multiply(k_block)


@cute.jit
def overtakes_itself(steps: Steps):
    """Fetches a block ahead into the registers, and multiplies the one just fetched."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    for k_tile in range(steps.k_tiles):
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, k_tile % 2)
            else:
                cute.arch.cp_async_wait_group(0)
                cute.arch.sync_threads()
                steps.fetch(0, (k_tile + 1) % 2)
            steps.multiply((k_block + 1) % steps.k_blocks)


WRONG = {
    "10.1": [one_buffers_round, buffers_alone, memory_sends_all_at_once, endless_buffers],
    "10.2": [
        loads_before_the_wait,
        waits_for_one_too_few,
        waits_at_once,
        reads_always_the_first_buffer,
        loads_a_tile_that_is_not_there,
        single_buffer,
    ],
    "10.3": [not_ahead, fetches_before_the_wait, no_barrier, overtakes_itself, single_buffer],
}
