"""Wrong answers to notebook 15: pairs of blocks."""

from tests.pages.change import derive, swap
from tests.pages.n15_blackwell_gemm.blackwell_epilogues import AWAIT_READ
from tests.pages.n15_blackwell_gemm.blackwell_loops import WAIT_EMPTY, WAIT_READY, loops
from tutorlib.kernels.blackwell.loops import multiply_tiles, produce_tiles, store_tiles

PAIRS = [
    loops(
        "both_announce",
        "Block 1 announces, too, where nothing comes.",
        "where none arrive",
        produce=derive(produce_tiles, "both_announce", "", swap("if steps.leads:", "if True:")),
    ),
    loops(
        "both_multiply",
        "Both MMA warps issue.",
        "deadlock",
        "the MMA warp of block 1 waits for phase 0 of full[0] of block 1",
        multiply=derive(multiply_tiles, "both_multiply", "", swap("if steps.leads:", "if True:")),
    ),
    loops(
        "empty_at_home",
        "Block 1 never hears that its stage has been read.",
        "deadlock",
        "of block 1",
        multiply=derive(multiply_tiles, "empty_at_home", "", swap("steps.whole_cluster", "1")),
    ),
    loops(
        "ready_at_home",
        "Block 1's epilogue waits forever.",
        "deadlock",
        "ready[0] of block 1",
        multiply=derive(multiply_tiles, "ready_at_home", "", swap("steps.both", "1")),
    ),
    loops(
        "free_at_home",
        "Each block frees its own, and the leader waits forever.",
        "deadlock",
        "free[0] of block 0",
        store=derive(store_tiles, "free_at_home", "", swap("acc.index, steps.leader)", "acc.index)")),
    ),
    loops(
        "commit_of_one",
        "A commit that does not track a pair's multiplications.",
        "tcgen05.CtaGroup.TWO",
        multiply=derive(
            multiply_tiles,
            "commit_of_one",
            "",
            swap("tcgen05.CtaGroup.TWO", "tcgen05.CtaGroup.ONE"),
            within="commit_to",
        ),
    ),
    loops(
        "half_the_bytes",
        "Announces one block's bytes.",
        "complete too early",
        produce=derive(produce_tiles, "half_the_bytes", "", swap("steps.stage_bytes", "steps.stage_bytes // 2")),
    ),
    loops(
        "released_too_early",
        "Block 1 does not wait for empty: its stage is still being read.",
        "of block 1",
        "overwrites K tile",
        produce=derive(
            produce_tiles,
            "released_too_early",
            "",
            swap(f"            {WAIT_EMPTY}\n", f"            if steps.leads:\n                {WAIT_EMPTY}\n"),
        ),
    ),
    loops(
        "leader_loads_alone",
        "Block 1 loads nothing.",
        "deadlock",
        produce=derive(
            produce_tiles,
            "leader_loads_alone",
            "",
            swap(
                "            steps.load(number, k_tile, state.index)\n",
                "            if steps.leads:\n                steps.load(number, k_tile, state.index)\n",
            ),
        ),
    ),
    loops(
        "both_announce_at_the_leader",
        "Two announcements, where one ends the phase.",
        produce=derive(
            produce_tiles,
            "both_announce_at_the_leader",
            "",
            swap("if steps.leads:", "if True:"),
            swap(
                "steps.full + state.index, steps.stage_bytes)",
                "steps.full + state.index, steps.stage_bytes // 2, steps.leader)",
            ),
        ),
    ),
    loops(
        "other_leads",
        "The second block multiplies.",
        multiply=derive(multiply_tiles, "other_leads", "", swap("if steps.leads:", "if steps.leads == False:")),
    ),
    loops(
        "mask_of_the_other",
        "Commits to block 1 alone.",
        multiply=derive(multiply_tiles, "mask_of_the_other", "", swap("steps.whole_cluster", "2")),
    ),
    loops(
        "mask_of_three",
        "A mask of blocks that are not there.",
        multiply=derive(multiply_tiles, "mask_of_three", "", swap("steps.both", "7")),
    ),
    loops(
        "mask_of_the_first_pair",
        "3 for steps.both: right in the first pair of a cluster alone.",
        "2 parts, blocks 2 and 3 of a cluster:",
        "names block 0 of the cluster, and here the pair is blocks 2 and 3: steps.both",
        multiply=derive(
            multiply_tiles, "mask_of_the_first_pair", "", swap("steps.whole_cluster", "3"), swap("steps.both", "3")
        ),
    ),
    loops(
        "block_0_as_the_leader",
        "0 for steps.leader.",
        "names block 0 of the cluster, and here the pair is blocks 2 and 3: steps.leader",
        store=derive(store_tiles, "block_0_as_the_leader", "", swap("steps.leader)", "0)")),
    ),
    loops(
        "ready_and_empty_alone",
        "The loops for one block, in a pair.",
        multiply=derive(
            multiply_tiles,
            "ready_and_empty_alone",
            "",
            swap("tcgen05.commit(barrier, blocks, tcgen05.CtaGroup.TWO)", "tcgen05.commit(barrier)"),
            within="commit_to",
        ),
    ),
    loops(
        "leader_frees_alone",
        "Block 1's epilogue says nothing.",
        "of 8 arrivals",
        store=derive(
            store_tiles,
            "leader_frees_alone",
            "",
            swap("if part == steps.parts - 1:", "if part == steps.parts - 1 and steps.leads:"),
        ),
    ),
    loops(
        "leader_waits_alone_for_ready",
        "Block 1 reads accumulators that are not there.",
        store=derive(
            store_tiles,
            "leader_waits_alone_for_ready",
            "",
            swap(f"        {WAIT_READY}\n", f"        if steps.leads:\n            {WAIT_READY}\n"),
        ),
    ),
    loops(
        "every_other_tile",
        "The blocks take turns, as if each had tiles of its own.",
        produce=derive(
            produce_tiles,
            "every_other_tile",
            "",
            swap("steps.load(number,", "steps.load(number // 2 * 2,"),
        ),
    ),
    loops(
        "another_order",
        "The loops in another order.",
        "which is another role's",
        produce=store_tiles,
        store=produce_tiles,
    ),
    loops(
        "frees_in_both_blocks",
        "Block 1's free, too, for which no warp waits.",
        "for which no warp waits",
        store=derive(
            store_tiles,
            "frees_in_both_blocks",
            "",
            swap(
                "cute.arch.mbarrier_arrive(steps.free + acc.index, steps.leader)",
                "cute.arch.mbarrier_arrive(steps.free + acc.index, steps.leader)\n"
                "                    cute.arch.mbarrier_arrive(steps.free + acc.index, steps.leader + 1)",
            ),
        ),
    ),
    loops(
        "waits_twice_in_a_pair",
        "One wait covers the tcgen05.ld before it.",
        "tcgen05.wait::ld instructions",
        store=derive(
            store_tiles, "waits_twice_in_a_pair", "", swap(AWAIT_READ, f"{AWAIT_READ}\n            {AWAIT_READ}")
        ),
    ),
    loops("two_of_a_kind", "The first loop twice.", "which is another role's", multiply=produce_tiles),
]

WRONG = {"15.8": PAIRS}
