"""Wrong answers to notebook 12, told by what they return, by a rehearsal, by the compiler or by the simulator."""

from tests.pages.change import derive, swap, without, without_first, without_last
from tests.pages.n10_double_buffer.wrong import PIPELINE, unrehearsed
from tests.pages.n12_three_stages import occupancy
from tests.pages.n12_three_stages.whole import RUNGS, WHOLE
from tests.pages.table import answer
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.main_loops import multistage

# 12.1 -----------------------------------------------------------------------------------------------------------

WAIT = "wait_group(steps.stages - 2)"
BARRIER = "sync_threads()"
LOOPS = {  # name: what is wrong, the changes
    "waits_for_one_too_few": (
        "wait_group off by one: STAGES - 1 groups may stay open.",
        swap(WAIT, "wait_group(steps.stages - 1)", times=2),
    ),
    "waits_for_all": ("Right, and no deeper than two buffers: wait_group(0).", swap(WAIT, "wait_group(0)", times=2)),
    "commits_inside_the_if": (
        "No group is committed where nothing is left to load, so the last tiles are not waited for.",
        swap("steps.load(ahead, write)\n        cute", "steps.load(ahead, write)\n            cute"),
    ),
    "one_tile_behind": (
        "Loads into the buffer that is being read: the stage index of the writes is one short.",
        swap("load(ahead, write)", "load(ahead, read)"),
    ),
    "drops_the_last_tile": (
        "Stops where there is nothing left to load.",
        swap("in range(steps.k_tiles)", "in range(steps.k_tiles - 1)"),
    ),
    "long_prologue": (
        "Fills all buffers before the loop, and then sends for the last of these tiles once more.",
        swap("range_constexpr(steps.stages - 1)", "range_constexpr(steps.stages)"),
    ),
    "short_prologue": (
        "One tile too few before the loop.",
        swap("range_constexpr(steps.stages - 1)", "range_constexpr(steps.stages - 2)"),
    ),
    "no_barrier_in_the_loop": ("The wait alone, without the barrier.", without_last(BARRIER)),
    "no_barrier_before_the_loop": ("The first wait has no barrier.", without_first(BARRIER)),
    "no_commit_before_the_loop": (
        "The prologue's tiles belong to no group, or to the first of the loop.",
        without_first("commit_group()"),
    ),
    "writes_one_buffer": ("The number of the buffer to write does not change.", without("write = read")),
    "wraps_too_early": (
        "The read buffer wraps one stage early.",
        swap("(read + 1) % steps.stages", "(read + 1) % (steps.stages - 1)"),
    ),
    "loads_what_is_not_there": (
        "No condition on the load.",
        swap("if ahead < steps.k_tiles:\n            steps", "steps"),
    ),
    "fetches_from_the_old_buffer": (
        "The next tile's first block is fetched from this tile's buffer.",
        swap("steps.fetch(0, read)\n", "steps.fetch(0, write)\n"),
    ),
    "not_ahead": (
        "Right, and each K block is fetched when it is needed.",
        swap(
            "            if cutlass.const_expr(k_block + 1 < steps.k_blocks):\n"
            "                steps.fetch(k_block + 1, read)\n            else:",
            "            steps.fetch(k_block, read)\n            if cutlass.const_expr(k_block + 1 == steps.k_blocks):",
        ),
        swap(
            "                steps.fetch(0, read)\n            steps.multiply(k_block)",
            "            steps.multiply(k_block)",
        ),
    ),
    "one_barrier_too_many": (
        "Right, with a barrier that says nothing new.",
        swap("        ahead = k_tile", "        cute.arch.sync_threads()\n        ahead = k_tile"),
    ),
    "unrolled": (
        "All K tiles in one loop of the compiler's.",
        swap("in range(steps.k_tiles)", "in cutlass.range_constexpr(steps.k_tiles)"),
        swap("        if ahead < steps.k_tiles:", "        if cutlass.const_expr(ahead < steps.k_tiles):"),
    ),
    "fetches_again": (
        "Fetches ahead, and once more just before the multiplication.",
        swap(
            "steps.fetch(k_block + 1, read)",
            "steps.fetch(k_block + 1, read)\n                steps.fetch(k_block, read)",
        ),
    ),
    "four_k_blocks": (
        "The number of K blocks in a tile of 64 along K.",
        swap("range_constexpr(steps.k_blocks)", "range_constexpr(4)"),
        swap("k_block + 1 < steps.k_blocks", "k_block < 3"),
    ),
    "two_buffers_where_it_runs": (
        "As deep as asked in the rehearsal alone.",
        swap("steps.stages", "stages", times=6),
        swap(
            "    for k_tile in cutlass.range_constexpr(stages - 1)",
            "    stages = 2 if hasattr(steps, 'tiled_mma') else steps.stages\n"
            "    for k_tile in cutlass.range_constexpr(stages - 1)",
        ),
    ),
    "forgets_b": ("The loop loads A alone.", swap("steps.load(ahead, write)", "steps.a.load(ahead, write)")),
}


def loops() -> list:
    return [
        *(derive(multistage, name, what, *changes) for name, (what, *changes) in LOOPS.items()),
        unrehearsed,
        derive(PIPELINE, "two_buffers_only", "Notebook 10's loop, whatever the number of stages."),
    ]


# 12.3 -----------------------------------------------------------------------------------------------------------


def config(name: str, what: str, words: str, *arguments):
    return answer(name, what, lambda: GemmConfig(*arguments), words)


WIDE = (128, 256, 32)
CONFIGS = [
    config("one_stage", "The loop needs two.", "1 stage: the loop needs two or more.", (128, 128, 64), (2, 2), 1),
    answer("a_tuple", "Not a GemmConfig.", lambda: ((128, 128, 64), (2, 2), 3), "not a GemmConfig"),
    answer(
        "a_dictionary", "Not a GemmConfig.", lambda: {"tile": WIDE, "warps": (2, 4), "stages": 4}, "not a GemmConfig"
    ),
    answer("nothing", "No return.", lambda: None, "it returns None, not a GemmConfig"),
    answer("takes_a_size", "Wants an argument.", lambda size: GemmConfig(WIDE, (2, 4), 4), "missing 1 required"),
    config(
        "nine_stages",
        "More shared memory than any block has.",
        "a block has at most 232,448",
        (128, 128, 64),
        (2, 2),
        9,
    ),
    config("too_many_sums", "256 accumulators in each thread.", "it has 255 registers", (256, 128, 32), (2, 2), 3),
    config("a_k_of_48", "Killed the process once.", "tile K = 48: 32 or a multiple of 64", (128, 128, 48), (2, 2), 4),
    config("a_k_of_16", "One K block: nothing to fetch ahead.", "tile K = 16", (128, 128, 16), (2, 2), 4),
    config("a_hundred_rows", "Compiled without a remark once.", "tile M = 100", (100, 128, 32), (2, 2), 4),
    config("half_a_warp", "N is no multiple of the warps' columns.", "tile N = 96", (128, 96, 32), (2, 2), 4),
    config("three_warps", "Three warps across.", "warps 1×3: powers of two", (128, 192, 32), (1, 3), 4),
    config("a_narrow_tile", "More threads than rows to copy.", "threads fetch 64 rows", (128, 32, 32), (8, 1), 4),
    config("two_numbers", "No K.", "(M, N, K) are positive whole numbers", (128, 256), (2, 4), 4),
    config("page_10_s", "Not tuned.", "21 FLOP for each byte", (128, 128, 64), (2, 2), 2),
    config("narrow_tiles", "A tile of 64 columns.", "14 FLOP for each byte", (128, 64, 64), (2, 2), 3),
    config("many_warps", "Every row is read by eight warps.", "9 FLOP for each byte", (128, 128, 64), (8, 4), 2),
    config("a_wave_half_empty", "484 tiles on 132 SMs.", "86 % by 11.6's count", (192, 192, 32), (4, 2), 4),
    config("one_block_of_four_warps", "A second does not fit.", "4 warps on an SM", (160, 128, 32), (2, 2), 7),
    config("one_tile_ahead", "A block alone, with two stages.", "1 K tiles in flight", (128, 256, 64), (2, 4), 2),
    config("too_little_ahead", "Two short tiles.", "36 KiB in flight", (160, 128, 32), (2, 2), 2),
    config("spills", "192 accumulators, and the operands of two K blocks.", "it spills", (192, 128, 32), (2, 2), 4),
]

# 12.5 -----------------------------------------------------------------------------------------------------------


def row(name: str, what: str, function, *words: str):
    return answer(name, what, function, *words)


ROWS = [
    row("as_03_8", "03.8's: rows along K.", lambda lane: (lane % 16, lane // 16 * 8), "03.8's answer"),
    row("k_first", "(k, m).", lambda lane: (lane // 16 * 8 + lane % 8, lane // 8 % 2 * 8), "m comes first"),
    row("matrices_exchanged", "Matrix 1 lies along K.", lambda lane: (lane // 16 * 8, lane % 16), "are exchanged"),
    row("one_matrix", "As if there were one matrix.", lambda lane: (0, lane % 8)),
    row("no_second_k", "Forgets the upper eight k.", lambda lane: (lane // 8 % 2 * 8, lane % 8)),
    row("down_all_k", "Lane by lane along K.", lambda lane: (0, lane)),
    row("m_not_in_eights", "m counts matrices.", lambda lane: (lane // 8 % 2, lane // 16 * 8 + lane % 8)),
    row("k_not_in_eights", "k counts matrices.", lambda lane: (lane // 8 % 2 * 8, lane // 16 + lane % 8)),
    row("four_down", "All matrices along M.", lambda lane: (lane // 8 * 8, lane % 8)),
    row("values", "What the lane receives, not the address that it supplies.", lambda lane: (lane // 4, lane % 4 * 2)),
    row("a_number", "An offset.", lambda lane: lane % 8 * 16 + lane // 8 * 8),
    row("nothing", "No return.", lambda lane: None),
]

WRONG = {"12.1": loops(), "12.2": occupancy.BLOCKS, "12.3": CONFIGS, "12.4": RUNGS, "12.5": ROWS, "12.6": WHOLE}
