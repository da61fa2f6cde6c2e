"""Remedies of notebook 10."""

from tutorlib.checking.exercise import Remedy
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.failure import Fail

DOUBLE_BUFFER_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "10.1": (
        Remedy(Fail.GIVES(type="str"), "Return the number itself."),
        Remedy(
            Fail.CASE(name="one buffer"),
            "With one buffer a tile's latency, transfer and compute follow each other: the sum of the three is its "
            "round, and the slowest of the three candidates.",
        ),
    ),
    "10.2": (
        Remedy(
            LoopFlaw.UNWAITED,
            "wait_group(n) may leave the n newest groups open. How many were committed after the one of tile k?",
        ),
        Remedy(LoopFlaw.UNSEEN, "Wait, then barrier: each thread's wait covers its own copies only."),
        Remedy(
            LoopFlaw.OVERWRITTEN,
            "Tile k + 1 goes into buffer (k + 1) % 2, where tile k - 1 was read: after the barrier of step k, every"
            " warp is done with that.",
        ),
        Remedy(LoopFlaw.UNCOMMITTED, "Commit after each load, in the prologue and in the loop."),
        Remedy(
            LoopFlaw.EMPTY,
            "Before the loop tile 0 of A and of B, then in step k tile k + 1 of both: no tile is left out.",
        ),
        Remedy(LoopFlaw.TWICE, "Fetch from the buffer where the tile lies, k_tile % 2."),
        Remedy(
            LoopFlaw.OUT_OF_RANGE,
            "In the last step there is no next tile: load if k_tile + 1 < steps.k_tiles, and commit in any case.",
        ),
        Remedy(
            LoopFlaw.IDLE,
            "Send for tile k + 1 before you compute with tile k: load it after the barrier, and wait for it at the "
            "top of the next step.",
        ),
        Remedy(
            LoopFlaw.BARRIERS,
            "The barrier after the wait says two things: tile k is there, and everybody has left the other buffer.",
        ),
    ),
    "10.3": (
        Remedy(
            LoopFlaw.UNWAITED,
            "Before a tile's block 0 is fetched, the tile must have arrived: wait_group(0) and a barrier, before "
            "the loop for tile 0, at the last K block for the next.",
        ),
        Remedy(LoopFlaw.UNSEEN, "Wait, barrier, fetch, in this order, before the loop as well as at the last K block."),
        Remedy(LoopFlaw.OVERWRITTEN, "Tile k + 1 goes into the buffer that is not read."),
        Remedy(
            LoopFlaw.EMPTY,
            "Whatever is fetched ahead in the last step is not multiplied any more: multiply(k_block) takes the "
            "block that was fetched one earlier.",
        ),
        Remedy(
            LoopFlaw.TWICE,
            "At the last K block the buffer to read changes first, then block 0 of the next tile is fetched from it.",
        ),
        Remedy(
            LoopFlaw.NOT_FETCHED,
            "fetch(0, 0) before the loop; then, in block b, fetch block (b + 1) % k_blocks and multiply block b.",
        ),
        Remedy(
            LoopFlaw.OUT_OF_RANGE,
            "In the last step there is no next tile: load if k_tile + 1 < steps.k_tiles, and commit in any case.",
        ),
        Remedy(
            LoopFlaw.IDLE,
            "The wait belongs to the last K block alone, and the load of tile k + 1 to the top of the step.",
        ),
        Remedy(
            LoopFlaw.PREFETCH, "In K block b the fetch of block b + 1 comes first, then the multiplication of block b."
        ),
        Remedy(
            LoopFlaw.BARRIERS,
            "The barrier of the last K block says that the next tile is there and that this one's buffer is free.",
        ),
    ),
}
