"""Wrong answers to notebook 13's main loop: each is told by a rehearsal, with its line and what happens there first."""

from tests.pages.change import Change, derive, move_last, swap, without, without_last
from tests.pages.n13_hopper_gemm.hopper_loops import OTHERWISE
from tests.pages.n13_hopper_gemm.right_hopper_loops import counts_by_itself, flips_its_phase
from tests.pages.table import says
from tutorlib.kernels.hopper.first_parts import main_loop


def loop(name: str, what: str, words: tuple[str, ...] | str, *changes: Change, within: str = "", of=main_loop):
    """The course's loop with a change. words: of the message."""
    return says(*([words] if isinstance(words, str) else words))(derive(of, name, what, *changes, within=within))


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
        "waits_for_the_other_phase",
        "Full of the round before.",
        ("line", "was for phase 1 and passed at once", "when phase 0 is complete"),
        swap(WAIT_FULL, WAIT_FULL.replace("state.phase", "state.phase ^ 1"), times=2),
    ),
    loop(
        "a_producers_state",
        "A phase that starts at 1.",
        ("reads stage 0, where K tile 0 may not have landed yet", "passed at once"),
        swap("UserType.Consumer", "UserType.Producer"),
    ),
    loop(
        "always_phase_0",
        "The first round's phase forever.",
        ("K tile 0, in stage 0, is multiplied twice", "passed at once"),
        swap(WAIT_FULL, WAIT_FULL.replace("state.phase", "0"), times=2),
    ),
    loop(
        "turns_in_every_step",
        "The K tile's parity for the round's.",
        "phase 1",
        swap(", k_tile // steps.stages % 2", ", k_tile % 2"),
        of=counts_by_itself,
    ),
    loop(
        "turns_by_hand_one_late",
        "Flips the phase behind the stage that needs the new one.",
        "K tile 0, in stage 0, is multiplied twice",
        swap("            index = 0\n            phase ^= 1\n", "            index = 0\n"),
        swap("        k_tile += 1", "        phase ^= 1 // (index + 1)\n        k_tile += 1"),
        of=flips_its_phase,
    ),
    loop(
        "empty_as_a_producer_waits",
        "The parity of the round before: that wait passes at once.",
        ("K tile 2 overwrites K tile 0 in stage 0", "was for phase 1 and passed at once", "when phase 0 is complete"),
        swap("before.phase)", "before.phase ^ 1)"),
    ),
    loop(
        "empty_of_this_step",
        "The parity of the step after, which differs when the ring wraps.",
        "overwrite",
        swap("before.phase)", "state.phase)"),
    ),
    loop(
        "counts_rounds_for_a_parity",
        "Rounds go on: 0, 1, 2.",
        "phase 2: a wait is for a parity, 0 or 1",
        swap("state.phase)", "state.count // steps.stages)", times=2),
    ),
    loop(
        "a_copy_that_is_none",
        "The same state under another name, and not a clone.",
        "while the wgmma of K tile 1 may still read it",
        swap("state.clone()", "state"),
    ),
    loop(
        "never_advances", "Waits for stage 0 forever.", "K tile 0, in stage 0, is multiplied twice", without("advance")
    ),
]

ARRIVALS = [
    loop(
        "expects_a_alone",
        "Announces fewer bytes than come.",
        ("expect_tx", "16,384 bytes are expected", "reads stage 0, where K tile 0 may not have landed yet"),
        swap("steps.stage_bytes", "steps.stage_bytes // 3"),
        within="fill_stage",
    ),
    loop(
        "expects_b_alone",
        "The box of B.",
        ("32,768 bytes are expected", "have 49,152"),
        swap("steps.stage_bytes", "256 * 64 * 2"),
        within="fill_stage",
    ),
    loop(
        "expects_elements",
        "Elements for bytes.",
        "24,576 bytes are expected",
        swap("steps.stage_bytes", "(128 + 256) * 64"),
        within="fill_stage",
    ),
    loop(
        "expects_all_stages",
        "The bytes of the whole ring.",
        ("deadlock", "have landed"),
        swap("steps.stage_bytes", "steps.stages * steps.stage_bytes"),
        within="fill_stage",
    ),
    loop(
        "announces_nothing",
        "Loads without an arrival.",
        ("deadlock", "lacks its arrival and an expect_tx of the 49,152 bytes"),
        swap(f"    {ELECT}\n        cute.arch.{EXPECT}\n", ""),
        within="fill_stage",
    ),
    loop(
        "arrives_without_bytes",
        "An ordinary arrival.",
        ("complete too early, when 0 bytes are expected", "reads stage 0"),
        swap(EXPECT, "mbarrier_arrive(steps.full + stage)"),
        within="fill_stage",
    ),
    loop(
        "expects_without_arriving",
        "expect_tx alone.",
        ("deadlock", "which lacks its arrival"),
        swap("mbarrier_arrive_and_expect_tx", "mbarrier_expect_tx"),
        within="fill_stage",
    ),
    loop(
        "announces_in_the_loop_alone",
        "Forgets it where stages are first filled.",
        ("deadlock", "expect_tx of the 49,152 bytes"),
        swap("fill_stage(steps, k_tile, k_tile)", "steps.load(k_tile, k_tile)"),
    ),
    loop(
        "announces_the_first_round_alone",
        "Forgets it where stages are filled again.",
        ("deadlock", "expect_tx of the 49,152 bytes"),
        swap("fill_stage(steps, ahead, before.index)", "steps.load(ahead, before.index)"),
    ),
    loop(
        "announces_on_empty",
        "The other barrier.",
        ("deadlock", "empty[0]"),
        swap("expect_tx(steps.full", "expect_tx(steps.empty"),
        within="fill_stage",
    ),
    loop(
        "announces_stage_0",
        "The first barrier for all.",
        "the next load would overwrite K tile 0 in stage 0",
        swap("steps.full + stage,", "steps.full,"),
        within="fill_stage",
    ),
    loop(
        "every_lane_announces",
        "32 arrivals for 1.",
        ("all 32 lanes", "elect_one()"),
        swap(f"    {ELECT}\n        cute.arch", "    if True:\n        cute.arch"),
        within="fill_stage",
    ),
    loop(
        "loads_by_one_lane",
        "The load below elect_one.",
        "elects its thread itself",
        swap("    steps.load", "        steps.load"),
        within="fill_stage",
    ),
    loop(
        "never_frees",
        "No arrival on empty.",
        ("deadlock", "empty[0], which lacks all 8 arrivals"),
        swap(FREE_ELECTED, ""),
    ),
    loop(
        "the_loading_warp_frees",
        "One arrival for 8.",
        ("deadlock", "empty[0]", "lacks 7 of 8 arrivals"),
        swap(FREE_ELECTED, f"        if steps.loads_too:\n            {ELECT}\n                {FREE}\n"),
    ),
    loop(
        "every_lane_frees",
        "256 arrivals for 8.",
        ("empty[0] awaits 8 arrivals", "elect_one()"),
        swap(FREE_ELECTED, f"        {FREE}\n"),
    ),
    loop("frees_stage_0", "The first barrier for all.", "empty", swap(FREE, "cute.arch.mbarrier_arrive(steps.empty)")),
    loop(
        "frees_full",
        "The other barrier.",
        "which is for loads",
        swap(FREE, FREE.replace("empty", "full")),
    ),
    loop(
        "frees_this_step",
        "The stage that has just been begun.",
        ("frees stage 1, where the wgmma of K tile 1 is in flight",),
        swap(FREE, FREE.replace("before", "state")),
    ),
    loop(
        "frees_when_it_is_too_late",
        "Waits for empty before it has arrived itself.",
        ("deadlock", "lacks 1 of 8 arrivals"),
        swap(FREE_ELECTED, ""),
        swap(
            "            fill_stage(steps, ahead, before.index)\n",
            f"            fill_stage(steps, ahead, before.index)\n{FREE_ELECTED}",
        ),
    ),
]

STAGES = [
    loop(
        "overwrites_a_stage",
        "Does not wait for empty.",
        ("`steps.load(k_tile, stage)`: K tile 2 overwrites K tile 0 in stage 0", "no wait for empty[0]"),
        without("steps.empty + before.index, before.phase"),
    ),
    loop(
        "waits_for_full_again",
        "full for empty: that phase is over.",
        ("K tile 2 overwrites K tile 0 in stage 0", "no wait for empty[0]"),
        swap(WAIT_EMPTY, WAIT_EMPTY.replace("empty", "full")),
    ),
    loop(
        "waits_behind_the_load",
        "Sends, and then waits for empty.",
        ("K tile 2 overwrites K tile 0 in stage 0",),
        swap(
            f"            {WAIT_EMPTY}\n            fill_stage(steps, ahead, before.index)",
            f"            fill_stage(steps, ahead, before.index)\n            {WAIT_EMPTY}",
        ),
    ),
    loop(
        "fills_the_next_stage",
        "Loads into the stage that is being read.",
        ("overwrites K tile 1 in stage 1", "no wait for empty[1]"),
        swap("fill_stage(steps, ahead, before.index)", "fill_stage(steps, ahead, state.index)"),
    ),
    loop(
        "a_k_tile_for_a_stage",
        "The K tile's number for the stage's.",
        "of 2 stages, 0 to 1 exist",
        swap("fill_stage(steps, ahead, before.index)", "fill_stage(steps, ahead, ahead)"),
    ),
    loop(
        "fills_all_stages_always",
        "More stages than K has tiles.",
        "load(1, 1): of 1 K tile, 0 to 0 exist",
        swap(FIRST, "steps.stages"),
    ),
    loop(
        "fills_four_stages",
        "The page's own number of stages.",
        "of 2 stages",
        swap(FIRST, "cutlass.min(4, steps.k_tiles)"),
    ),
    loop(
        "fills_one_stage_less",
        "The first round is one short.",
        ("deadlock", "full[1], which lacks its arrival"),
        swap(FIRST, "cutlass.min(steps.stages - 1, steps.k_tiles)"),
    ),
    loop(
        "all_warps_wait_for_empty",
        "Only the warp that overwrites the stage must know that it has been read.",
        ("it is safe, but line", "warps that load nothing wait for `empty`"),
        swap(
            f"        if steps.loads_too and ahead < steps.k_tiles:\n            {WAIT_EMPTY}\n            fill",
            f"        if ahead < steps.k_tiles:\n            {WAIT_EMPTY}\n            if steps.loads_too:\n                fill",
        ),
    ),
    loop(
        "unrolled",
        "A loop over K tiles that the compiler unrolls.",
        ("line", "the compiler unrolls range_constexpr"),
        swap("cutlass.range(1, steps.k_tiles, unroll=1)", "cutlass.range_constexpr(1, steps.k_tiles)"),
    ),
    loop("all_warps_load", "No loads_too.", "steps.loads_too", swap("steps.loads_too and ahead", "ahead")),
    loop("all_warps_fill", "No loads_too before the loop.", "steps.loads_too", swap("if steps.loads_too:", "if True:")),
    loop(
        "loads_for_ever", "K tiles that there are not.", "K tiles, 0 to 1 exist", swap(" and ahead < steps.k_tiles", "")
    ),
    loop("one_ahead", "A K tile too far.", "deadlock", swap("k_tile - 1 + steps.stages", "k_tile + steps.stages")),
    loop(
        "one_behind",
        "A K tile that is there already.",
        "K tile 1 is loaded twice",
        swap("k_tile - 1 + steps.stages", "k_tile - 2 + steps.stages"),
    ),
    loop(
        "one_short",
        "Drops the last K tile.",
        "K tile 1 is never multiplied",
        swap("cutlass.range(1, steps.k_tiles,", "cutlass.range(1, steps.k_tiles - 1,"),
    ),
    loop(
        "begins_again",
        "K tile 0 once more in the loop.",
        "deadlock",
        swap("cutlass.range(1, steps.k_tiles,", "cutlass.range(0, steps.k_tiles,"),
    ),
]

WGMMAS = [
    loop(
        "no_last_wait",
        "The accumulators are read while wgmmas still write them.",
        "no wait_group(0) after it",
        without("wait_group(0)"),
    ),
    loop(
        "one_left_at_the_end",
        "The last group may be in flight.",
        "no wait_group(0) after it",
        swap("wait_group(0)", "wait_group(1)"),
    ),
    loop(
        "frees_too_early",
        "Arrives for a stage that wgmmas still read.",
        ("frees stage 0 while the wgmma of K tile 0 may still read it",),
        swap("wait_group(1)", "wait_group(2)"),
    ),
    loop(
        "frees_before_the_wait",
        "The arrival, and then the wait.",
        "frees stage 0 while the wgmma of K tile 0 may still read it",
        without("wait_group(1)"),
        swap(FREE_ELECTED, f"{FREE_ELECTED}        warpgroup.wait_group(1)\n"),
    ),
    loop("never_waits_in_the_loop", "Arrives at once.", "may still read it", without("wait_group(1)")),
    loop(
        "adds_to_garbage",
        "Keeps what was in the registers.",
        "needs `first`",
        swap("multiply(state.index, True)", "multiply(state.index, False)"),
    ),
    loop(
        "forgets_in_every_step",
        "Each K tile forgets those before.",
        "discards the accumulators of K tile 0",
        swap("multiply(state.index, False)", "multiply(state.index, True)"),
    ),
    loop(
        "frees_its_last_stage_early",
        "Arrives for the last stage before the last wgmma is over; harmless only because no load follows.",
        "frees stage 0 while the wgmma of K tile 0 may still read it",
        swap("    warpgroup.wait_group(0)", f"{LAST_FREE}\n    warpgroup.wait_group(0)"),
    ),
    loop(
        "does_not_wait_for_full",
        "Multiplies what has been sent for.",
        ("reads stage 1, where K tile 1 may not have landed yet", "no wait for full[1]"),
        without_last(WAIT_FULL),
    ),
    loop(
        "waits_for_full_behind_the_wgmma",
        "Too late.",
        "may not have landed yet",
        move_last(WAIT_FULL, "multiply(state.index, False)"),
    ),
    loop(
        "waits_for_this_stage_again",
        "The clone's barrier for the state's.",
        "no wait for full[1]",
        swap(f"{NEXT}        {WAIT_FULL}", f"{NEXT}        {WAIT_FULL.replace('state', 'before')}"),
    ),
    loop(
        "wgmma_of_one_lane",
        "multiply below elect_one.",
        "wgmma needs all threads",
        swap(
            "        steps.multiply(state.index, False)",
            f"        {ELECT}\n            steps.multiply(state.index, False)",
        ),
    ),
    loop(
        "commits_again",
        "multiply has committed: the second group is empty, and wait_group(1) waits for the other one.",
        "all others are over",
        swap("        warpgroup.wait_group(1)", "        warpgroup.commit_group()\n        warpgroup.wait_group(1)"),
    ),
    loop(
        "meets_at_the_end",
        "A barrier of the block that nothing needs.",
        "96 are enough",
        swap("    warpgroup.wait_group(0)", "    warpgroup.wait_group(0)\n    cute.arch.sync_threads()"),
    ),
    loop(
        "in_step",
        "Right, and the tensor cores pause after every K tile.",
        "all others are over",
        swap("wait_group(1)", "wait_group(0)"),
    ),
]

WRONG = {"13.7": [*PHASES, *ARRIVALS, *STAGES, *WGMMAS, *OTHERWISE]}
