"""Wrong answers to notebook 13's group of wgmmas, its mbarriers' initialization, and its loop over one stage."""

from functools import partial

from cutlass import cute
from cutlass.cute.nvgpu import warpgroup

from tests.pages.change import copy_of, derive, move_last, swap, without
from tests.pages.table import says
from tutorlib.kernels.hopper import first_parts
from tutorlib.kernels.hopper.first_parts import init_barriers, multiply, one_stage

OWN = copy_of(first_parts)  # as if it were the reader's


group, init, in_one_stage = (partial(derive, part) for part in (multiply, init_barriers, one_stage))

# 13.10 multiply -------------------------------------------------------------------------------------------------


@says("the course's multiply")
def the_courses_multiply(tiled_mma, tCrA, tCrB, tCrC, adds):
    """Leans on the course's own."""
    multiply(tiled_mma, tCrA, tCrB, tCrC, adds)


@says("without wgmma")
def issues_nothing(tiled_mma, tCrA, tCrB, tCrC, adds):
    """A fence and a commit, with no wgmma between them."""
    warpgroup.fence()
    warpgroup.commit_group()


SET, SET_TRUE = "tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)", "tiled_mma.set(warpgroup.Field.ACCUMULATE, True)"
COMMIT = "    warpgroup.commit_group()"
GEMM = "cute.gemm(tiled_mma, tCrC, tCrA[None, None, k_block], tCrB[None, None, k_block], tCrC)"
GROUPS = [
    the_courses_multiply,
    issues_nothing,
    group("no_fence", "wgmma before the registers are ready.", without("fence()")),
    group(
        "fence_behind",
        "The fence after the wgmmas.",
        without("fence()"),
        swap(COMMIT, f"    warpgroup.fence()\n{COMMIT}"),
    ),
    group("no_commit", "wait_group has nothing to wait for.", without("commit")),
    group(
        "commits_first",
        "An empty group, and the wgmmas in the next one.",
        without("commit"),
        swap("    warpgroup.fence()", f"{COMMIT}\n    warpgroup.fence()"),
    ),
    group(
        "a_group_for_each_block",
        "wait_group(1) then leaves one K block in flight and not one K tile.",
        without("commit"),
        swap(f"        {SET_TRUE}", f"        {SET_TRUE}\n    {COMMIT}"),
    ),
    group(
        "a_fence_for_each_block",
        "Four fences for one group.",
        without("fence()"),
        swap(f"        {GEMM}", f"        warpgroup.fence()\n        {GEMM}"),
    ),
    group(
        "waits", "Waits for its own group: nothing overlaps.", swap(COMMIT, f"{COMMIT}\n    warpgroup.wait_group(0)")
    ),
    group("never_adds", "Each wgmma forgets those before.", swap(SET, SET.replace("adds", "False")), without(SET_TRUE)),
    group("always_adds", "The first one adds to what was in the registers.", swap(SET, SET_TRUE)),
    group(
        "blocks_do_not_add", "adds for all K blocks: those of the first K tile forget each other.", without(SET_TRUE)
    ),
    group("forgets_the_tiles_before", "Each K tile starts anew.", swap(SET, SET.replace("adds", "False"))),
    group("never_set", "The field as it was made.", without(SET), without(SET_TRUE)),
    group(
        "sets_registers_to_zero",
        "128 registers of each thread set to zero, where ACCUMULATE would do.",
        swap(SET, f"if adds == False:\n        tCrC.fill(0.0)\n    {SET_TRUE}"),
    ),
    group(
        "fences_in_each_step",
        "A proxy fence that nothing needs.",
        swap("    warpgroup.fence()", '    cute.arch.fence_proxy("async.shared", space="cta")\n    warpgroup.fence()'),
    ),
    group(
        "meets_in_each_step", "All warps of the block wait.", swap(COMMIT, f"{COMMIT}\n    cute.arch.sync_threads()")
    ),
    group("four_k_blocks", "The page's number of K blocks.", swap("cute.size(tCrA, mode=[2])", "4")),
    group("first_block", "K block 0 alone.", swap("cute.size(tCrA, mode=[2])", "1")),
    group("block_0_again", "B's K block 0 for all.", swap("tCrB[None, None, k_block]", "tCrB[None, None, 0]")),
    group("m_for_k", "The number of atoms along M, which is 1.", swap("mode=[2]", "mode=[1]")),
    group(
        "operands_exchanged",
        "B for A.",
        swap(
            "tCrA[None, None, k_block], tCrB[None, None, k_block]",
            "tCrB[None, None, k_block], tCrA[None, None, k_block]",
        ),
    ),
]

# 13.11 init_barriers --------------------------------------------------------------------------------------------


@says("the course's init_barriers")
@cute.jit
def the_courses_init(full, empty, stages, warps, thread):
    """Leans on the course's own."""
    init_barriers(full, empty, stages, warps, thread)


@says("not a @cute.jit function")
def not_compiled_init(full, empty, stages, warps, thread):
    """No @cute.jit."""


@says("never initialized")
@cute.jit
def only_meets(full, empty, stages, warps, thread):
    """No initialization at all."""
    cute.arch.sync_threads()


IF, INIT_FULL = "    if thread == 0:\n", "            cute.arch.mbarrier_init(full + stage, 1)\n"
INIT_EMPTY = "            cute.arch.mbarrier_init(empty + stage, warps)\n"
INIT_FENCE, MEET = "        cute.arch.mbarrier_init_fence()\n", "    cute.arch.sync_threads()"
INITS = [
    the_courses_init,
    not_compiled_init,
    only_meets,
    init("all_threads", "256 threads initialize.", swap(IF, "    if True:\n")),
    init("all_lanes", "32 threads initialize.", swap(IF, "    if thread < 32:\n")),
    init("a_thread_of_each_group", "Two threads initialize.", swap(IF, "    if thread % 128 == 0:\n")),
    init(
        "empty_for_one",
        "One arrival frees a stage.",
        swap("empty + stage, warps", "empty + stage, 1"),
        words=("than the 1",),
    ),
    init(
        "empty_for_threads",
        "As many arrivals as there are threads.",
        swap("empty + stage, warps", "empty + stage, 32 * warps"),
        words=("lacks 248 of 256 arrivals",),
    ),
    init(
        "empty_for_stages",
        "The number of stages for that of warps.",
        swap("empty + stage, warps", "empty + stage, stages"),
    ),
    init(
        "empty_for_other_warps",
        "Without the producer, which multiplies, too.",
        swap("empty + stage, warps", "empty + stage, warps - 1"),
    ),
    init(
        "full_for_warps",
        "The producer arrives alone.",
        swap("full + stage, 1", "full + stage, warps"),
        words=("lacks 7 of 8 arrivals",),
    ),
    init(
        "full_for_two",
        "An arrival for each of A and B.",
        swap("full + stage, 1", "full + stage, 2"),
        words=("lacks 1 of 2 arrivals",),
    ),
    init(
        "counts_exchanged",
        "The one's count for the other.",
        swap("full + stage, 1", "full + stage, warps"),
        swap("empty + stage, warps", "empty + stage, 1"),
        words=("lacks 7 of 8 arrivals",),
    ),
    init("eight_warps", "As many warps as this kernel has.", swap("empty + stage, warps", "empty + stage, 8")),
    init("four_stages", "As many stages as this kernel has.", swap("range(stages)", "range(4)")),
    init("full_alone", "empty is left as it was.", swap(INIT_EMPTY, "")),
    init("empty_alone", "full is left as it was.", swap(INIT_FULL, "")),
    init("first_stage", "One pair of mbarriers.", swap("range(stages)", "range(1)")),
    init("one_stage_short", "The last stage has none.", swap("range(stages)", "range(stages - 1)")),
    init("init_unfenced", "TMA may not see it.", swap(INIT_FENCE, "")),
    init("fence_first", "The fence before what it is for.", swap(INIT_FENCE, ""), swap(IF, IF + INIT_FENCE)),
    init(
        "fence_by_another_thread",
        "Thread 1 fences what thread 0 has initialized.",
        swap(INIT_FENCE, ""),
        swap(MEET, f"    if thread == 1:\n{INIT_FENCE}{MEET}"),
        words=("that thread 0 of block 0 has initialized",),
    ),
    init(
        "fence_by_other_warps",
        "Every thread but the one that initializes.",
        swap(INIT_FENCE, f"    else:\n{INIT_FENCE}"),
    ),
    init(
        "fence_behind_the_barrier",
        "Another warp may load by then.",
        swap(INIT_FENCE, ""),
        swap(MEET, f"{MEET}\n    cute.arch.mbarrier_init_fence()"),
    ),
    init("fence_of_threads_alone", "A fence of memory, of no proxy.", swap("mbarrier_init_fence", "fence_acq_rel_cta")),
    init("no_meeting", "Others wait before it is there.", without(MEET)),
    init("the_warp_meets", "The other warps do not.", swap("sync_threads", "sync_warp")),
    init("meets_first", "The barrier before the initialization.", without(MEET), swap(IF, f"{MEET}\n{IF}")),
    init("meets_alone", "The barrier inside the `if`.", swap(MEET, f"    {MEET}")),
    init(
        "cluster_meets",
        "A barrier of the cluster, which is this block alone, after that of the block.",
        swap(MEET, f"{MEET}\n    cute.arch.cluster_arrive()\n    cute.arch.cluster_wait()"),
    ),
    init("meets_twice", "A barrier before, and one after.", swap(IF, f"{MEET}\n{IF}")),
]

# 13.12 one_stage ------------------------------------------------------------------------------------------------


@says("the course's one_stage")
@cute.jit
def the_courses_one_stage(steps):
    """Leans on the course's own."""
    one_stage(steps)


@says("not a @cute.jit function")
def not_compiled_loop(steps):
    """No @cute.jit."""


@says("is never multiplied")
@cute.jit
def no_steps(steps):
    """An empty loop."""


LOOP = "for k_tile in cutlass.range(steps.k_tiles, unroll=1):"
FILL = "        if steps.loads_too:\n            fill_stage(steps, k_tile, 0)\n"
WAIT = "cute.arch.mbarrier_wait(steps.full, k_tile % 2)"
ELECT = "    with cute.arch.elect_one():\n        cute.arch."
EXPECT = "mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)"
STAGE_0 = [
    the_courses_one_stage,
    not_compiled_loop,
    no_steps,
    in_one_stage("always_phase_0", "The first phase for all.", swap(WAIT, WAIT.replace("k_tile % 2", "0"))),
    in_one_stage("other_phase", "The phase before.", swap(WAIT, WAIT.replace("k_tile % 2", "(k_tile + 1) % 2"))),
    in_one_stage(
        "counts_phases",
        "Phases go on: 0, 1, 2.",
        swap(WAIT, WAIT.replace(" % 2", "")),
        words=("a wait is for a parity, 0 or 1",),
    ),
    in_one_stage("does_not_wait", "Multiplies at once.", without(WAIT)),
    in_one_stage("waits_too_late", "After the wgmmas.", move_last(WAIT, "multiply")),
    in_one_stage(
        "no_meeting_of_all",
        "Loads when its own warpgroup has read.",
        without("sync_threads"),
        words=("K tile 1 overwrites K tile 0",),
    ),
    in_one_stage(
        "a_meeting_of_the_warp",
        "sync_warp for sync_threads.",
        swap("sync_threads", "sync_warp"),
        words=("K tile 1 overwrites K tile 0",),
    ),
    in_one_stage(
        "meets_before_the_wait",
        "All have issued, none has waited.",
        move_last("wait_group(0)", "sync_threads"),
        words=("K tile 1 overwrites K tile 0",),
    ),
    in_one_stage(
        "leaves_one_in_flight",
        "wait_group(1): the only group may run on.",
        swap("wait_group(0)", "wait_group(1)"),
        words=("no wait_group(0) after it",),
    ),
    in_one_stage(
        "waits_after_the_loop",
        "One wait, at the end.",
        without("wait_group(0)"),
        swap("        cute.arch.sync_threads()", "        cute.arch.sync_threads()\n    warpgroup.wait_group(0)"),
        words=("K tile 1 overwrites K tile 0",),
    ),
    in_one_stage(
        "never_waits_for_wgmmas", "No wait_group.", without("wait_group(0)"), words=("no wait_group(0) after it",)
    ),
    in_one_stage("all_load", "Every warp loads.", swap("if steps.loads_too:", "if True:")),
    in_one_stage("never_loads", "No load.", swap(FILL, "")),
    in_one_stage("loads_once", "K tile 0 alone.", swap("if steps.loads_too:", "if steps.loads_too and k_tile == 0:")),
    in_one_stage(
        "loads_ahead",
        "A K tile that there is not yet room for.",
        swap("fill_stage(steps, k_tile, 0)", "fill_stage(steps, k_tile + 1, 0)"),
        words=("load(1, 0): of 1 K tile",),
    ),
    in_one_stage(
        "uses_other_stages",
        "A stage for each K tile.",
        swap("fill_stage(steps, k_tile, 0)", "fill_stage(steps, k_tile, k_tile)"),
        words=("of 1 stage",),
    ),
    in_one_stage("always_first", "Each K tile forgets those before.", swap("k_tile == 0", "True")),
    in_one_stage("never_first", "Adds to what was there.", swap("k_tile == 0", "False")),
    in_one_stage("drops_the_last", "One K tile short.", swap(LOOP, LOOP.replace("k_tiles,", "k_tiles - 1,"))),
    in_one_stage(
        "unrolled", "The compiler's loop.", swap(LOOP, "for k_tile in cutlass.range_constexpr(steps.k_tiles):")
    ),
    in_one_stage(
        "cluster_meets_in_a_step",
        "A barrier of the cluster, too.",
        swap(
            "        steps.multiply(",
            "        cute.arch.cluster_arrive()\n        cute.arch.cluster_wait()\n        steps.multiply(",
        ),
    ),
    in_one_stage(
        "meets_twice_in_a_step",
        "A barrier before the multiplication, too.",
        swap(f"        {WAIT}", f"        {WAIT}\n        cute.arch.sync_threads()"),
    ),
    in_one_stage("announces_nothing", "Loads without an arrival.", swap(f"{ELECT}{EXPECT}\n", ""), within="fill_stage"),
    in_one_stage(
        "announces_by_all_lanes",
        "32 arrivals for 1.",
        swap(f"{ELECT}{EXPECT}", f"    cute.arch.{EXPECT}"),
        within="fill_stage",
        words=("all 32 lanes",),
    ),
    in_one_stage(
        "announces_elements",
        "Elements for bytes.",
        swap("steps.stage_bytes", "steps.stage_bytes // 2"),
        within="fill_stage",
    ),
    in_one_stage(
        "announces_a_number",
        "The bytes of 128×256 with 64 of K, whatever the tile is.",
        swap("steps.stage_bytes", "49_152"),
        within="fill_stage",
        words=("49,152 are expected, 40,960 have landed",),
    ),
    in_one_stage(
        "announces_on_stage_0",
        "The bytes of every stage.",
        swap("steps.full + stage", "steps.full"),
        within="fill_stage",
        words=("right for stage 0 alone",),
    ),
    in_one_stage(
        "loads_stage_0",
        "Whatever the stage.",
        swap("steps.load(k_tile, stage)", "steps.load(k_tile, 0)"),
        within="fill_stage",
    ),
    in_one_stage("waits_twice", "For one phase.", swap(f"        {WAIT}", f"        {WAIT}\n        {WAIT}")),
    in_one_stage(
        "loads_by_one_lane",
        "The load below elect_one.",
        swap("    steps.load", "        steps.load"),
        within="fill_stage",
    ),
]

WRONG = {"13.10": GROUPS, "13.11": INITS, "13.12": STAGE_0}
