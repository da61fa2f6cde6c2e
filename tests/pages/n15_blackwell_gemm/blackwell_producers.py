"""Wrong answers to notebook 15: the role that loads."""

from tests.pages.change import swap, without
from tests.pages.n15_blackwell_gemm.blackwell_loops import ANNOUNCE, WAIT_EMPTY, wrong
from tutorlib.kernels.blackwell.loops import produce_tiles

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
        "The first round's phase forever.",
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
            "            cute.arch.mbarrier_wait(steps.full + state.index, state.phase ^ 1)\n"
            "            state.advance()",
        ),
        "waits for what the same warp has issued",
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
    wrong(
        produce_tiles,
        "four_stages",
        "Four stages, always.",
        swap("steps.empty + state.index", "steps.empty + (number * steps.k_tiles + k_tile) % 4"),
    ),
    wrong(
        produce_tiles,
        "bytes_of_this_tile",
        "A number for stage_bytes.",
        swap("steps.stage_bytes", "49152"),
    ),
    wrong(
        produce_tiles,
        "waits_for_its_load",
        "Waits for each load to land.",
        swap(
            "            state.advance()",
            "            cute.arch.mbarrier_wait(steps.full + state.index, state.phase ^ 1)\n            state.advance()",
        ),
        "waits for what the same warp has issued",
    ),
    wrong(
        produce_tiles,
        "lane_0_waits_for_its_load",
        "The same with a branch for lane 0.",
        swap("with cute.arch.elect_one():", "if cute.arch.lane_idx() == 0:"),
        swap(
            "            state.advance()",
            "            cute.arch.mbarrier_wait(steps.full + state.index, state.phase ^ 1)\n            state.advance()",
        ),
        "waits for what the same warp has issued",
    ),
    wrong(
        produce_tiles,
        "unrolled_k_tiles",
        "64 times the code.",
        swap("cutlass.range(steps.k_tiles, unroll=1)", "cutlass.range_constexpr(steps.k_tiles)"),
        "the compiler unrolls range_constexpr",
    ),
]
