"""Remedies of notebook 15."""

from tutorlib.checking.exercise import Remedy
from tutorlib.checking.rehearsing.tensor_memory import TensorMemoryFlaw
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.failure import Fail

BLACKWELL_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "15.1": (
        Remedy(Fail.CASE(name="one accumulator"), "256 are a power of two already: 1 << (needed - 1).bit_length()."),
    ),
    "15.2": (
        Remedy(
            Fail.CASE(name="one block's rows"),
            "Tensor memory has a lane for each of a block's 128 rows. The warp is the quarter of them that it may "
            "read; it does not change the lane's number.",
        ),
    ),
    "15.3": (
        Remedy(TensorMemoryFlaw.ALLOCATED_TWICE, "All six warps come by: only `holding.warp == 4` allocates."),
        Remedy(
            TensorMemoryFlaw.ADDRESS,
            "alloc_tmem writes the address to shared memory. All warps meet after that, outside of any branch, and "
            "then each reads it.",
        ),
        Remedy(
            TensorMemoryFlaw.FREED_EARLY,
            "A second meeting stands between the work, which all six warps do, and dealloc_tmem.",
        ),
        Remedy(
            TensorMemoryFlaw.NOT_FREED,
            "Tensor memory outlives a block that does not free it: dealloc_tmem at the end, by one warp.",
        ),
        Remedy(
            TensorMemoryFlaw.ONE_LANE,
            "alloc_tmem and dealloc_tmem are instructions of a warp: `if` with the warp's number, and no elect_one().",
        ),
        Remedy(
            TensorMemoryFlaw.COLUMNS, "The accumulators say how many: holding.columns, and the same number is freed."
        ),
    ),
    "15.4": (
        Remedy(LoopFlaw.ELECTED, "elect_one() is for the arrival alone. The copies stand after it."),
        Remedy(LoopFlaw.ALL_LANES, "One arrival ends the phase: the line belongs into `with cute.arch.elect_one():`."),
        Remedy(
            LoopFlaw.WAIT(barrier="empty", why="missing"),
            "Before bytes are announced for a stage, it must have been read: wait for empty first.",
        ),
        Remedy(
            (LoopFlaw.OVERWRITTEN, LoopFlaw.DEADLOCK(barrier="empty", phase=0)),
            "One PipelineState, made once before both loops as Producer, advanced once for each K tile: its index is "
            "the stage, its phase the one to wait for. It does not begin anew with a tile.",
        ),
        Remedy(LoopFlaw.BYTES, "Announced is what comes: steps.stage_bytes, A's and B's tile together."),
        Remedy(
            LoopFlaw.UNEXPECTED,
            "Bytes count where they are expected: mbarrier_arrive_and_expect_tx on full, before the copies.",
        ),
        Remedy(
            (LoopFlaw.LOADED_TWICE, LoopFlaw.LOADED(tiles="1 of 3")),
            "Two loops: every tile of the block, by its number, and in each all of its K tiles.",
        ),
    ),
    "15.5": (
        Remedy(
            (LoopFlaw.WAIT(barrier="full", why="missing"), LoopFlaw.WAIT(barrier="free", why="missing")),
            "Two waits: at each tile until its accumulator is free, at each K tile until the stage is full.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(barrier="free", phase=0),
            "Accumulators are what this role produces: their state is made as a Producer, whose first wait passes.",
        ),
        Remedy(
            LoopFlaw.AT_ONCE,
            "The tensor cores work on after the instruction: tcgen05.commit arrives when they are done with it.",
        ),
        Remedy(LoopFlaw.ALL_LANES, "One lane issues: `with cute.arch.elect_one(): tcgen05.commit(…)`."),
        Remedy(
            LoopFlaw.WAIT(why="incomplete"),
            "A commit covers what was issued before it: to empty after each K tile's multiplication, to ready after "
            "a tile's last one.",
        ),
        Remedy(
            LoopFlaw.FIRST(given="never"),
            "k_tile == 0 is `first`: an accumulator still holds another tile's accumulators.",
        ),
        Remedy(LoopFlaw.FIRST(given="again"), "Only the first K tile of a tile is `first`."),
        Remedy(
            LoopFlaw.SUMS,
            "The accumulators are a ring too: acc.index and acc.phase, and advance at the end of each tile.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(lacks="its arrival"),
            "Two commits: to empty after each K tile, to ready after the last one of a tile.",
        ),
    ),
    "15.6": (
        Remedy(LoopFlaw.NOT_SUMMED, "Wait for ready with a Consumer's state before the first part of a tile is read."),
        Remedy(
            LoopFlaw.NOT_READ, "steps.read only starts: fence_view_async_tmem_load() waits, between read and write."
        ),
        Remedy(LoopFlaw.ALL_LANES, "One lane of each warp arrives: `with cute.arch.elect_one():`."),
        Remedy(
            LoopFlaw.FENCE,
            "Three lines free an accumulator: the wait of tcgen05.ld, fence_before(), and one lane's arrival.",
        ),
        Remedy(
            LoopFlaw.FREED,
            "An accumulator is free when its last part is in registers: after that part's wait, once for each tile.",
        ),
        Remedy(
            LoopFlaw.FREED_LATE,
            "After the last part's wait the accumulators are in registers. Arrive then, and write afterwards.",
        ),
        Remedy(LoopFlaw.UNWRITTEN, "A tile has steps.parts parts: each is read, waited for and written."),
        Remedy(
            (LoopFlaw.WRITTEN_AS(part=0, tile=0), LoopFlaw.WRITTEN_AS(part=0, tile=1)),
            "The tile's number goes to steps.write, and accumulators advances at the end of every tile.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(barrier="free", at=0, lacks="all 4 arrivals"),
            "Who has read an accumulator says so: an arrival of each warp at steps.free, for every tile.",
        ),
    ),
    "15.7": (
        Remedy(Fail.CASE(name="a pair"), "Each block of a pair has 128 rows of A of its own, and half of B's n rows."),
        Remedy(
            Fail.CASE(name="a block alone"),
            "A stage: (128 + n) rows of 64 bf16, in bytes. Stages: how often that goes into 227 KiB less the rest, "
            "rounded down.",
        ),
    ),
    "15.8": (
        Remedy(LoopFlaw.LEADER, "Announce where steps.leads alone; both blocks wait for empty and load."),
        Remedy(LoopFlaw.ROLE, "Return three loops, in this order: produce, multiply, store."),
        Remedy(LoopFlaw.COMMIT, "tcgen05.commit(barrier, steps.both, tcgen05.CtaGroup.TWO), at empty and at ready."),
        Remedy(LoopFlaw.BYTES, "Both blocks' loads count for the leader's full: it expects the bytes of both."),
        Remedy(
            LoopFlaw.WAIT(barrier="empty", why="missing"),
            "Both blocks load into stages of their own, so both wait for empty.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(who="the MMA warp of block 1"),
            "One MMA of a pair computes for both blocks: the block that leads issues it, the other one does nothing.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(lacks="4 of 8 arrivals"),
            "The leader's MMA warp waits for all eight epilogue warps: each arrives at the leader's free, "
            "mbarrier_arrive(steps.free + i, steps.leader).",
        ),
        Remedy(
            (
                LoopFlaw.DEADLOCK(barrier="empty", at=0),
                LoopFlaw.UNEXPECTED,
                LoopFlaw.DEADLOCK(of="bytes"),
                LoopFlaw.TOO_OFTEN(barrier="full"),
            ),
            "Two things keep a stage from being filled: block 1 must load its half, too, and it must hear that it has "
            "been read, by a commit to both blocks' empty.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(barrier="ready", at=0, block=1),
            "The commit to ready goes to both blocks: each has an epilogue that waits.",
        ),
    ),
    "15.9": (
        Remedy(Fail.GIVES(of="int, Tensor"), "The elements are a list of floats: .tolist() makes one of a tensor."),
        Remedy(
            Fail.CASE(name="zeros, and the ends of ue8m0"),
            "Zeros have no exponent: take the smallest, -127, before anything takes a logarithm. And the exponent "
            "stays between -127 and 127.",
        ),
        Remedy(Fail.CASE(name="exact numbers"), "The largest *magnitude* decides: max(abs(x) …)."),
    ),
    "15.10": (
        Remedy(Fail.GIVES(of="float, Tensor"), "The elements are a list of floats: .tolist() makes one of a tensor."),
        Remedy(
            Fail.CASE(name="zeros, and scales at the ends"),
            "A scale that is rounded to 0 makes elements of 0, and nothing is divided by it.",
        ),
        Remedy(
            Fail.CASE(name="every value of e2m1"),
            "The largest magnitude of e2m1 is 6: that is what a block's largest becomes.",
        ),
    ),
    "15.11": (
        Remedy(Fail.CASE(name="several"), "All blocks are added up, each with its own two scales."),
        Remedy(Fail.GIVES(type="list"), "One number is wanted, the sum over all blocks."),
        Remedy(
            Fail.CASE(name="one block"),
            "A block gives a's scale times b's scale times the sum of the products of its elements.",
        ),
    ),
}
