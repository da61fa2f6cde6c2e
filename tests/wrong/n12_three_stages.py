"""Wrong answers to notebook 12, told by what they return, by a rehearsal or by the compiler."""

import cutlass
from cutlass import cute

from tutorlib.gemm import GemmConfig, Steps
from tutorlib.occupancy import blocks_per_sm as fit

# 12.1 -----------------------------------------------------------------------------------------------------------


@cute.jit
def waits_for_one_too_few(steps: Steps):
    """wait_group off by one: STAGES - 1 groups may stay open."""
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 1)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    for k_tile in range(steps.k_tiles):
        ahead = k_tile + steps.stages - 1
        if ahead < steps.k_tiles:
            steps.load(ahead, ahead % steps.stages)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, k_tile % steps.stages)
            else:
                cute.arch.cp_async_wait_group(steps.stages - 1)
                cute.arch.sync_threads()
                steps.fetch(0, (k_tile + 1) % steps.stages)
            steps.multiply(k_block)


@cute.jit
def waits_for_all(steps: Steps):
    """Right, and no deeper than two buffers: wait_group(0)."""
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    for k_tile in range(steps.k_tiles):
        ahead = k_tile + steps.stages - 1
        if ahead < steps.k_tiles:
            steps.load(ahead, ahead % steps.stages)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, k_tile % steps.stages)
            else:
                cute.arch.cp_async_wait_group(0)
                cute.arch.sync_threads()
                steps.fetch(0, (k_tile + 1) % steps.stages)
            steps.multiply(k_block)


@cute.jit
def commits_inside_the_if(steps: Steps):
    """No group is committed where nothing is left to load, so the last tiles are not waited for."""
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 2)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    for k_tile in range(steps.k_tiles):
        ahead = k_tile + steps.stages - 1
        if ahead < steps.k_tiles:
            steps.load(ahead, ahead % steps.stages)
            cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, k_tile % steps.stages)
            else:
                cute.arch.cp_async_wait_group(steps.stages - 2)
                cute.arch.sync_threads()
                steps.fetch(0, (k_tile + 1) % steps.stages)
            steps.multiply(k_block)


@cute.jit
def one_tile_behind(steps: Steps):
    """Loads into the buffer that is being read: the stage index of the writes is one short."""
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 2)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    for k_tile in range(steps.k_tiles):
        ahead = k_tile + steps.stages - 1
        if ahead < steps.k_tiles:
            steps.load(ahead, k_tile % steps.stages)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, k_tile % steps.stages)
            else:
                cute.arch.cp_async_wait_group(steps.stages - 2)
                cute.arch.sync_threads()
                steps.fetch(0, (k_tile + 1) % steps.stages)
            steps.multiply(k_block)


@cute.jit
def drops_the_last_tile(steps: Steps):
    """Stops where there is nothing left to load."""
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 2)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    for k_tile in range(steps.k_tiles - 1):
        ahead = k_tile + steps.stages - 1
        if ahead < steps.k_tiles:
            steps.load(ahead, ahead % steps.stages)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, k_tile % steps.stages)
            else:
                cute.arch.cp_async_wait_group(steps.stages - 2)
                cute.arch.sync_threads()
                steps.fetch(0, (k_tile + 1) % steps.stages)
            steps.multiply(k_block)


@cute.jit
def two_buffers_only(steps: Steps):
    """Notebook 10's loop, whatever the number of stages."""
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
            steps.multiply(k_block)


# 12.2 -----------------------------------------------------------------------------------------------------------


def forgets_what_is_reserved(sm, smem_bytes, registers, threads):
    """All of shared memory for the blocks."""
    return min(sm.shared // max(smem_bytes, 1), fit(sm, 0, registers, threads))


def registers_one_by_one(sm, smem_bytes, registers, threads):
    """Registers are not dealt in pieces."""
    return min(sm.registers // (registers * threads), fit(sm, smem_bytes, 8, threads))


def shared_memory_alone(sm, smem_bytes, registers, threads):
    """Forgets the registers."""
    return fit(sm, smem_bytes, 8, threads)


def registers_alone(sm, smem_bytes, registers, threads):
    """Forgets shared memory."""
    return fit(sm, 0, registers, threads)


def as_many_as_you_like(sm, smem_bytes, registers, threads):
    """Forgets the limits on threads and blocks."""
    return min(sm.shared // (smem_bytes + sm.reserved), sm.registers // (threads // 32 * (-(-registers // 8) * 256)))


# 12.3 -----------------------------------------------------------------------------------------------------------


def one_stage():
    """The loop needs two."""
    return GemmConfig(stages=1)


def a_tuple():
    """Not a GemmConfig."""
    return (128, 128, 64), (2, 2), 3


def too_much_shared_memory():
    """Nine stages of 32 KiB are more than any block can have."""
    return GemmConfig(stages=9)


def spills():
    """256 sums in each thread."""
    return GemmConfig((256, 128, 32), (2, 2), 3)


WRONG = {
    "12.1": [
        waits_for_one_too_few,
        waits_for_all,
        commits_inside_the_if,
        one_tile_behind,
        drops_the_last_tile,
        two_buffers_only,
    ],
    "12.2": [
        forgets_what_is_reserved,
        registers_one_by_one,
        shared_memory_alone,
        registers_alone,
        as_many_as_you_like,
    ],
    "12.3": [one_stage, a_tuple, too_much_shared_memory, spills],
}
