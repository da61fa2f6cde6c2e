"""Wrong answers to notebook 13's main loop: each is told by a rehearsal, with its line and what happens there first."""

from functools import partial

from tests.pages.change import derive, move_last, swap, without, without_last
from tests.pages.n13_hopper_gemm.hopper_loops import OTHERWISE
from tests.pages.n13_hopper_gemm.right_hopper_loops import counts_by_itself, flips_its_phase
from tutorlib.kernels.hopper.first_parts import main_loop

loop = partial(derive, main_loop)
ELECT = "with cute.arch.elect_one():"
WAIT_FULL = "cute.arch.mbarrier_wait(steps.full + state.index, state.phase)"
WAIT_EMPTY = "cute.arch.mbarrier_wait(steps.empty + before.index, before.phase)"
EXPECT = "mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)"
FREE = "cute.arch.mbarrier_arrive(steps.empty + before.index)"
FREE_ELECTED = f"        {ELECT}\n            {FREE}\n"
LAST_FREE = f"    {ELECT}\n        {FREE.replace('before', 'state')}"
NEXT = "        before = state.clone()\n        state.advance()\n"
FIRST = "cutlass.min(steps.stages, steps.k_tiles)"

PHASES = [
    loop(
        "waits_twice_for_full",
        "One wait covers the phase.",
        swap(f"        {WAIT_FULL}\n", f"        {WAIT_FULL}\n        {WAIT_FULL}\n"),
        words=("has already waited for",),
    ),
    loop(
        "waits_for_the_other_phase",
        "Full of the round before.",
        swap(WAIT_FULL, WAIT_FULL.replace("state.phase", "state.phase ^ 1"), times=2),
        words=("was for phase 1 and passed at once", "when phase 0 is complete"),
    ),
    loop(
        "a_producers_state",
        "A phase that starts at 1.",
        swap("UserType.Consumer", "UserType.Producer"),
        words=("reads stage 0, where K tile 0 may not have landed yet",),
    ),
    loop(
        "always_phase_0",
        "The first round's phase forever.",
        swap(WAIT_FULL, WAIT_FULL.replace("state.phase", "0"), times=2),
        words=("K tile 0, in stage 0, is multiplied twice",),
    ),
    derive(
        counts_by_itself,
        "turns_in_every_step",
        "The K tile's parity for the round's.",
        swap(", k_tile // steps.stages % 2", ", k_tile % 2"),
        words=("phase 1",),
    ),
    derive(
        flips_its_phase,
        "turns_by_hand_one_late",
        "Flips the phase behind the stage that needs the new one.",
        swap("            index = 0\n            phase ^= 1\n", "            index = 0\n"),
        swap("        k_tile += 1", "        phase ^= 1 // (index + 1)\n        k_tile += 1"),
        words=("K tile 0, in stage 0, is multiplied twice",),
    ),
    loop(
        "empty_as_a_producer_waits",
        "The parity of the round before: that wait passes at once.",
        swap("before.phase)", "before.phase ^ 1)"),
        words=(
            "K tile 2 overwrites K tile 0 in stage 0",
            "was for phase 1 and passed at once",
            "when phase 0 is complete",
        ),
    ),
    loop(
        "empty_of_this_step",
        "The parity of the step after, which differs when the ring wraps.",
        swap("before.phase)", "state.phase)"),
    ),
    loop(
        "counts_rounds_for_a_parity",
        "Rounds go on: 0, 1, 2.",
        swap("state.phase)", "state.count // steps.stages)", times=2),
        words=("phase 2: a wait is for a parity, 0 or 1",),
    ),
    loop(
        "a_copy_that_is_none",
        "The same state under another name, and not a clone.",
        swap("state.clone()", "state"),
        words=("while the wgmma of K tile 1 may still read it",),
    ),
    loop(
        "never_advances",
        "Waits for stage 0 forever.",
        without("advance"),
        words=("K tile 0, in stage 0, is multiplied twice",),
    ),
]

ARRIVALS = [
    loop(
        "expects_a_alone",
        "Announces fewer bytes than come.",
        swap("steps.stage_bytes", "steps.stage_bytes // 3"),
        within="fill_stage",
        words=("16,384 bytes are expected", "reads stage 0, where K tile 0 may not have landed yet"),
    ),
    loop(
        "expects_b_alone",
        "The box of B.",
        swap("steps.stage_bytes", "256 * 64 * 2"),
        within="fill_stage",
        words=("32,768 bytes are expected", "have 49,152"),
    ),
    loop(
        "expects_elements",
        "Elements for bytes.",
        swap("steps.stage_bytes", "(128 + 256) * 64"),
        within="fill_stage",
        words=("24,576 bytes are expected",),
    ),
    loop(
        "expects_all_stages",
        "The bytes of the whole ring.",
        swap("steps.stage_bytes", "steps.stages * steps.stage_bytes"),
        within="fill_stage",
    ),
    loop(
        "announces_nothing",
        "Loads without an arrival.",
        swap(f"    {ELECT}\n        cute.arch.{EXPECT}\n", ""),
        within="fill_stage",
        words=("lacks its arrival and an expect_tx of the 49,152 bytes",),
    ),
    loop(
        "arrives_without_bytes",
        "An ordinary arrival.",
        swap(EXPECT, "mbarrier_arrive(steps.full + stage)"),
        within="fill_stage",
        words=("complete too early, when 0 bytes are expected", "reads stage 0"),
    ),
    loop(
        "expects_without_arriving",
        "expect_tx alone.",
        swap("mbarrier_arrive_and_expect_tx", "mbarrier_expect_tx"),
        within="fill_stage",
    ),
    loop(
        "announces_in_the_loop_alone",
        "Forgets it where stages are first filled.",
        swap("fill_stage(steps, k_tile, k_tile)", "steps.load(k_tile, k_tile)"),
        words=("expect_tx of the 49,152 bytes",),
    ),
    loop(
        "announces_the_first_round_alone",
        "Forgets it where stages are filled again.",
        swap("fill_stage(steps, ahead, before.index)", "steps.load(ahead, before.index)"),
        words=("expect_tx of the 49,152 bytes",),
    ),
    loop(
        "announces_on_empty",
        "The other barrier.",
        swap("expect_tx(steps.full", "expect_tx(steps.empty"),
        within="fill_stage",
        words=("empty[0]",),
    ),
    loop(
        "announces_stage_0",
        "The first barrier for all.",
        swap("steps.full + stage,", "steps.full,"),
        within="fill_stage",
        words=("the next load would overwrite K tile 0 in stage 0",),
    ),
    loop(
        "every_lane_announces",
        "32 arrivals for 1.",
        swap(f"    {ELECT}\n        cute.arch", "    if True:\n        cute.arch"),
        within="fill_stage",
        words=("all 32 lanes",),
    ),
    loop(
        "loads_by_one_lane",
        "The load below elect_one.",
        swap("    steps.load", "        steps.load"),
        within="fill_stage",
    ),
    loop(
        "never_frees", "No arrival on empty.", swap(FREE_ELECTED, ""), words=("empty[0], which lacks all 8 arrivals",)
    ),
    loop(
        "the_loading_warp_frees",
        "One arrival for 8.",
        swap(FREE_ELECTED, f"        if steps.loads_too:\n            {ELECT}\n                {FREE}\n"),
        words=("empty[0]", "lacks 7 of 8 arrivals"),
    ),
    loop(
        "every_lane_frees",
        "256 arrivals for 8.",
        swap(FREE_ELECTED, f"        {FREE}\n"),
        words=("empty[0] awaits 8 arrivals",),
    ),
    loop("frees_stage_0", "The first barrier for all.", swap(FREE, "cute.arch.mbarrier_arrive(steps.empty)")),
    loop(
        "frees_relaxed",
        "An arrival that does not release.",
        swap(FREE, f"{FREE[:-1]}, relaxed=True)"),
        words=("a relaxed arrival does not release what came before it",),
    ),
    loop(
        "frees_the_last_stages_twice",
        "A second arrival for each stage that no load waits for.",
        swap(
            f"            {FREE}",
            f"            {FREE}\n            if k_tile - 1 + steps.stages >= steps.k_tiles:\n                {FREE}",
        ),
        words=("take 8: a warp frees a stage once",),
    ),
    loop("frees_full", "The other barrier.", swap(FREE, FREE.replace("empty", "full"))),
    loop(
        "frees_this_step",
        "The stage that has just been begun.",
        swap(FREE, FREE.replace("before", "state")),
        words=("frees stage 1, where the wgmma of K tile 1 is in flight",),
    ),
    loop(
        "frees_when_it_is_too_late",
        "Waits for empty before it has arrived itself.",
        swap(FREE_ELECTED, ""),
        swap(
            "            fill_stage(steps, ahead, before.index)\n",
            f"            fill_stage(steps, ahead, before.index)\n{FREE_ELECTED}",
        ),
        words=("lacks 1 of 8 arrivals",),
    ),
]

STAGES = [
    loop(
        "overwrites_a_stage",
        "Does not wait for empty.",
        without("steps.empty + before.index, before.phase"),
        words=("`steps.load(k_tile, stage)`: K tile 2 overwrites K tile 0 in stage 0", "no wait for empty[0]"),
    ),
    loop(
        "waits_for_full_again",
        "full for empty: that phase is over.",
        swap(WAIT_EMPTY, WAIT_EMPTY.replace("empty", "full")),
        words=("K tile 2 overwrites K tile 0 in stage 0", "no wait for empty[0]"),
    ),
    loop(
        "waits_behind_the_load",
        "Sends, and then waits for empty.",
        swap(
            f"            {WAIT_EMPTY}\n            fill_stage(steps, ahead, before.index)",
            f"            fill_stage(steps, ahead, before.index)\n            {WAIT_EMPTY}",
        ),
        words=("K tile 2 overwrites K tile 0 in stage 0",),
    ),
    loop(
        "fills_the_next_stage",
        "Loads into the stage that is being read.",
        swap("fill_stage(steps, ahead, before.index)", "fill_stage(steps, ahead, state.index)"),
        words=("overwrites K tile 1 in stage 1", "no wait for empty[1]"),
    ),
    loop(
        "a_k_tile_for_a_stage",
        "The K tile's number for the stage's.",
        swap("fill_stage(steps, ahead, before.index)", "fill_stage(steps, ahead, ahead)"),
        words=("of 2 stages, 0 to 1 exist",),
    ),
    loop(
        "fills_all_stages_always",
        "More stages than K has tiles.",
        swap(FIRST, "steps.stages"),
        words=("load(1, 1): of 1 K tile, 0 to 0 exist",),
    ),
    loop(
        "fills_four_stages",
        "The page's own number of stages.",
        swap(FIRST, "cutlass.min(4, steps.k_tiles)"),
        words=("of 2 stages",),
    ),
    loop(
        "fills_one_stage_less",
        "The first round is one short.",
        swap(FIRST, "cutlass.min(steps.stages - 1, steps.k_tiles)"),
        words=("full[1], which lacks its arrival",),
    ),
    loop(
        "all_warps_wait_for_empty",
        "Only the warp that overwrites the stage must know that it has been read.",
        swap(
            f"        if steps.loads_too and ahead < steps.k_tiles:\n            {WAIT_EMPTY}\n            fill",
            f"        if ahead < steps.k_tiles:\n            {WAIT_EMPTY}\n            if steps.loads_too:\n                fill",
        ),
    ),
    loop(
        "unrolled",
        "A loop over K tiles that the compiler unrolls.",
        swap("cutlass.range(1, steps.k_tiles, unroll=1)", "cutlass.range_constexpr(1, steps.k_tiles)"),
    ),
    loop("all_warps_load", "No loads_too.", swap("steps.loads_too and ahead", "ahead")),
    loop("all_warps_fill", "No loads_too before the loop.", swap("if steps.loads_too:", "if True:")),
    loop(
        "loads_for_ever",
        "K tiles that there are not.",
        swap(" and ahead < steps.k_tiles", ""),
        words=("K tiles, 0 to 1 exist",),
    ),
    loop("one_ahead", "A K tile too far.", swap("k_tile - 1 + steps.stages", "k_tile + steps.stages")),
    loop(
        "one_behind",
        "A K tile that is there already.",
        swap("k_tile - 1 + steps.stages", "k_tile - 2 + steps.stages"),
        words=("K tile 1 is loaded twice",),
    ),
    loop(
        "one_short",
        "Drops the last K tile.",
        swap("cutlass.range(1, steps.k_tiles,", "cutlass.range(1, steps.k_tiles - 1,"),
        words=("K tile 1 is never multiplied",),
    ),
    loop(
        "begins_again",
        "K tile 0 once more in the loop.",
        swap("cutlass.range(1, steps.k_tiles,", "cutlass.range(0, steps.k_tiles,"),
    ),
]

WGMMAS = [
    loop(
        "no_last_wait",
        "The accumulators are read while wgmmas still write them.",
        without("wait_group(0)"),
        words=("no wait_group(0) after it",),
    ),
    loop(
        "one_left_at_the_end",
        "The last group may be in flight.",
        swap("wait_group(0)", "wait_group(1)"),
        words=("no wait_group(0) after it",),
    ),
    loop(
        "frees_too_early",
        "Arrives for a stage that wgmmas still read.",
        swap("wait_group(1)", "wait_group(2)"),
        words=("frees stage 0 while the wgmma of K tile 0 may still read it",),
    ),
    loop(
        "frees_before_the_wait",
        "The arrival, and then the wait.",
        without("wait_group(1)"),
        swap(FREE_ELECTED, f"{FREE_ELECTED}        warpgroup.wait_group(1)\n"),
        words=("frees stage 0 while the wgmma of K tile 0 may still read it",),
    ),
    loop("never_waits_in_the_loop", "Arrives at once.", without("wait_group(1)")),
    loop(
        "adds_to_garbage",
        "Keeps what was in the registers.",
        swap("multiply(state.index, True)", "multiply(state.index, False)"),
    ),
    loop(
        "forgets_in_every_step",
        "Each K tile forgets those before.",
        swap("multiply(state.index, False)", "multiply(state.index, True)"),
        words=("discards the accumulators of K tile 0",),
    ),
    loop(
        "frees_its_last_stage_early",
        "Arrives for the last stage before the last wgmma is over; harmless only because no load follows.",
        swap("    warpgroup.wait_group(0)", f"{LAST_FREE}\n    warpgroup.wait_group(0)"),
        words=("frees stage 0 while the wgmma of K tile 0 may still read it",),
    ),
    loop(
        "does_not_wait_for_full",
        "Multiplies what has been sent for.",
        without_last(WAIT_FULL),
        words=("reads stage 1, where K tile 1 may not have landed yet", "no wait for full[1]"),
    ),
    loop("waits_for_full_behind_the_wgmma", "Too late.", move_last(WAIT_FULL, "multiply(state.index, False)")),
    loop(
        "waits_for_this_stage_again",
        "The clone's barrier for the state's.",
        swap(f"{NEXT}        {WAIT_FULL}", f"{NEXT}        {WAIT_FULL.replace('state', 'before')}"),
        words=("no wait for full[1]",),
    ),
    loop(
        "wgmma_of_one_lane",
        "multiply below elect_one.",
        swap(
            "        steps.multiply(state.index, False)",
            f"        {ELECT}\n            steps.multiply(state.index, False)",
        ),
    ),
    loop(
        "commits_again",
        "multiply has committed: the second group is empty, and wait_group(1) waits for the other one.",
        swap("        warpgroup.wait_group(1)", "        warpgroup.commit_group()\n        warpgroup.wait_group(1)"),
    ),
    loop(
        "cluster_meets",
        "A barrier of the cluster, which is this block alone, in each step.",
        swap(
            "        warpgroup.wait_group(1)",
            "        cute.arch.cluster_arrive()\n        cute.arch.cluster_wait()\n        warpgroup.wait_group(1)",
        ),
        words=("bar.sync/barrier instructions",),
    ),
    loop(
        "fences_in_each_step",
        "Two fences that nothing needs.",
        swap(
            "        warpgroup.wait_group(1)",
            '        cute.arch.fence_acq_rel_cta()\n        cute.arch.fence_proxy("async.shared", space="cta")\n'
            "        warpgroup.wait_group(1)",
        ),
        words=("fence instructions",),
    ),
    loop(
        "meets_at_the_end",
        "A barrier of the block that nothing needs.",
        swap("    warpgroup.wait_group(0)", "    warpgroup.wait_group(0)\n    cute.arch.sync_threads()"),
    ),
    loop("in_step", "Right, and the tensor cores pause after every K tile.", swap("wait_group(1)", "wait_group(0)")),
    loop(
        "in_step_by_lane",
        "The same, with a lane that is compared by <.",
        swap(ELECT, "if cute.arch.lane_idx() < 1:"),
        swap("wait_group(1)", "wait_group(0)"),
        words=("is issued, all others are over",),
    ),
    loop(
        "no_such_lane",
        "Lane 40 frees.",
        swap(ELECT, "if cute.arch.lane_idx() == 40:"),
        words=("phase 0 of empty[0], which lacks all 8 arrivals",),
    ),
]

WRONG = {"13.7": [*PHASES, *ARRIVALS, *STAGES, *WGMMAS, *OTHERWISE]}
