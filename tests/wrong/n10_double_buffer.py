"""Wrong answers to notebook 10. A rehearsal tells them all, on any machine."""

from tests.wrong.change import derive, move_last, swap, without_last
from tutorlib.course.answers import load_answers
from tutorlib.kernels.ampere.main_loops import single_buffer

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


# Loops ----------------------------------------------------------------------------------------------------------

RIGHT = load_answers("10_double_buffer")
DOUBLE, PIPELINE = RIGHT["10.2"], RIGHT["10.3"]

WRONG = {
    "10.1": [one_buffers_round, buffers_alone, memory_sends_all_at_once, endless_buffers],
    "10.2": [
        derive(
            DOUBLE,
            "loads_before_the_wait",
            "Overwrites the buffer that a slower warp still reads.",
            move_last("sync_threads()", after="commit_group()"),
            move_last("wait_group(0)", after="commit_group()"),
            swap("wait_group(0)", "wait_group(1)"),
        ),
        derive(
            DOUBLE,
            "barrier_of_one_warp",
            "A barrier that only the first warp reaches.",
            swap(
                "        cute.arch.sync_threads()",
                "        if cute.arch.thread_idx()[0] < 32:\n            cute.arch.sync_threads()",
            ),
        ),
        derive(DOUBLE, "waits_for_one_too_few", "wait_group off by one.", swap("wait_group(0)", "wait_group(1)")),
        derive(
            DOUBLE,
            "waits_at_once",
            "Right, but nothing is under way while it computes.",
            swap(
                "commit_group()\n        for", "commit_group()\n        cute.arch.cp_async_wait_group(0)\n        for"
            ),
        ),
        derive(
            DOUBLE,
            "reads_always_the_first_buffer",
            "The stage index of the reads is not advanced.",
            swap("fetch(k_block, k_tile % 2)", "fetch(k_block, 0)"),
        ),
        derive(
            DOUBLE,
            "loads_a_tile_that_is_not_there",
            "No condition on the load.",
            swap("if k_tile + 1 < steps.k_tiles:\n            steps", "steps"),
        ),
        single_buffer,
    ],
    "10.3": [
        derive(DOUBLE, "not_ahead", "Right, with two buffers, and each K block is fetched when it is needed."),
        derive(
            PIPELINE,
            "fetches_before_the_wait",
            "Fetches the next tile's first block before the wait for that tile.",
            move_last("sync_threads()", after="fetch(0, read)"),
            move_last("wait_group(0)", after="fetch(0, read)"),
        ),
        derive(PIPELINE, "no_barrier", "The wait alone, without the barrier.", without_last("sync_threads()")),
        derive(
            PIPELINE,
            "overtakes_itself",
            "Fetches a block ahead into the registers, and multiplies the one just fetched.",
            swap("multiply(k_block)", "multiply((k_block + 1) % steps.k_blocks)"),
        ),
        single_buffer,
    ],
}
