"""Remedies of notebook 15."""

from tutorlib.checking.exercise import Remedy
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.dsl.refusals import RefusalKind
from tutorlib.exercises.n15_blackwell_gemm.judge.kernel_parts import PartFlaw
from tutorlib.exercises.n15_blackwell_gemm.judge.tensor_memory import TensorMemoryFlaw
from tutorlib.failure import Difference, Fail, Hazard

BLACKWELL_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "15.1": (
        Remedy(
            Fail.CASE(name="one accumulator"),
            "256 is a power of two already, so it stays: 1 << (needed - 1).bit_length().",
        ),
    ),
    "15.2": (
        Remedy(
            Fail.CASE(name="one block's rows"),
            "Tensor memory has a lane for each of a block's 128 rows. The warp is lane // 32; lanes are "
            "numbered through all four warps.",
        ),
    ),
    "15.3": (
        Remedy(
            TensorMemoryFlaw.ALLOCATED_TWICE,
            "All six warps run this function; only warp 4 may allocate: `if warp == 4:`.",
        ),
        Remedy(
            TensorMemoryFlaw.ADDRESS,
            "alloc_tmem writes the address to shared memory. Put a barrier of all warps after it, outside any branch, "
            "before they read it.",
        ),
        Remedy(
            TensorMemoryFlaw.FREED_EARLY,
            "All six warps must synchronize a second time, between their work and dealloc_tmem.",
        ),
        Remedy(
            TensorMemoryFlaw.NOT_FREED,
            "One warp must call dealloc_tmem at the end: columns are not freed with the block.",
        ),
        Remedy(
            TensorMemoryFlaw.ONE_LANE,
            "A whole warp executes alloc_tmem and dealloc_tmem: branch on the warp's number, without elect_one().",
        ),
        Remedy(TensorMemoryFlaw.COLUMNS, "Allocate `columns`, and free the same number."),
        Remedy(
            (TensorMemoryFlaw.KEPT, TensorMemoryFlaw.GIVEN_UP),
            "In warp 4's branch: first alloc_tmem, then relinquish_tmem_alloc_permit.",
        ),
        Remedy(
            TensorMemoryFlaw.POINTER,
            "`return cute.arch.retrieve_tmem_ptr(Float32, 16, address)`, in all warps, after the barrier.",
        ),
    ),
    "15.4": (
        Remedy(LoopFlaw.ELECTED, "Only the arrival is inside elect_one(). The copies follow it."),
        Remedy(
            LoopFlaw.ALL_LANES, "The phase ends with one arrival: put the line inside `with cute.arch.elect_one():`."
        ),
        Remedy(
            LoopFlaw.WAIT(barrier="empty", why="missing"),
            "Before you announce bytes for a stage, its old K tile must have been read: wait for empty first.",
        ),
        Remedy(
            (LoopFlaw.OVERWRITTEN, LoopFlaw.DEADLOCK(barrier="empty", phase=0)),
            "Make one PipelineState before both loops, as Producer, and advance it once per K tile: its index is the "
            "stage, its phase the one to wait for. It does not start over at a new tile.",
        ),
        Remedy(LoopFlaw.BYTES, "Announce the bytes that arrive: steps.stage_bytes, A's and B's K tile together."),
        Remedy(
            LoopFlaw.UNEXPECTED,
            "The copies' bytes count at full: call mbarrier_arrive_and_expect_tx on full, before the copies.",
        ),
        Remedy(
            (LoopFlaw.LOADED_TWICE, LoopFlaw.LOADED(tiles="1 of 3")),
            "Use two loops: over the block's tiles, by number, and over all K tiles of each.",
        ),
    ),
    "15.5": (
        Remedy(
            (LoopFlaw.WAIT(barrier="full", why="missing"), LoopFlaw.WAIT(barrier="free", why="missing")),
            "There are two waits: for free once per tile, for full once per K tile.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(barrier="free", phase=0),
            "This role produces accumulators, so their state is a Producer's, whose first wait passes.",
        ),
        Remedy(
            LoopFlaw.AT_ONCE,
            "The tensor cores go on after the instruction returns; tcgen05.commit arrives when they are done.",
        ),
        Remedy(LoopFlaw.ALL_LANES, "One lane commits: `with cute.arch.elect_one(): tcgen05.commit(…)`."),
        Remedy(
            LoopFlaw.WAIT(why="incomplete"),
            "A commit covers everything issued before it: commit to empty after each K tile's multiplication, and to "
            "ready after a tile's last one.",
        ),
        Remedy(
            LoopFlaw.FIRST(given="never"),
            "Pass k_tile == 0 as `first`: the accumulator still holds an earlier tile.",
        ),
        Remedy(LoopFlaw.FIRST(given="again"), "`first` is true for a tile's first K tile only."),
        Remedy(
            LoopFlaw.SUMS,
            "The accumulators are a ring too: use acc.index and acc.phase, and advance at the end of each tile.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(lacks="its arrival"),
            "Commit to empty after each K tile, and to ready after a tile's last one.",
        ),
    ),
    "15.6": (
        Remedy(LoopFlaw.NOT_SUMMED, "Before you read a tile's first part, wait for ready, with a Consumer's state."),
        Remedy(
            LoopFlaw.NOT_READ,
            "steps.read only issues the load: call fence_view_async_tmem_load() between read and write.",
        ),
        Remedy(LoopFlaw.ALL_LANES, "One lane of each warp arrives: `with cute.arch.elect_one():`."),
        Remedy(
            LoopFlaw.FENCE,
            "Three lines free an accumulator: the wait of tcgen05.ld, fence_before(), and one lane's arrival.",
        ),
        Remedy(
            LoopFlaw.FREED,
            "Free an accumulator once per tile, after the wait for its last part, which is then in registers.",
        ),
        Remedy(
            LoopFlaw.FREED_LATE,
            "After the last part's wait, the accumulators are in registers: arrive then, and write after that.",
        ),
        Remedy(LoopFlaw.UNWRITTEN, "A tile has steps.parts parts: read, wait for and write each of them."),
        Remedy(
            (LoopFlaw.WRITTEN_AS(part=0, tile=0), LoopFlaw.WRITTEN_AS(part=0, tile=1)),
            "Pass the tile's number to steps.write, and advance the accumulator's state at the end of every tile.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(barrier="free", at=0, lacks="all 4 arrivals"),
            "Each epilogue warp must arrive at steps.free once for every tile.",
        ),
    ),
    "15.7": (
        Remedy(PartFlaw.SHAPE, "The instruction has the tile's M and N, and 16 along K: (tile[0], tile[1], 16)."),
        Remedy(PartFlaw.GROUP, "tcgen05.CtaGroup.TWO if pair else tcgen05.CtaGroup.ONE"),
        Remedy(PartFlaw.OPERAND, "BFloat16, Float32, shape, group, OperandSource.SMEM, and OperandMajorMode.K twice."),
        Remedy(
            (Difference.WRONG(), Difference.UNWRITTEN(), Difference.NEARLY()),
            "One cute.gemm for each of tCrA's K blocks, cute.size(tCrA, mode=[2]). Set ACCUMULATE before each: the "
            "opposite of `first` for K block 0, True for all others.",
        ),
    ),
    "15.8": (
        Remedy(LoopFlaw.LEADER, "Announce only `if steps.leads`; both blocks wait for empty and load."),
        Remedy(LoopFlaw.ROLE, "Return three loops, in this order: produce, multiply, store."),
        Remedy(LoopFlaw.COMMIT, "tcgen05.commit(barrier, steps.both, tcgen05.CtaGroup.TWO), at empty and at ready."),
        Remedy(LoopFlaw.BYTES, "Both blocks' loads count at the leader's full, so it expects the bytes of both."),
        Remedy(
            LoopFlaw.WAIT(barrier="empty", why="missing"),
            "Each block loads into its own stages, so each waits for its own empty.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(who="the MMA warp of block 1"),
            "The leader's MMA warp multiplies for both blocks; the other block's MMA warp does nothing.",
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
            "A stage fills only if block 1 loads its half, too, and learns that the stage has been read: commit to "
            "both blocks' empty.",
        ),
        Remedy(
            LoopFlaw.DEADLOCK(barrier="ready", at=0, block=1),
            "Commit to ready in both blocks: each has an epilogue that waits.",
        ),
    ),
    "15.9": (
        Remedy(
            Fail.CASE(name="zeros, and the ends of ue8m0"),
            "There is no logarithm of 0: return -127 before you take it. Clamp the exponent to -127 … 127.",
        ),
        Remedy(
            Fail.CASE(name="exact numbers"),
            "The largest *magnitude* determines the exponent: max(abs(x) for x in block).",
        ),
    ),
    "15.10": (
        Remedy(
            Fail.CASE(name="zeros, and scales at the ends"),
            "If the scale rounds to 0, return elements of 0 and do not divide.",
        ),
        Remedy(
            Fail.CASE(name="every value of e2m1"),
            "The largest e2m1 is 6: the scale maps the block's largest number to it.",
        ),
    ),
    "15.11": (
        Remedy(Fail.CASE(name="several"), "Add up all blocks, each multiplied by its own two scales."),
        Remedy(Fail.GIVES(type="list"), "Return one number, the sum over all blocks."),
        Remedy(
            Fail.CASE(name="one block"),
            "A block contributes a's scale · b's scale · the sum of the products of its elements.",
        ),
    ),
    "15.12": (
        Remedy(PartFlaw.SOURCE, "tTtC = mine.partition_S(parts[None, None, 0, None, None]) keeps both last modes."),
        Remedy(
            PartFlaw.REGISTERS,
            "A thread's share of a 128×64 tensor is 64 registers: partition_D of one part, not of all.",
        ),
        Remedy(PartFlaw.ATOM, "tcgen05.Ld32x32bOp(tcgen05.Repetition.x64)"),
        Remedy(PartFlaw.NOT_MADE, "`return t2r, tTtC, tTrC`: a TiledCopy and two tensors."),
    ),
    "15.13": (
        Remedy(PartFlaw.THREADS, "block=(192, 1, 1): four epilogue warps, the MMA warp and the TMA warp."),
        Remedy(
            Hazard.UNWAITED(),
            "Before a block ends: await_empty(steps) in the TMA warp, cp_async_bulk_wait_group(0, read=True) in the "
            "epilogue warps, and parts.release in all.",
        ),
        Remedy(Fail.TOO_MANY(instruction="block"), "A persistent kernel has min(tiles, sms) blocks."),
        Remedy(Fail.TOO_MANY(instruction="mbarrier.try_wait"), "One warp of a block waits until all stages are empty."),
    ),
    "15.14": (
        Remedy(RefusalKind.CTA_GROUP, "is_two_cta=True in alloc_tmem, relinquish_tmem_alloc_permit and dealloc_tmem."),
        Remedy(Fail.TOO_MANY(instruction="block"), "A persistent kernel has min(tiles, sms // 2) clusters."),
        Remedy(PartFlaw.THREADS, "block=(192, 1, 1): each of the two blocks has six warps."),
        Remedy(
            (Hazard.RACE(), Hazard.MBARRIER()),
            "All warps of both blocks meet: cluster_arrive(), then cluster_wait(). cluster_arrive_relaxed() does not "
            "release what its warp did before.",
        ),
    ),
}
