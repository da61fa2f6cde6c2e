"""Wrong answers to notebook 12, told by what they return, by a rehearsal or by the compiler."""

from tests.wrong.change import derive, swap
from tests.wrong.n10_double_buffer import PIPELINE
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.models.occupancy import blocks_per_sm as fit

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


WAIT = "wait_group(steps.stages - 2)"

WRONG = {
    "12.1": [
        derive(
            multistage,
            "waits_for_one_too_few",
            "wait_group off by one: STAGES - 1 groups may stay open.",
            swap(WAIT, "wait_group(steps.stages - 1)", times=2),
        ),
        derive(
            multistage,
            "waits_for_all",
            "Right, and no deeper than two buffers: wait_group(0).",
            swap(WAIT, "wait_group(0)", times=2),
        ),
        derive(
            multistage,
            "commits_inside_the_if",
            "No group is committed where nothing is left to load, so the last tiles are not waited for.",
            swap("steps.load(ahead, write)\n        cute", "steps.load(ahead, write)\n            cute"),
        ),
        derive(
            multistage,
            "one_tile_behind",
            "Loads into the buffer that is being read: the stage index of the writes is one short.",
            swap("load(ahead, write)", "load(ahead, read)"),
        ),
        derive(
            multistage,
            "drops_the_last_tile",
            "Stops where there is nothing left to load.",
            swap("in range(steps.k_tiles)", "in range(steps.k_tiles - 1)"),
        ),
        derive(PIPELINE, "two_buffers_only", "Notebook 10's loop, whatever the number of stages."),
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
