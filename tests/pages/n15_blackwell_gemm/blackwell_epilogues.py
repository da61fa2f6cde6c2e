"""Wrong answers to notebook 15: the role that stores."""

from tests.pages.change import swap, without
from tests.pages.n15_blackwell_gemm.blackwell_loops import FREE, WAIT_READY, wrong
from tutorlib.kernels.blackwell.loops import store_tiles

AWAIT_READ = "cute.arch.fence_view_async_tmem_load()"
STORE = [
    wrong(
        store_tiles,
        "no_wait_for_ready",
        "Reads accumulators that are not there.",
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
        "may still be in flight",
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
    wrong(store_tiles, "same_accumulator", "Never goes on.", without("acc.advance()")),
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
        "may still be in flight",
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
        "no_fence",
        "Nothing orders the read before the arrival.",
        without("fence_before()"),
        "nothing orders the tcgen05.ld",
    ),
    wrong(
        store_tiles,
        "fence_after_the_arrival",
        "The fence follows the arrival.",
        without("fence_before()"),
        swap("            steps.write(", "            fence_before()\n            steps.write("),
        "nothing orders the tcgen05.ld",
    ),
    wrong(
        store_tiles,
        "fence_before_the_wait",
        "The fence precedes the wait, so it covers no read that is over.",
        without("fence_before()"),
        swap(
            "            cute.arch.fence_view_async_tmem_load()",
            "            fence_before()\n            cute.arch.fence_view_async_tmem_load()",
        ),
        "nothing orders the tcgen05.ld",
    ),
    wrong(
        store_tiles,
        "reads_what_is_next",
        "One accumulator off.",
        swap("steps.read(acc.index, part)", "steps.read((acc.index + 1) % steps.accumulators, part)"),
    ),
    wrong(
        store_tiles,
        "phase_of_the_tile",
        "The tile's parity, right for a single accumulator.",
        swap(WAIT_READY, "cute.arch.mbarrier_wait(steps.ready + acc.index, number % 2)"),
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
            "            steps.read(", f"            {WAIT_READY}\n            acc.advance()\n            steps.read("
        ),
    ),
    wrong(
        store_tiles,
        "four_at_once",
        "Each warp arrives for all four.",
        swap(
            "mbarrier_arrive(steps.free + acc.index, steps.leader)",
            "mbarrier_arrive(steps.free + acc.index, arrive_count=4)",
        ),
    ),
    wrong(
        store_tiles,
        "waits_before_each_part",
        "One wait for ready covers all parts of a tile.",
        swap("            steps.read(", f"            {WAIT_READY}\n            steps.read("),
        "has already waited for",
    ),
]
LANE_0 = "if cute.arch.lane_idx() == 0:"
STORE += [
    wrong(
        store_tiles,
        "lane_0_without_a_fence",
        "A branch for lane 0, and no fence.",
        swap("with cute.arch.elect_one():", LANE_0),
        without("fence_before()"),
        "nothing orders the tcgen05.ld",
    ),
    wrong(
        store_tiles,
        "low_lane_frees_last",
        "The lane below 1, after the write; a wait that the rehearsal does not count.",
        swap(FREE + "            steps.write(number, part)\n", "            steps.write(number, part)\n" + FREE),
        swap("with cute.arch.elect_one():", "if cute.arch.lane_idx() < 1:"),
        swap(
            "        acc.advance()", "        cute.arch.cp_async_bulk_wait_group(4, read=True)\n        acc.advance()"
        ),
        "freed after its last part was written",
    ),
    wrong(
        store_tiles,
        "lane_0_frees_last",
        "A branch for lane 0, after the write.",
        swap(FREE + "            steps.write(number, part)\n", "            steps.write(number, part)\n" + FREE),
        swap("with cute.arch.elect_one():", LANE_0),
        "freed after its last part was written",
    ),
]
# Right, and more than they must do: the simulator counts these instructions.
WASTEFUL = [
    wrong(
        store_tiles,
        "waits_twice_for_its_load",
        "One wait covers the tcgen05.ld before it.",
        swap(AWAIT_READ, f"{AWAIT_READ}\n            {AWAIT_READ}"),
        "tcgen05.wait::ld instructions",
    ),
    wrong(
        store_tiles,
        "one_store_at_a_time",
        "Waits for each store before the next part.",
        swap(
            "            steps.write(number, part)",
            "            steps.write(number, part)\n            cute.arch.cp_async_bulk_wait_group(0, read=True)",
        ),
        "cp.async.bulk.wait_group instructions",
    ),
    wrong(
        store_tiles,
        "stores_of_a_tile_at_a_time",
        "Waits for a tile's stores before the next tile.",
        swap(
            "        acc.advance()", "        cute.arch.cp_async_bulk_wait_group(0, read=True)\n        acc.advance()"
        ),
        "cp.async.bulk.wait_group instructions",
    ),
    wrong(
        store_tiles,
        "warps_meet",
        "The four warps meet at each part.",
        swap(
            "            steps.write(number, part)",
            "            cute.arch.barrier(barrier_id=1, number_of_threads=128)\n            steps.write(number, part)",
        ),
        "instructions; ",
    ),
]
