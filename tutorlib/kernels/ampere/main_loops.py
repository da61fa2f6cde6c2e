"""The main loops of notebooks 10 to 13."""

import cutlass
from cutlass import cute

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.thread_share import Steps


@cute.jit
def single_buffer(steps: Steps) -> None:
    """Notebook 10: load, wait, compute."""
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
    """Notebooks 11 (two stages) and 13 (any number): tile k is in buffer k % stages, stages - 1 tiles are ahead."""
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


TUNED = GemmConfig((128, 256, 32), (2, 4), 4)  # the fastest of notebook 13
