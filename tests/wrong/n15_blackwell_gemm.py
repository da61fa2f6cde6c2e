"""Wrong answers to notebook 15."""

from math import ceil, floor, log2

import torch

from tests.wrong.change import derive, swap, without, without_first, without_last
from tests.wrong.table import answer, says
from tutorlib.kernels.blackwell.holding import hold
from tutorlib.kernels.blackwell.loops import multiply_tiles, produce_tiles, store_tiles
from tutorlib.models.block_formats import E2M1, E4M3, quantise_mx, quantise_nv, scaled_dot, to_nearest
from tutorlib.models.tensor_memory import ring_stages, sum_place, tmem_columns

# Values -----------------------------------------------------------------------------------------------------------


def rounded_each(n, accumulators):
    """Each accumulator a power of two by itself."""
    each = tmem_columns(n, 1)
    return each * accumulators if each * accumulators <= 512 else 0


def to_fp8(numbers):
    return torch.tensor(numbers).to(torch.float8_e4m3fn).tolist()


@says("(line", "of your answer)")
def log_of_zero(block):
    """Zeros have no logarithm."""
    exponent = floor(log2(max(map(abs, block)))) - 8
    return exponent, to_fp8([x / 2.0**exponent for x in block])


@says("Rounded up nothing saturates")
def saturates_never(block):
    """The exponent rounded up."""
    largest = max(map(abs, block))
    exponent = max(-127, min(127, ceil(log2(largest / 448)))) if largest else -127
    return exponent, [to_nearest(x / 2.0**exponent, E4M3) for x in block]


def unbounded(block):
    """Exponents that ue8m0 does not have."""
    largest = max(map(abs, block))
    if not largest:
        return quantise_mx(block)
    exponent = floor(log2(largest)) - 8
    return exponent, [to_nearest(x / 2.0**exponent, E4M3) for x in block]


def zeros_at_zero(block):
    """A scale of one for zeros."""
    return quantise_mx(block) if any(block) else (0, list(block))


@says("not by the exact one")
def exact_scale(block, tensor_scale):
    """Elements divided by the scale before it was rounded."""
    exact = max(map(abs, block)) / 6 / tensor_scale
    elements = [to_nearest(x / exact / tensor_scale, E2M1) if exact else 0.0 for x in block]
    return to_nearest(exact, E4M3), elements


def divides_by_zero(block, tensor_scale):
    """A scale of 0 is divided by."""
    scale = to_nearest(max(map(abs, block)) / 6 / tensor_scale, E4M3)
    return scale, [to_nearest(x / (scale * tensor_scale), E2M1) for x in block]


@says("the one with the even code")
def ties_away(block, tensor_scale):
    """Ties to the larger one."""
    scale, _ = quantise_nv(block, tensor_scale)

    def rounded(x):
        nearest = min(reversed(E2M1), key=lambda value: abs(value - abs(x)))
        return -nearest if x < 0 else nearest

    return scale, [rounded(x / (scale * tensor_scale)) if scale else 0.0 for x in block]


def unscaled(row):
    return [(1.0, elements) for _, elements in row]


# Loops ------------------------------------------------------------------------------------------------------------

WAIT_EMPTY = "cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)"
WAIT_FULL = "cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)"
WAIT_FREE = "cute.arch.mbarrier_wait(steps.free + sums.index, sums.phase)"
WAIT_READY = "cute.arch.mbarrier_wait(steps.ready + sums.index, sums.phase)"
FREE = """            if part == steps.parts - 1:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + sums.index, steps.leader)
"""
ANNOUNCE = """            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
"""


class Loops(tuple):
    """Three loops with a name, and what is wrong with them."""


def loops(name, what, *words, produce=produce_tiles, multiply=multiply_tiles, store=store_tiles):
    made = Loops((produce, multiply, store))
    made.__name__, made.__doc__, made.says = name, what, words
    return made


def wrong(function, name, what, change, *words, **where):
    return says(*words)(derive(function, name, what, change, **where))


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
        "frees accumulator 0 before it has all",
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
]
HOLD = [
    wrong(
        hold,
        "everybody_allocates",
        "All six warps allocate.",
        swap(
            "    if holding.warp == MMA_WARP:\n        cute.arch.alloc_tmem(holding.columns, holding.address, holding.pair)\n"
            "        cute.arch.relinquish_tmem_alloc_permit(holding.pair)\n",
            "    cute.arch.alloc_tmem(holding.columns, holding.address, holding.pair)\n",
        ),
        "allocates, too",
    ),
    wrong(hold, "no_meeting_before", "The address may not be there.", without_first("holding.meet()"), "cannot know"),
    wrong(hold, "no_meeting_after", "Freed while others work.", without_last("holding.meet()"), "may still be at work"),
    wrong(
        hold,
        "never_frees_memory",
        "The next block waits for ever.",
        swap(
            "    if holding.warp == MMA_WARP:\n        cute.arch.dealloc_tmem(sums, holding.columns, holding.pair)",
            "    pass",
        ),
        "nobody frees it",
    ),
    wrong(
        hold,
        "half_the_columns",
        "Too few columns.",
        swap("alloc_tmem(holding.columns,", "alloc_tmem(holding.columns // 2,"),
        "256 columns are too few",
    ),
    wrong(
        hold,
        "another_number",
        "Frees fewer than it has.",
        swap("dealloc_tmem(sums, holding.columns,", "dealloc_tmem(sums, 256,"),
        "frees 256 columns of 512",
    ),
    wrong(
        hold,
        "three_hundred",
        "No power of two.",
        swap("alloc_tmem(holding.columns,", "alloc_tmem(300,"),
        "a power of two",
    ),
    wrong(
        hold,
        "one_lane",
        "One lane allocates.",
        swap("        cute.arch.alloc_tmem", "        with cute.arch.elect_one():\n            cute.arch.alloc_tmem"),
        "for a whole warp",
    ),
    wrong(
        hold,
        "meets_in_a_branch",
        "The others never come.",
        swap("    holding.meet()\n    sums", "        holding.meet()\n    sums"),
    ),
    wrong(
        hold,
        "five_workers",
        "The warp that allocates does not work.",
        swap("    holding.work(sums)", "    if holding.warp != MMA_WARP:\n        holding.work(sums)"),
        "may still be at work",
    ),
]

# Pairs ------------------------------------------------------------------------------------------------------------

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
        multiply=derive(multiply_tiles, "empty_at_home", "", swap("steps.everyone", "1")),
    ),
    loops(
        "ready_at_home",
        "Block 1's epilogue waits for ever.",
        "deadlock",
        "ready[0] of block 1",
        multiply=derive(multiply_tiles, "ready_at_home", "", swap("steps.both", "1")),
    ),
    loops(
        "free_at_home",
        "Each block frees its own, and the leader waits for ever.",
        "deadlock",
        "free[0] of block 0",
        store=derive(store_tiles, "free_at_home", "", swap("sums.index, steps.leader)", "sums.index)")),
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
    loops("two_of_a_kind", "The first loop twice.", "which is another role's", multiply=produce_tiles),
]

WRONG = {
    "15.1": [
        rounded_each,
        answer("as_many_as_needed", "No power of two.", lambda n, a: n * a if n * a <= 512 else 0, "a power of two"),
        answer("below_32", "Fewer than 32.", lambda n, a: 0 if n * a > 512 else 1 << (n * a - 1).bit_length(), "32 columns"),
        answer("beyond_512", "More than there are.", lambda n, a: max(32, 1 << (n * a - 1).bit_length())),
        answer("at_most_512", "512 for what does not fit.", lambda n, a: min(512, max(32, 1 << (n * a - 1).bit_length()))),
        answer("next_power", "The power above, even of a power.", lambda n, a: tmem_columns(n * a + 1, 1)),
        answer("in_bytes", "Bytes for columns.", lambda n, a: tmem_columns(4 * n, a)),
    ],
    "15.2": [
        answer("row_for_lane", "The row of the pair.", lambda m, n, a, c: (*sum_place(m, n, a, c)[:2], m, a * c + n)),
        answer("eight_warps", "Warps through both blocks.", lambda m, n, a, c: (m // 128, m // 32, m % 128, a * c + n)),
        answer("first_accumulator", "Always the first.", lambda m, n, a, c: sum_place(m, n, 0, c)),
        answer("rows_dealt_out", "Every fourth row.", lambda m, n, a, c: (m // 128, m % 4, m % 128, a * c + n)),
        answer("every_other_row", "Blocks take turns.", lambda m, n, a, c: (m % 2, m // 64, m // 2, a * c + n)),
        answer("lane_of_warp", "The lane in its warp.", lambda m, n, a, c: (m // 128, m % 128 // 32, m % 32, a * c + n)),
    ],
    "15.3": HOLD,
    "15.4": PRODUCE,
    "15.5": MULTIPLY,
    "15.6": STORE,
    "15.7": [
        answer("all_of_b", "Each block loads all of B.", lambda n, p, o: ring_stages(n, False, o), "half of B's rows"),
        answer("halves_of_both", "Half of A, too.", lambda n, p, o: ring_stages(n - 64 if p else n, p, o)),
        answer("in_elements", "Elements for bytes.", lambda n, p, o: (ring_stages(n, p, o)[0] // 2, ring_stages(n, p, o)[1])),
        answer("no_rest", "All of shared memory.", lambda n, p, o: ring_stages(n, p, 0)),
        answer("rounded_to_more", "A stage too many.", lambda n, p, o: (ring_stages(n, p, o)[0], ring_stages(n, p, o)[1] + 1)),
        answer("exchanged", "Stages first.", lambda n, p, o: ring_stages(n, p, o)[::-1], "The order is"),
    ],
    "15.8": PAIRS,
    "15.9": [
        log_of_zero,
        saturates_never,
        unbounded,
        zeros_at_zero,
        answer("stored_exponent", "With its bias.", lambda b: (quantise_mx(b)[0] + 127, quantise_mx(b)[1]), "127 added"),
        answer("largest_not_magnitude", "Negative numbers do not count.", lambda b: (quantise_mx([max(b)])[0], quantise_mx(b)[1])),
        answer("as_tensor", "Elements as torch rounds them, no list.",
               lambda b: (quantise_mx(b)[0], torch.tensor(quantise_mx(b)[1]).to(torch.float8_e4m3fn)), "<Tensor "),
        answer("of_two", "A pair the wrong way round.", lambda b: quantise_mx(b)[::-1], "The order is"),
    ],
    "15.10": [
        exact_scale,
        divides_by_zero,
        ties_away,
        answer("no_tensor_scale", "The tensor's scale forgotten.", lambda b, t: quantise_nv(b, 1.0)),
        answer("to_four", "The largest becomes 4.", lambda b, t: quantise_nv([1.5 * x for x in b], t)),
        answer("as_tensor", "Elements in a tensor.", lambda b, t: (quantise_nv(b, t)[0], torch.tensor(quantise_nv(b, t)[1])), "<Tensor "),
        answer("other_order", "Elements first.", lambda b, t: quantise_nv(b, t)[::-1], "The order is"),
    ],
    "15.11": [
        answer("no_scales", "The elements alone.", lambda a, b: scaled_dot(unscaled(a), unscaled(b)), "scales are missing"),
        answer("one_scale", "A's scales alone.", lambda a, b: scaled_dot(a, unscaled(b))),
        answer("first_blocks_scales", "One scale for a row.",
               lambda a, b: a[0][0] * b[0][0] * scaled_dot(unscaled(a), unscaled(b)), "cannot wait"),
        answer("averaged", "The mean of a block's products.",
               lambda a, b: sum(scaled_dot([x], [y]) / len(x[1]) for x, y in zip(a, b, strict=True))),
        answer("as_exponents", "Two to the power of each scale.",
               lambda a, b: scaled_dot([(2**s, x) for s, x in a], [(2**s, x) for s, x in b]), "not exponents"),
        answer("first_block", "One block of several.", lambda a, b: scaled_dot(a[:1], b[:1])),
        answer("a_list", "Block by block.", lambda a, b: [scaled_dot([x], [y]) for x, y in zip(a, b, strict=True)]),
    ],
}  # fmt: skip
