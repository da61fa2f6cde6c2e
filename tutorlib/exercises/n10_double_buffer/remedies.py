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
        Remedy(LoopFlaw.UNSEEN, "Wait, then barrier: a thread's wait covers its own copies only."),
        Remedy(
            LoopFlaw.OVERWRITTEN,
            "Tile k + 1 goes into buffer (k + 1) % 2, where tile k - 1 was read: the barrier "
            "of step k says that every warp has finished with it.",
        ),
        Remedy(LoopFlaw.UNCOMMITTED, "Commit after each load, in the prologue and in the loop."),
        Remedy(
            LoopFlaw.EMPTY,
            "Load tile 0 of A and of B before the loop, and tile k + 1 of both in step k: that is every tile.",
        ),
        Remedy(LoopFlaw.TWICE, "Fetch from the buffer that holds the tile, k_tile % 2."),
        Remedy(
            LoopFlaw.OUT_OF_RANGE,
            "In the last step there is no next tile: load if k_tile + 1 < steps.k_tiles, and commit in any case.",
        ),
        Remedy(
            LoopFlaw.IDLE(why="late"), "Issue the load of tile k + 1 before you multiply tile k, after the barrier."
        ),
        Remedy(LoopFlaw.IDLE(why="waited"), "Wait for tile k + 1 at the top of step k + 1, when tile k is multiplied."),
        Remedy(LoopFlaw.FETCHED_AGAIN, "One fetch of each K block, just before its multiplication."),
        Remedy(
            LoopFlaw.BARRIERS,
            "The barrier after the wait says two things: tile k has arrived, and no thread reads the other buffer.",
        ),
    ),
    "10.3": (
        Remedy(
            LoopFlaw.UNWAITED,
            "A tile must have arrived before its block 0 is fetched: wait_group(0) and a barrier, before the loop "
            "for tile 0, at the last K block for the next tile.",
        ),
        Remedy(LoopFlaw.UNSEEN, "Wait, barrier, fetch, in this order, before the loop as well as at the last K block."),
        Remedy(LoopFlaw.OVERWRITTEN, "Tile k + 1 goes into the buffer that is not read."),
        Remedy(
            LoopFlaw.EMPTY,
            "The block fetched ahead in the last step is never multiplied: multiply(k_block) takes the block that "
            "was fetched one K block earlier.",
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
        Remedy(LoopFlaw.IDLE(why="waited"), "Wait at the last K block only."),
        Remedy(LoopFlaw.FETCHED_AGAIN, "One fetch of each K block, while the block before it is multiplied."),
        Remedy(
            LoopFlaw.LIVE,
            "Fetch block b + 1, multiply block b, and so on: a tile's four blocks at once take all registers.",
        ),
        Remedy(
            LoopFlaw.PREFETCH, "In K block b the fetch of block b + 1 comes first, then the multiplication of block b."
        ),
        Remedy(
            LoopFlaw.BARRIERS,
            "The barrier of the last K block says that the next tile has arrived and that this tile's buffer is free.",
        ),
    ),
}
