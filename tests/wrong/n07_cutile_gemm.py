"""Wrong answers to notebook 07. Kernels fail where they are interpreted, so no GPU is needed."""

from tests.wrong.change import derive, swap, without
from tutorlib.course.answers import load_answers

# 07.2 -------------------------------------------------------------------------------------------------------------


def raster(block, rows, columns, group):
    """Down the columns, without strips."""
    return block % rows, block // rows


def row_after_row(block, rows, columns, group):
    """Along the rows, without strips."""
    return block // columns, block % columns


def last_strip_is_full(block, rows, columns, group):
    """Takes the last strip for as high as the others: tiles outside of C."""
    strip, place = divmod(block, group * columns)
    return strip * group + place % group, place // group


def strip_along_its_rows(block, rows, columns, group):
    """Goes through a strip row by row, so neighbours share A and not B."""
    strip, place = divmod(block, group * columns)
    return strip * group + place // columns, place % columns


def number_of_strips(block, rows, columns, group):
    """Takes `group` for the number of strips."""
    height = -(-rows // group)
    strip, place = divmod(block, height * columns)
    return min(strip * height + place % height, rows - 1), place // height


def column_and_row(block, rows, columns, group):
    """Gives the column first."""
    strip, place = divmod(block, group * columns)
    height = min(group, rows - strip * group)
    return place // height, strip * group + place % height


# 07.3 -------------------------------------------------------------------------------------------------------------


def none_ever(tm, tn):
    """No hint for any tile."""
    return {}


def eight_warps_always(tm, tn):
    """Eight warps where four will do, and too few threads for the largest tile."""
    return {"num_worker_warps": 8}


def occupancy(tm, tn):
    """A hint that makes it worse: blocks that share an SM share its registers."""
    return {"occupancy": 2}


# 07.5 -------------------------------------------------------------------------------------------------------------


def registers_only(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Leaves shared memory out of account."""
    return tm * tn * occupancy <= num_ctas * warps * 32 * 128


def shared_memory_only(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Leaves the accumulators out of account."""
    return 2 * occupancy * (tm + tn) * tk * element_bytes <= num_ctas * 227 * 1024


def one_stage(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Asks for room for a single stage."""
    room = occupancy * (tm + tn) * tk * element_bytes <= num_ctas * 227 * 1024
    return room and tm * tn * occupancy <= num_ctas * warps * 32 * 128


def bf16_always(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Takes every element for two bytes."""
    room = 2 * occupancy * (tm + tn) * tk * 2 <= num_ctas * 227 * 1024
    return room and tm * tn * occupancy <= num_ctas * warps * 32 * 128


def tile_of_c_in_shared_memory(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Counts the accumulators into shared memory."""
    room = occupancy * (2 * (tm + tn) * tk * element_bytes + tm * tn * 4) <= num_ctas * 227 * 1024
    return room and tm * tn * occupancy <= num_ctas * warps * 32 * 128


def says_nothing(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Returns None."""


# Kernels ----------------------------------------------------------------------------------------------------------

RIGHT = load_answers("07_cutile_gemm")
GEMM, PERSISTENT, TF32, FP8 = (RIGHT[id] for id in ("07.1", "07.4", "07.6", "07.7"))
DTYPE = "ct.tfloat32 if a.dtype == ct.float32 else a.dtype"

WRONG = {
    "07.1": [
        derive(GEMM, "no_padding", "Adds up what is beyond the end of K.", swap(", padding_mode=ZERO", "", times=2)),
        derive(
            GEMM,
            "whole_steps_only",
            "Leaves out the last step where tk does not divide K.",
            swap("ct.cdiv(a.shape[1], tk)", "a.shape[1] // tk"),
        ),
        derive(
            GEMM,
            "steps_of_another_size",
            "Walks as far as A has rows, which is K for square matrices only.",
            swap("a.shape[1]", "a.shape[0]"),
        ),
        derive(
            GEMM,
            "sums_in_bf16",
            "Rounds the sum to the output's dtype after every step.",
            swap("(columns), total)", "(columns), total).astype(c.dtype).astype(ct.float32)"),
        ),
        derive(
            GEMM,
            "wrong_row_of_b",
            "Takes row m of B's tiles instead of row n.",
            swap("load(b, (n, k)", "load(b, (m, k)"),
        ),
        derive(
            GEMM,
            "not_transposed",
            "Multiplies with B's tile as it lies, which has the wrong shape.",
            swap("ct.transpose(columns)", "columns"),
        ),
        derive(
            GEMM,
            "elements_for_tiles",
            "Steps through K in elements: most of these tiles lie outside of the matrix.",
            swap("ct.cdiv(a.shape[1], tk)", "0, a.shape[1], tk"),
        ),
    ],
    "07.2": [
        raster,
        row_after_row,
        last_strip_is_full,
        strip_along_its_rows,
        number_of_strips,
        column_and_row,
    ],
    "07.3": [none_ever, eight_warps_always, occupancy],
    "07.4": [
        derive(
            PERSISTENT,
            "one_tile_each",
            "A block stops after its first tile.",
            swap("rows * columns, ct.num_blocks(0)", "ct.bid(0) + 1"),
        ),
        derive(
            PERSISTENT,
            "whole_rounds_only",
            "Leaves out the last round, in which only some of the blocks have a tile.",
            swap("rows * columns, ", "rows * columns // ct.num_blocks(0) * ct.num_blocks(0), "),
        ),
        derive(
            PERSISTENT,
            "everybody_does_everything",
            "Steps by one instead of by the number of blocks, and one tile too far.",
            swap("rows * columns, ct.num_blocks(0)", "rows * columns + 1"),
            swap("grouped(tile, rows, columns, group)", "tile % rows, tile // rows"),
        ),
        derive(
            PERSISTENT,
            "in_raster_order",
            "Computes the right tiles in the order of their rows: `grouped` is not asked.",
            swap("grouped(tile, rows, columns, group)", "tile // columns, tile % columns"),
        ),
        derive(
            PERSISTENT,
            "strips_of_one_row",
            "Calls `grouped` with a group of its own.",
            swap("grouped(tile, rows, columns, group)", "grouped(tile, rows, columns, 1)"),
        ),
        derive(
            PERSISTENT,
            "neighbours_in_one_block",
            "Gives each block consecutive tiles, so that blocks which run together share nothing.",
            swap(
                "    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):",
                "    share = ct.cdiv(rows * columns, ct.num_blocks(0))\n"
                "    for tile in range(ct.bid(0) * share, min(ct.bid(0) * share + share, rows * columns)):",
            ),
        ),
        derive(
            PERSISTENT,
            "all_tiles_in_each_block",
            "Goes through all tiles that follow its first: right, and most of them are computed again.",
            swap("rows * columns, ct.num_blocks(0)", "rows * columns"),
        ),
        derive(
            TF32,
            "sum_goes_on",
            "Does not start the sum anew for the next tile.",
            without("total = ct.zeros("),
            swap("    for tile in", "    total = ct.zeros((tm, tn), ct.float32)\n    for tile in"),
        ),
    ],
    "07.5": [
        registers_only,
        shared_memory_only,
        one_stage,
        bf16_always,
        tile_of_c_in_shared_memory,
        says_nothing,
    ],
    "07.6": [
        derive(TF32, "through_fp32", "Leaves fp32 as it is: right, and without tensor cores.", swap(DTYPE, "a.dtype")),
        derive(TF32, "through_bf16", "Loses three bits more than tf32 does.", swap(DTYPE, "ct.bfloat16")),
        derive(TF32, "through_fp16", "Has tf32's bits and not its range.", swap(DTYPE, "ct.float16")),
    ],
    "07.7": [
        derive(
            FP8,
            "first_256_rows",
            "Has only one of the two accumulators.",
            without("lower = ct.full", "rest = ct.load", "lower = ct.mma", "(4, n)"),
        ),
        derive(
            FP8,
            "tile_1_of_64",
            "Counts the second tile of A in tiles of 256: it fetches rows 64 to 127.",
            swap("(4, k), (64, tk)", "(1, k), (64, tk)"),
        ),
        derive(
            FP8,
            "still_transposed",
            "Stores tiles of C transposed as if they were not: the shapes fit, since a store takes any.",
            swap("ct.transpose(upper.astype(c.dtype))", "ct.reshape(upper.astype(c.dtype), (256, tn))"),
            swap("ct.transpose(lower.astype(c.dtype))", "ct.reshape(lower.astype(c.dtype), (64, tn))"),
        ),
    ],
}
