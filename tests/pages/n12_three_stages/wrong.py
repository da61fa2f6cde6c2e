"""Wrong answers to notebook 12, told by what they return, by a rehearsal, by the compiler or by the simulator."""

from tests.pages.change import derive, swap, without, without_first, without_last
from tests.pages.n10_double_buffer.wrong import PIPELINE, unrehearsed
from tests.pages.n12_three_stages import occupancy
from tests.pages.table import answer, says
from tutorlib.course.answers import load_answers
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.main_loops import multistage

# 12.1 -----------------------------------------------------------------------------------------------------------

WAIT = "wait_group(steps.stages - 2)"
BARRIER = "sync_threads()"
LOOPS = {  # name: what is wrong, the words that the message must have, the changes
    "waits_for_one_too_few": (
        "wait_group off by one: STAGES - 1 groups may stay open.",
        "no wait covers their group",
        swap(WAIT, "wait_group(steps.stages - 1)", times=2),
    ),
    "waits_for_all": (
        "Right, and no deeper than two buffers: wait_group(0).",
        "others are in flight",
        swap(WAIT, "wait_group(0)", times=2),
    ),
    "commits_inside_the_if": (
        "No group is committed where nothing is left to load, so the last tiles are not waited for.",
        "no wait covers their group",
        swap("steps.load(ahead, write)\n        cute", "steps.load(ahead, write)\n            cute"),
    ),
    "one_tile_behind": (
        "Loads into the buffer that is being read: the stage index of the writes is one short.",
        "overwrites",
        swap("load(ahead, write)", "load(ahead, read)"),
    ),
    "drops_the_last_tile": (
        "Stops where there is nothing left to load.",
        "is never multiplied",
        swap("in range(steps.k_tiles)", "in range(steps.k_tiles - 1)"),
    ),
    "long_prologue": (
        "Fills all buffers before the loop, and then sends for the last of these tiles once more.",
        "in flight into buffer",
        swap("range_constexpr(steps.stages - 1)", "range_constexpr(steps.stages)"),
    ),
    "short_prologue": (
        "One tile too few before the loop.",
        "",
        swap("range_constexpr(steps.stages - 1)", "range_constexpr(steps.stages - 2)"),
    ),
    "no_barrier_in_the_loop": ("The wait alone, without the barrier.", "", without_last(BARRIER)),
    "no_barrier_before_the_loop": (
        "The first wait has no barrier.",
        "no barrier after the wait",
        without_first(BARRIER),
    ),
    "no_commit_before_the_loop": (
        "The prologue's tiles belong to no group, or to the first of the loop.",
        "",
        without_first("commit_group()"),
    ),
    "writes_one_buffer": ("The number of the buffer to write does not change.", "", without("write = read")),
    "wraps_too_early": (
        "The read buffer wraps one stage early.",
        "",
        swap("(read + 1) % steps.stages", "(read + 1) % (steps.stages - 1)"),
    ),
    "loads_what_is_not_there": (
        "No condition on the load.",
        "K tiles, 0 to",
        swap("if ahead < steps.k_tiles:\n            steps", "steps"),
    ),
    "fetches_from_the_old_buffer": (
        "The next tile's first block is fetched from this tile's buffer.",
        "is multiplied twice",
        swap("steps.fetch(0, read)\n", "steps.fetch(0, write)\n"),
    ),
    "not_ahead": (
        "Right, and each K block is fetched when it is needed.",
        "before it has fetched the next one's registers",
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
        "barriers for",
        swap("        ahead = k_tile", "        cute.arch.sync_threads()\n        ahead = k_tile"),
    ),
    "unrolled": (
        "All K tiles in one loop of the compiler's.",
        "that the compiler unrolls",
        swap("in range(steps.k_tiles)", "in cutlass.range_constexpr(steps.k_tiles)"),
        swap("        if ahead < steps.k_tiles:", "        if cutlass.const_expr(ahead < steps.k_tiles):"),
    ),
    "forgets_b": (
        "The loop loads A alone.",
        "of B",
        swap("steps.load(ahead, write)", "steps.a.load(ahead, write)"),
    ),
}


def loops() -> list:
    made = []
    for name, (what, words, *changes) in LOOPS.items():
        loop = derive(multistage, name, what, *changes)
        made.append(says(words)(loop) if words else loop)
    return [
        *made,
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
    config("spills", "192 accumulators, and the operands of two K blocks.", "it spills", (192, 128, 32), (2, 2), 4),
]

# 12.4 -----------------------------------------------------------------------------------------------------------

YOURS = load_answers("12_three_stages")["12.4"]


def kernel(name: str, what: str, words: str, within: str, *changes):
    made = derive(YOURS, name, what, *changes, within=within)
    return says(words)(made) if words else made


STRIDES = "stride=(1, 8, 32, 2, 32 * across)"
ORDER = "return l2.grouped(block, rows, across, 8 if rows > 32 else rows)"
PREDICATE = "if cute.elem_less(acc.coordinates[(0, row), m, (0, n)], acc.shape):"
CONFIG = "config = tuned()"
WHOLE = "whole = matrix.shape[0] % rows == 0 and matrix.shape[1] % bK == 0"
EDGES = "if whole else (mine.partition_S(c), matrix.shape)"
KERNELS = [
    kernel(
        "no_swizzle",
        "Rows in shared memory as they come.",
        "threads meet in a bank",
        "smem_layout",
        swap("make_swizzle(3 if width == 64 else 2, 3, 3)", "make_swizzle(0, 3, 3)"),
    ),
    kernel(
        "columns_of_the_mma",
        "Columns in the MMA's own order.",
        "without st.global.v4",
        "columns",
        swap(STRIDES, "stride=(1, 2, 8, 8 * across, 32 * across)"),
    ),
    kernel(
        "columns_of_b_alone",
        "C is not permuted as B is.",
        "without st.global.v4",
        "my_kernel",
        swap("cute.composition(each, (None, order))", "each"),
    ),
    kernel("b_as_it_lies", "B is not permuted as C is.", "Wrong: ", "my_kernel", without("(order, None, None)")),
    kernel(
        "no_edges",
        "As if tiles divided the matrices.",
        "which lies outside",
        "my_kernel",
        swap(EDGES, EDGES.replace("whole", "True")),
    ),
    kernel(
        "edges_of_k_forgotten",
        "Asks nothing where rows alone are whole.",
        "which lies outside",
        "my_kernel",
        swap(WHOLE, "whole = matrix.shape[0] % rows == 0"),
    ),
    kernel(
        "edges_of_rows_forgotten",
        "Asks nothing where K alone is whole.",
        "which lies outside",
        "my_kernel",
        swap(WHOLE, "whole = matrix.shape[1] % bK == 0"),
    ),
    kernel(
        "sums_never_set",
        "Adds to whatever the registers hold.",
        "mma add to registers that were never set",
        "my_kernel",
        without("tCrC.fill(0.0)"),
    ),
    kernel(
        "one_buffer",
        "Room for one stage.",
        "no barrier lies between",
        "my_kernel",
        swap("bK, config.stages)", "bK, 1)", times=2),
    ),
    kernel(
        "a_for_b",
        "B's way begins at A.",
        "does not compile",
        "my_kernel",
        swap("into_smem(mB, gB, sB, cB, bN)", "into_smem(mB, gA, sB, cA, bN)"),
    ),
    kernel(
        "beyond_the_edge",
        "No condition on the store.",
        "which lies outside",
        "store",
        swap(PREDICATE, "if True:"),
    ),
    kernel(
        "rows_of_8",
        "Every group has 8 rows.",
        "never wrote it",
        "in_groups",
        swap(ORDER, "return block % 8, block // 8"),
    ),
    kernel(
        "one_tile",
        "Every block computes the same.",
        "never wrote it",
        "in_groups",
        swap(ORDER, "return 0 * block, 0 * block"),
    ),
    kernel(
        "a_row_of_blocks",
        "One block for each row of tiles.",
        "never wrote it",
        "my_gemm",
        swap("rows * across", "rows"),
    ),
    kernel(
        "one_warp_short",
        "A warp too few.",
        "never wrote it",
        "my_gemm",
        swap("block=(config.threads, 1, 1)", "block=(config.threads - 32, 1, 1)"),
    ),
]

KERNELS += [
    kernel(
        "three_stages",
        "Three stages of a smaller tile, whatever tuned() says.",
        "those of tuned() have 256 and 98,304",
        "my_gemm",
        swap(CONFIG, "config = GemmConfig((128, 128, 32), (2, 2), 3)"),
    ),
    kernel(
        "more_threads",
        "Eight warps on 128×128, whatever tuned() says.",
        "those of tuned() have 256 and 98,304",
        "my_gemm",
        swap(CONFIG, "config = GemmConfig((128, 128, 32), (2, 4), 3)"),
    ),
    kernel(
        "stages_of_its_own",
        "Takes the tile and the threads from tuned(), and always three stages.",
        "does my_gemm pass it on?",
        "my_gemm",
        swap(CONFIG, "config = GemmConfig(tuned().tile, tuned().warps, 3)"),
    ),
]

WRONG = {"12.1": loops(), "12.2": occupancy.BLOCKS, "12.3": CONFIGS, "12.4": KERNELS}
