"""Wrong answers to notebook 15: the loops of the three roles."""

from tests.wrong.blackwell_loops import ANNOUNCE, FREE, WAIT_EMPTY, WAIT_FREE, WAIT_FULL, WAIT_READY, wrong
from tests.wrong.change import swap, without, without_first, without_last
from tutorlib.kernels.blackwell.loops import multiply_tiles, produce_tiles, store_tiles

PRODUCE = [
    wrong(
        produce_tiles,
        "overwrites",
        "No wait for empty.",
        swap(f"            {WAIT_EMPTY}\n", ""),
        "the next load overwrites K tile",
        "no wait for empty[0] before it",
    ),
    wrong(
        produce_tiles,
        "consumers_phase",
        "Waits as a consumer.",
        swap("PipelineUserType.Producer", "PipelineUserType.Consumer"),
        "deadlock",
        "phase 0 of empty[0]",
    ),
    wrong(
        produce_tiles,
        "always_phase_1",
        "The first round's phase for ever.",
        swap(WAIT_EMPTY, WAIT_EMPTY.replace("state.phase", "1")),
        "the next load overwrites K tile",
        "passed at once",
    ),
    wrong(
        produce_tiles,
        "announces_nothing",
        "No arrival on full.",
        swap(ANNOUNCE, ""),
        "deadlock",
        "expect_tx",
    ),
    wrong(
        produce_tiles,
        "announces_half",
        "Fewer bytes than come.",
        swap("steps.stage_bytes", "steps.stage_bytes // 3"),
        "complete too early",
    ),
    wrong(
        produce_tiles,
        "every_lane",
        "32 arrivals for one.",
        swap("with cute.arch.elect_one():", "if True:"),
        "inside elect_one()",
    ),
    wrong(
        produce_tiles,
        "begins_anew",
        "The ring starts over with each tile.",
        swap(
            "    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)\n"
            "    for number in cutlass.range(steps.tiles, unroll=1):\n",
            "    for number in cutlass.range(steps.tiles, unroll=1):\n"
            "        state = make_pipeline_state(PipelineUserType.Producer, steps.stages)\n",
        ),
    ),
    wrong(
        produce_tiles,
        "one_tile",
        "The first tile alone.",
        swap("cutlass.range(steps.tiles, unroll=1)", "cutlass.range(1, unroll=1)"),
        "deadlock",
    ),
    wrong(
        produce_tiles,
        "same_tile",
        "Loads the first tile every time.",
        swap("steps.load(number,", "steps.load(0,"),
        "is loaded twice",
    ),
    wrong(produce_tiles, "stays", "Never advances.", without("state.advance()"), "overwrites K tile 0", "at once"),
    wrong(
        produce_tiles,
        "loads_inside",
        "TMA elects its thread itself.",
        swap("            steps.load(", "            with cute.arch.elect_one():\n                steps.load("),
        "elects its thread itself",
    ),
    wrong(
        produce_tiles,
        "bytes_of_this_page",
        "49,152 bytes, which are those of one size of tiles.",
        swap("steps.stage_bytes", "49152"),
    ),
    wrong(
        produce_tiles,
        "k_tile_for_stage",
        "The stage is the K tile's number.",
        swap("steps.load(number, k_tile, state.index)", "steps.load(number, k_tile, k_tile % steps.stages)"),
    ),
    wrong(
        produce_tiles,
        "advances_with_the_tile",
        "One stage for each tile of C.",
        swap("            state.advance()", "        state.advance()"),
        "overwrites K tile 0",
    ),
    wrong(
        produce_tiles,
        "announces_every_part",
        "Announces once for A and once for B.",
        swap(ANNOUNCE, ANNOUNCE.replace("steps.stage_bytes", "steps.stage_bytes // 2") * 2),
        "arrives too often at full[0]",
    ),
    wrong(
        produce_tiles,
        "waits_for_full",
        "Waits until its own load is there.",
        swap(
            "            state.advance()",
            "            cute.arch.mbarrier_wait(steps.full + state.index, state.phase ^ 1)\n            state.advance()",
        ),
        "waits for what the same warp has ordered",
    ),
    wrong(
        produce_tiles,
        "one_stage_kept_free",
        "A ring that is never full.",
        swap(
            WAIT_EMPTY,
            "cute.arch.mbarrier_wait(steps.empty + (state.index + 1) % steps.stages, "
            "state.phase ^ (state.index + 1) // steps.stages)",
        ),
    ),
    wrong(
        produce_tiles,
        "arrives_and_expects_nothing",
        "An arrival without the bytes.",
        swap(
            "mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)",
            "mbarrier_arrive(steps.full + state.index)",
        ),
    ),
]
MULTIPLY = [
    wrong(
        multiply_tiles,
        "no_wait_for_full",
        "Multiplies what may not be there.",
        swap(f"                {WAIT_FULL}\n", ""),
        "no wait for full[0] before it",
    ),
    wrong(
        multiply_tiles,
        "no_wait_for_free",
        "Overwrites sums that nobody has read.",
        swap(f"            {WAIT_FREE}\n", ""),
        "overwrites part 0 of tile 0",
        "no wait for free[0]",
    ),
    wrong(
        multiply_tiles,
        "consumer_of_sums",
        "Waits for the other phase of free.",
        swap("PipelineUserType.Producer", "PipelineUserType.Consumer"),
        "deadlock",
        "free[0]",
    ),
    wrong(
        multiply_tiles,
        "never_empty",
        "No commit to empty.",
        without_first("commit_to("),
        "deadlock",
        "empty[0]",
    ),
    wrong(multiply_tiles, "never_ready", "No commit to ready.", without_last("commit_to("), "deadlock", "ready[0]"),
    wrong(
        multiply_tiles,
        "arrives_itself",
        "An ordinary arrival in place of the commit.",
        swap(
            "commit_to(steps, steps.empty + stage.index, steps.everyone)",
            "cute.arch.mbarrier_arrive(steps.empty + stage.index)",
        ),
        "inside elect_one()",
    ),
    wrong(
        multiply_tiles,
        "arrives_at_once",
        "One lane's ordinary arrival in place of the commit.",
        swap(
            "                commit_to(steps, steps.empty + stage.index, steps.everyone)\n",
            "                with cute.arch.elect_one():\n"
            "                    cute.arch.mbarrier_arrive(steps.empty + stage.index)\n",
        ),
        "it is for tcgen05.commit",
    ),
    wrong(
        multiply_tiles,
        "commits_first",
        "The commit stands before what it should cover.",
        swap(
            "                steps.multiply(stage.index, sums.index, k_tile == 0)\n"
            "                commit_to(steps, steps.empty + stage.index, steps.everyone)\n",
            "                commit_to(steps, steps.empty + stage.index, steps.everyone)\n"
            "                steps.multiply(stage.index, sums.index, k_tile == 0)\n",
        ),
        "complete too early",
    ),
    wrong(
        multiply_tiles,
        "ready_every_step",
        "Tells the epilogue after the first K tile.",
        swap(
            "                stage.advance()\n            commit_to(steps, steps.ready + sums.index, steps.both)\n",
            "                commit_to(steps, steps.ready + sums.index, steps.both)\n                stage.advance()\n",
        ),
    ),
    wrong(
        multiply_tiles,
        "adds_to_garbage",
        "Never forgets what was there.",
        swap("k_tile == 0", "False"),
        "needs `first`",
    ),
    wrong(multiply_tiles, "forgets", "Every K tile is the first.", swap("k_tile == 0", "True"), "forgets"),
    wrong(
        multiply_tiles,
        "one_accumulator",
        "Always the first one.",
        swap("steps.multiply(stage.index, sums.index,", "steps.multiply(stage.index, 0,"),
    ),
    wrong(
        multiply_tiles,
        "all_lanes_commit",
        "32 commits.",
        swap("with cute.arch.elect_one():", "if True:"),
        "all 32 lanes commit",
        within="commit_to",
    ),
    wrong(multiply_tiles, "same_sums", "Never goes on to the other accumulator.", without("sums.advance()")),
    wrong(
        multiply_tiles,
        "drains_each_step",
        "Waits for its own multiplications.",
        swap(
            "                stage.advance()",
            "                cute.arch.mbarrier_wait(steps.empty + stage.index, stage.phase)\n                stage.advance()",
        ),
        "waits for what the same warp has ordered",
    ),
    wrong(
        multiply_tiles,
        "drains_each_tile",
        "Waits until the tile is complete.",
        swap(
            "            sums.advance()",
            "            cute.arch.mbarrier_wait(steps.ready + sums.index, sums.phase ^ 1)\n            sums.advance()",
        ),
        "waits for what the same warp has ordered",
    ),
    wrong(
        multiply_tiles,
        "waits_until_all_is_read",
        "Waits until the epilogue has read before it goes on.",
        swap(
            "            sums.advance()",
            "            cute.arch.mbarrier_wait(steps.free + sums.index, sums.phase ^ 1)\n            sums.advance()",
        ),
    ),
    wrong(
        multiply_tiles,
        "accumulator_zero",
        "The sums' phase goes on and their index does not.",
        swap("steps.ready + sums.index", "steps.ready"),
        swap("steps.free + sums.index", "steps.free"),
    ),
    wrong(
        multiply_tiles,
        "phase_of_the_stage",
        "free is waited for with the stages' phase.",
        swap(
            "mbarrier_wait(steps.free + sums.index, sums.phase)",
            "mbarrier_wait(steps.free + sums.index, stage.phase ^ 1)",
        ),
    ),
    wrong(
        multiply_tiles,
        "first_of_all",
        "Only the first tile's first K tile forgets.",
        swap("for _ in cutlass.range(steps.tiles", "for number in cutlass.range(steps.tiles"),
        swap("k_tile == 0", "number + k_tile == 0"),
        "needs `first`",
    ),
    wrong(
        multiply_tiles,
        "one_k_tile_fewer",
        "The last K tile is left out.",
        swap("cutlass.range(steps.k_tiles, unroll=1)", "cutlass.range(steps.k_tiles - 1, unroll=1)"),
    ),
    wrong(
        multiply_tiles,
        "begins_anew_with_the_tile",
        "The stages start over with each tile.",
        swap(
            "            for k_tile",
            "            stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)\n            for k_tile",
        ),
    ),
]
STORE = [
    wrong(
        store_tiles,
        "no_wait_for_ready",
        "Reads sums that are not there.",
        swap(f"        {WAIT_READY}\n", ""),
        "no wait for ready[0]",
    ),
    wrong(
        store_tiles,
        "producers_phase",
        "The first wait passes at once.",
        swap("PipelineUserType.Consumer", "PipelineUserType.Producer"),
        "passed at once",
    ),
    wrong(
        store_tiles,
        "no_wait_for_load",
        "Uses registers that tcgen05.ld still writes.",
        without("fence_view_async_tmem_load"),
        "may still be under way",
    ),
    wrong(store_tiles, "never_frees", "No arrival at free.", swap(FREE, ""), "deadlock", "free[0]"),
    wrong(
        store_tiles,
        "frees_first",
        "Frees before it has read.",
        swap("if part == steps.parts - 1:", "if part == 0:"),
        "accumulator 0 is freed before",
    ),
    wrong(
        store_tiles,
        "frees_every_part",
        "Arrives once for each part.",
        swap("if part == steps.parts - 1:", "if part >= 0:"),
    ),
    wrong(
        store_tiles,
        "every_lane_frees",
        "32 arrivals for one.",
        swap("with cute.arch.elect_one():", "if True:"),
        "inside elect_one()",
    ),
    wrong(
        store_tiles,
        "first_part_alone",
        "The other parts are never written.",
        swap("cutlass.range(steps.parts, unroll=1)", "cutlass.range(steps.parts - 1, steps.parts, unroll=1)"),
        "part 0 of tile 0 is never written",
    ),
    wrong(
        store_tiles,
        "same_place",
        "Every tile is written over the first one.",
        swap("steps.write(number, part)", "steps.write(0, part)"),
        "writes part 0 of tile 1 as part 0 of tile 0",
    ),
    wrong(store_tiles, "same_accumulator", "Never goes on.", without("sums.advance()")),
    wrong(
        store_tiles,
        "frees_last",
        "Safe, and the tensor cores wait for the stores.",
        swap(FREE + "            steps.write(number, part)\n", "            steps.write(number, part)\n" + FREE),
        "freed after its last part was written",
    ),
    wrong(
        store_tiles,
        "two_parts",
        "As many parts as the half as wide tile has.",
        swap("cutlass.range(steps.parts, unroll=1)", "cutlass.range(2, unroll=1)"),
        swap("part == steps.parts - 1", "part == 1"),
    ),
    wrong(
        store_tiles,
        "frees_with_the_second",
        "Frees after its second part, whatever their number.",
        swap("part == steps.parts - 1", "part == 1"),
    ),
    wrong(
        store_tiles,
        "wait_for_stores",
        "The wait of tcgen05.st, for which there is nothing to wait.",
        swap("fence_view_async_tmem_load", "fence_view_async_tmem_store"),
        "may still be under way",
    ),
    wrong(
        store_tiles,
        "frees_before_the_wait",
        "Frees while the last part is on its way to the registers.",
        swap("            cute.arch.fence_view_async_tmem_load()\n", ""),
        swap(FREE, FREE + "            cute.arch.fence_view_async_tmem_load()\n"),
        "accumulator 0 is freed before",
    ),
    wrong(
        store_tiles,
        "reads_what_is_next",
        "One accumulator off.",
        swap("steps.read(sums.index, part)", "steps.read((sums.index + 1) % steps.accumulators, part)"),
    ),
    wrong(
        store_tiles,
        "phase_of_the_tile",
        "The tile's parity, right for a single accumulator.",
        swap(WAIT_READY, "cute.arch.mbarrier_wait(steps.ready + sums.index, number % 2)"),
    ),
    wrong(
        store_tiles,
        "part_by_number",
        "The tile's number for the part's.",
        swap("steps.write(number, part)", "steps.write(part, number)"),
    ),
    wrong(
        store_tiles,
        "ready_for_each_part",
        "Waits for ready before each part, a phase further each time.",
        swap(f"        {WAIT_READY}\n", ""),
        swap(
            "            steps.read(", f"            {WAIT_READY}\n            sums.advance()\n            steps.read("
        ),
    ),
    wrong(
        store_tiles,
        "four_at_once",
        "Each warp arrives for all four.",
        swap(
            "mbarrier_arrive(steps.free + sums.index, steps.leader)",
            "mbarrier_arrive(steps.free + sums.index, arrive_count=4)",
        ),
    ),
]
WRONG = {"15.4": PRODUCE, "15.5": MULTIPLY, "15.6": STORE}
