"""Wrong answers to notebook 07. Kernels fail where they are interpreted, so no GPU is needed."""

import tempfile
from pathlib import Path
from runpy import run_path

import cuda.tile as ct
import torch

from tests.wrong.change import derive, swap, without
from tests.wrong.table import answer, says
from tutorlib.course.answers import load_answers
from tutorlib.course.source import parse
from tutorlib.paths import SOLUTIONS

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


def strips(block, rows, columns, group):
    """The right order, as the place in a strip and the strip's height."""
    strip, place = divmod(block, group * columns)
    return strip, place, min(group, rows - strip * group)


def pairs(name, what, order, *words):
    """An answer that makes its tile of the strip, the place in it and its height."""
    return answer(
        name,
        what,
        lambda block, rows, columns, group: order(*strips(block, rows, columns, group), columns, group),
        *words,
    )


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


def square_tiles_alone(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Both tiles as high as A's."""
    stages = 2 * 2 * tm * tk * element_bytes * occupancy
    return tm * tn * occupancy <= 128 * 32 * num_ctas * warps and stages <= 227 * 1024 * num_ctas


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


def in_doubt(**changes):
    """A rule with something else in it: each part of `fits` by name."""

    def rule(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
        values = {
            "threads": num_ctas * warps * 32,
            "stages": 2,
            "room": 227 * 1024,
            "at_most": 128,
            "sharing": occupancy,
        }
        values |= {name: part(num_ctas, warps, occupancy) if callable(part) else part for name, part in changes.items()}
        registers = tm * tn / values["threads"] * values["sharing"]
        shared = values["stages"] * (tm + tn) * tk * element_bytes / values.get("ctas", num_ctas) * occupancy
        return registers <= values["at_most"] and shared <= values["room"]

    return rule


# Host functions -----------------------------------------------------------------------------------------------------


def split(splits=None, grid=None, second=None, dtype=torch.float32, room=torch.empty, first=True):
    """A function like the solution's with something else in one place. splits: of (sms, tiles, steps)."""

    def split_gemm(a, b, c):
        rows, columns, steps = ct.cdiv(c.shape[0], 128), ct.cdiv(c.shape[1], 128), ct.cdiv(a.shape[1], 64)
        sms = torch.cuda.get_device_properties(a.device).multi_processor_count
        n = splits(sms, rows * columns, steps) if splits else max(1, min(sms // (rows * columns), steps))
        parts = room(n, *c.shape, device=a.device, dtype=dtype)
        stream = torch.cuda.current_stream()
        where = grid(rows, columns, n) if grid else (rows, columns, n)
        if first:
            ct.launch(stream, where, PARTS, (a, b, parts, 128, 128, 64))
        if second != ():
            ct.launch(stream, second or (rows, columns), ADD_PARTS, (parts, c, 128, 128))

    return split_gemm


def torch_adds(a, b, c):
    """Leaves the second pass to torch."""
    parts = torch.empty(1, *c.shape, device=a.device)
    grid = (ct.cdiv(c.shape[0], 128), ct.cdiv(c.shape[1], 128), 1)
    ct.launch(torch.cuda.current_stream(), grid, PARTS, (a, b, parts, 128, 128, 64))
    c.copy_(parts.sum(0))


def load_page():
    """The names of the solved page's functions that are no exercise's answer."""
    code = next(cell for cell in parse(SOLUTIONS / "07_cutile_gemm.py") if "def add_parts" in cell.solved)
    file = (
        Path(tempfile.mkdtemp(prefix="tutor-page-")) / "page.py"
    )  # stays: a kernel's source is read when it is compiled
    file.write_text("import cuda.tile as ct\n\n" + code.solved, encoding="utf-8")
    return run_path(str(file))


# Kernels ----------------------------------------------------------------------------------------------------------

RIGHT = load_answers("07_cutile_gemm")
GEMM, PERSISTENT, TF32, FP8, PARTS = (RIGHT[id] for id in ("07.1", "07.4", "07.6", "07.7", "07.8"))
ADD_PARTS = load_page()["add_parts"]
DTYPE = "ct.tfloat32 if a.dtype == ct.float32 else a.dtype"

WRONG = {
    "07.1": [
        says("does what you are asked to write")(
            derive(
                GEMM,
                "a_tile_of_product",
                "Calls the page's own walk along K.",
                swap(
                    "total = ct.zeros((tm, tn), ct.float32)",
                    "total = tile_gemm.tile_of_product(a, b, m, n, tm, tn, tk)",
                ),
            )
        ),
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
        says("right, but it does more than it must", "it has stored before")(
            derive(
                GEMM,
                "stores_in_the_loop",
                "Stores the sum so far after every step.",
                swap("\n    ct.store", "\n        ct.store"),
            )
        ),
        says("That is the last step's product alone")(
            derive(
                GEMM,
                "no_sum",
                "Starts from zero in every step.",
                swap("(columns), total)", "(columns), ct.zeros((tm, tn), ct.float32))"),
            )
        ),
        says("The first step along K is missing")(
            derive(
                GEMM,
                "starts_at_one",
                "Leaves out the first step.",
                swap("range(ct.cdiv(a.shape[1], tk))", "range(1, ct.cdiv(a.shape[1], tk))"),
            )
        ),
        derive(
            GEMM,
            "one_step_short",
            "Leaves out the last step, whole or not.",
            swap("range(ct.cdiv(a.shape[1], tk))", "range(ct.cdiv(a.shape[1], tk) - 1)"),
        ),
        derive(
            GEMM,
            "one_step_more",
            "Reads a tile beyond K, which happens to be zero.",
            swap("range(ct.cdiv(a.shape[1], tk))", "range(ct.cdiv(a.shape[1], tk) + 1)"),
        ),
        derive(GEMM, "same_step", "Loads B's first tile in every step.", swap("load(b, (n, k)", "load(b, (n, 0)")),
        derive(GEMM, "index_turned", "Takes (k, m) for A's index.", swap("load(a, (m, k)", "load(a, (k, m)")),
        derive(GEMM, "stores_turned", "Stores to tile (n, m).", swap("store(c, (m, n)", "store(c, (n, m)")),
        derive(
            GEMM,
            "blocks_turned",
            "Takes x for the columns' axis.",
            swap("ct.bid(0), ct.bid(1)", "ct.bid(1), ct.bid(0)"),
        ),
        derive(
            GEMM,
            "padding_one",
            "Pads with infinity.",
            swap("padding_mode=ZERO", "padding_mode=ct.PaddingMode.POS_INF", times=2),
        ),
        says("does not compile")(
            derive(
                GEMM,
                "bf16_accumulator",
                "An accumulator in bf16, which mma has not.",
                swap("ct.float32", "ct.bfloat16"),
            )
        ),
    ],
    "07.2": [
        raster,
        row_after_row,
        last_strip_is_full,
        strip_along_its_rows,
        number_of_strips,
        column_and_row,
        pairs(
            "strip_for_row",
            "Gives the strip's number for the row.",
            lambda strip, place, height, columns, group: (strip + place % height, place // height),
        ),
        pairs(
            "upside_down",
            "Strips from the last column to the first.",
            lambda strip, place, height, columns, group: (
                strip * group + place % height,
                columns - 1 - place // height,
            ),
        ),
        pairs(
            "group_for_height",
            "Divides by the group in one of two places.",
            lambda strip, place, height, columns, group: (strip * group + place % height, place // group),
        ),
        pairs(
            "a_list",
            "A list, not a tuple.",
            lambda strip, place, height, columns, group: [strip * group + place % height, place // height],
            "a tuple of two integers",
        ),
        pairs(
            "real_numbers",
            "True division.",
            lambda strip, place, height, columns, group: (strip * group + place % height, place / height),
            "a tuple of two integers",
        ),
        pairs(
            "one_number",
            "A number for the tile.",
            lambda strip, place, height, columns, group: (strip * group + place % height) * columns + place // height,
        ),
        pairs(
            "off_by_a_strip",
            "Begins with the second strip.",
            lambda strip, place, height, columns, group: ((strip + 1) * group + place % height, place // height),
        ),
        pairs(
            "zigzag_of_columns",
            "Every second strip backwards.",
            lambda strip, place, height, columns, group: (
                strip * group + place % height,
                place // height if strip % 2 == 0 else columns - 1 - place // height,
            ),
        ),
        answer(
            "square_groups",
            "Squares of group × group, one below the other.",
            lambda block, rows, columns, group: (
                block // (group * columns) * group + block % group,
                block // group % columns,
            ),
        ),
        answer(
            "always_two",
            "Strips of two rows.",
            lambda block, rows, columns, group: RIGHT["07.2"](block, rows, columns, 2),
        ),
    ],
    "07.3": [
        none_ever,
        eight_warps_always,
        occupancy,
        answer("two_ctas_always", "Two CTAs where one will do.", lambda tm, tn: {"num_ctas": 2}, "needs no hint"),
        answer(
            "everything_always",
            "Both hints for every tile.",
            lambda tm, tn: {"num_ctas": 2, "num_worker_warps": 8},
            "needs no hint",
        ),
        answer("none", "None for a tile that fits.", lambda tm, tn: None, "should give a dict"),
        answer("pairs_of", "A list of pairs.", lambda tm, tn: [("num_ctas", 2)], "should give a dict"),
        answer(
            "sixteen_warps",
            "More warps than cuTile takes here.",
            lambda tm, tn: {} if tm * tn <= 16384 else {"num_worker_warps": 16},
            "4 or 8",
        ),
        answer("four_ctas", "Four CTAs.", lambda tm, tn: {} if tm * tn <= 16384 else {"num_ctas": 4}, "1 or 2"),
        answer("by_the_longer_side", "Looks at tn alone.", lambda tm, tn: {} if tn <= 128 else {"num_worker_warps": 8}),
        answer(
            "warps_from_256",
            "Hints for the largest tile only.",
            lambda tm, tn: {"num_ctas": 2, "num_worker_warps": 8} if tm * tn > 32768 else {},
        ),
        answer(
            "warps_for_all_large",
            "Eight warps for 256×256, too.",
            lambda tm, tn: {"num_worker_warps": 8} if tm * tn > 16384 else {},
            "on its stack",
        ),
        answer(
            "other_name",
            "The name that C++ has for it.",
            lambda tm, tn: {"num_worker_warps_per_cta": 8},
            "the hints to choose",
        ),
    ],
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
        says("in another order than asked for", "in strips of 2 rows", "yours gives them to block")(
            derive(
                PERSISTENT,
                "raster_order",
                "Down the columns, in place of strips.",
                swap("grouped(tile, rows, columns, group)", "tile % rows, tile // rows"),
            )
        ),
        says("in another order than asked for")(
            derive(
                PERSISTENT,
                "row_after_row",
                "Along the rows, in place of strips.",
                swap("grouped(tile, rows, columns, group)", "tile // columns, tile % columns"),
            )
        ),
        says("in another order than asked for")(
            derive(PERSISTENT, "strips_of_one", "Strips of one row.", swap("columns, group)", "columns, 1)"))
        ),
        says("in another order than asked for")(
            derive(
                PERSISTENT,
                "a_run_for_each",
                "Gives each block neighbouring tiles.",
                swap(
                    "range(ct.bid(0), rows * columns, ct.num_blocks(0))",
                    "range(ct.bid(0) * ct.cdiv(rows * columns, ct.num_blocks(0)), min(rows * columns, (ct.bid(0) + 1) * ct.cdiv(rows * columns, ct.num_blocks(0))))",
                ),
            )
        ),
        derive(
            PERSISTENT,
            "rows_for_columns",
            "Counts the columns with tm.",
            swap("ct.cdiv(c.shape[1], tn)", "ct.cdiv(c.shape[1], tm)"),
        ),
        derive(
            PERSISTENT,
            "floors",
            "Leaves out tiles that hang over.",
            swap("ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)", "c.shape[0] // tm, c.shape[1] // tn"),
        ),
        derive(PERSISTENT, "from_zero", "Every block starts at tile 0.", swap("range(ct.bid(0),", "range(0,")),
        derive(
            PERSISTENT,
            "second_tile_first",
            "Starts one round late.",
            swap("range(ct.bid(0),", "range(ct.bid(0) + ct.num_blocks(0),"),
        ),
        derive(PERSISTENT, "turned", "Exchanges row and column.", swap("m, n = grouped", "n, m = grouped")),
        derive(
            PERSISTENT,
            "sizes_of_a",
            "Takes C's columns for A's.",
            swap("ct.cdiv(c.shape[1], tn)", "ct.cdiv(a.shape[1], tn)"),
        ),
        derive(
            PERSISTENT,
            "rounded_first",
            "Rounds to bf16 twice, and stores bf16 of an integer.",
            swap("product.astype(c.dtype)", "product.astype(ct.int32).astype(c.dtype)"),
        ),
    ],
    "07.5": [
        square_tiles_alone,
        registers_only,
        shared_memory_only,
        one_stage,
        bf16_always,
        tile_of_c_in_shared_memory,
        says_nothing,
        answer("more_registers", "255 accumulators for a thread.", in_doubt(at_most=255)),
        answer("strictly_less", "Refuses what just fits.", in_doubt(at_most=127)),
        answer("three_stages", "Asks for three stages.", in_doubt(stages=3)),
        answer("all_of_l1", "256 KiB of shared memory.", in_doubt(room=256 * 1024)),
        answer("a_block_of_48", "The 48 KiB that need no opting in.", in_doubt(room=48 * 1024)),
        answer(
            "threads_of_one_cta",
            "Forgets that two CTAs share the accumulator.",
            in_doubt(threads=lambda ctas, warps, occupancy: warps * 32),
        ),
        answer(
            "warps_for_threads",
            "Counts warps, not threads.",
            in_doubt(threads=lambda ctas, warps, occupancy: ctas * warps),
        ),
        answer("four_warps_always", "Forgets the hint.", in_doubt(threads=lambda ctas, warps, occupancy: ctas * 128)),
        answer("registers_unshared", "Gives each block all registers.", in_doubt(sharing=1)),
        answer("each_cta_holds_all", "Gives both CTAs of a pair all the tiles.", in_doubt(ctas=1)),
        answer("yes", "Takes everything.", lambda *args: True),
    ],
    "07.6": [
        derive(TF32, "through_fp32", "Leaves fp32 as it is: right, and without tensor cores.", swap(DTYPE, "a.dtype")),
        derive(TF32, "through_bf16", "Loses three bits more than tf32 does.", swap(DTYPE, "ct.bfloat16")),
        derive(TF32, "through_fp16", "Has tf32's bits and not its range.", swap(DTYPE, "ct.float16")),
        says("That is what factors in bf16 give")(
            derive(TF32, "cast_to_bf16", "Casts to bf16 where A is fp32.", swap("ct.tfloat32", "ct.bfloat16"))
        ),
        says("range of 65,504")(
            derive(TF32, "cast_to_fp16", "Casts to fp16 where A is fp32.", swap("ct.tfloat32", "ct.float16"))
        ),
        derive(TF32, "never_cast", "Computes the dtype and does not use it.", swap(").astype(dtype)", ")", times=2)),
        derive(TF32, "through_fp8", "Four bits of fraction.", swap("ct.tfloat32", "ct.float8_e4m3fn")),
        derive(
            TF32,
            "no_sum_between_steps",
            "Starts from zero in every step.",
            swap("ct.transpose(y), total)", "ct.transpose(y), ct.zeros((tm, tn), ct.float32))"),
        ),
        derive(
            TF32,
            "sum_in_bf16",
            "Rounds the sum after every step.",
            swap("ct.transpose(y), total)", "ct.transpose(y), total).astype(ct.bfloat16).astype(ct.float32)"),
        ),
        derive(TF32, "floored", "Leaves out a partial step.", swap("ct.cdiv(a.shape[1], tk)", "a.shape[1] // tk")),
        derive(TF32, "no_padding", "Undetermined beyond K.", swap(", padding_mode=ZERO", "", times=2)),
        derive(TF32, "wrong_rows", "Takes rows m of B.", swap("load(b, (n, k)", "load(b, (m, k)")),
        derive(TF32, "steps_by_rows", "Walks as far as A has rows.", swap("a.shape[1], tk", "a.shape[0], tk")),
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
        derive(
            FP8,
            "first_rows_again",
            "Loads rows 0 to 63 for the second accumulator.",
            swap("(4, k), (64, tk)", "(0, k), (64, tk)"),
        ),
        derive(
            FP8,
            "second_tile_of_256",
            "A's second tile of 256 rows is 256 to 511.",
            swap("(4, k), (64, tk)", "(1, k), (256, tk)"),
        ),
        derive(
            FP8,
            "accumulators_swapped",
            "Stores each to the other's place.",
            swap("(0, n), ct.transpose(upper", "(0, n), ct.transpose(lower"),
            swap("(4, n), ct.transpose(lower", "(4, n), ct.transpose(upper"),
        ),
        derive(
            FP8,
            "stored_to_row_1",
            "Counts C's tiles in 256 rows.",
            swap("(4, n), ct.transpose", "(1, n), ct.transpose"),
        ),
        derive(FP8, "upper_alone", "Never stores the second accumulator.", without("(4, n)")),
        derive(
            FP8,
            "upper_from_lower",
            "Adds the second product to the first sum.",
            swap(
                "lower = ct.mma(slab, ct.transpose(rest), lower",
                "lower = ct.mma(slab, ct.transpose(rest), ct.zeros((tn, 64), ct.float32)",
            ),
        ),
        derive(FP8, "first_step_only", "One step along K.", swap("range(ct.cdiv(a.shape[1], tk))", "range(1)")),
        derive(FP8, "floored", "Leaves out a partial step.", swap("ct.cdiv(a.shape[1], tk)", "a.shape[1] // tk")),
        derive(
            FP8,
            "one_slab",
            "Every block does its first slab and stops.",
            swap("ct.cdiv(b.shape[0], tn), ct.num_blocks(0)", "ct.bid(0) + 1"),
        ),
        derive(
            FP8,
            "everything",
            "Every block does all slabs from its own on.",
            swap("ct.cdiv(b.shape[0], tn), ct.num_blocks(0)", "ct.cdiv(b.shape[0], tn)"),
        ),
        derive(
            FP8, "wrong_slab", "Stores to the step's column.", swap("(0, n), ct.transpose", "(0, n + 1), ct.transpose")
        ),
    ],
    "07.8": [
        derive(
            PARTS,
            "one_does_it_all",
            "Part 0 has all the steps, the others add zeros.",
            swap("range(part * run, min(steps, part * run + run))", "range(0, steps if part == 0 else 0)"),
        ),
        derive(
            PARTS,
            "all_do_it_all",
            "Each part has all the steps.",
            swap("range(part * run, min(steps, part * run + run))", "range(steps)"),
        ),
        says("lies outside a")(
            derive(
                PARTS,
                "runs_past_the_end",
                "The last part goes beyond K.",
                swap("min(steps, part * run + run)", "part * run + run"),
            )
        ),
        derive(
            PARTS,
            "floored_runs",
            "Drops the steps that are left over.",
            swap("run = ct.cdiv(steps, parts.shape[0])", "run = steps // parts.shape[0]"),
        ),
        derive(
            PARTS,
            "floored_steps",
            "Leaves out a partial step.",
            swap("steps = ct.cdiv(a.shape[1], tk)", "steps = a.shape[1] // tk"),
        ),
        derive(
            PARTS,
            "every_other",
            "Deals the steps out in turns.",
            swap("range(part * run, min(steps, part * run + run))", "range(part, steps, parts.shape[0])"),
        ),
        derive(PARTS, "part_zero", "Stores every part to the first place.", swap("(part, m, n)", "(0, m, n)")),
        derive(
            PARTS, "starts_at_zero", "Every part begins with the first step.", swap("range(part * run,", "range(0,")
        ),
        derive(PARTS, "no_padding", "Undetermined beyond K.", swap(", padding_mode=ZERO", "", times=2)),
        derive(
            PARTS,
            "in_bf16",
            "Rounds the parts to bf16.",
            swap(
                "ct.reshape(total, (1, tm, tn))",
                "ct.reshape(total.astype(ct.bfloat16).astype(ct.float32), (1, tm, tn))",
            ),
        ),
        derive(
            PARTS,
            "two_parts",
            "Takes two for their number.",
            swap("ct.cdiv(steps, parts.shape[0])", "ct.cdiv(steps, 2)"),
        ),
        says("more than it must")(
            derive(
                PARTS,
                "stores_in_the_loop",
                "Stores after every step, and nothing where there is none.",
                swap(
                    "\n    ct.store",
                    "\n    ct.store(parts, (part, m, n), ct.zeros((1, tm, tn), ct.float32))\n    ct.store",
                ),
            )
        ),
    ],
    "07.9": [
        answer(
            "one_part", "Never cuts K.", split(splits=lambda sms, tiles, steps: 1), "3 multiprocessors", "has 1 blocks"
        ),
        answer("always_three", "Cuts K everywhere.", split(splits=lambda sms, tiles, steps: 3)),
        answer(
            "by_multiprocessors",
            "As many parts as there are multiprocessors.",
            split(splits=lambda sms, tiles, steps: min(sms, steps)),
            "extra work",
        ),
        answer(
            "more_than_steps",
            "Parts without a step.",
            split(splits=lambda sms, tiles, steps: max(1, sms // tiles)),
            "some have nothing to do",
        ),
        answer(
            "no_part",
            "No part where there are more tiles.",
            split(splits=lambda sms, tiles, steps: min(sms // tiles, steps)),
        ),
        answer("flat_grid", "A grid of two sizes.", split(grid=lambda rows, columns, n: (rows, columns))),
        answer(
            "parts_first", "The grid's axes in another order.", split(grid=lambda rows, columns, n: (n, rows, columns))
        ),
        answer(
            "list_grid",
            "A list for a grid.",
            split(grid=lambda rows, columns, n: [rows, columns, n]),
            "the grid should be a tuple",
        ),
        answer("one_block_adds", "The second pass has one block.", split(second=(1, 1))),
        answer("nobody_adds", "Leaves out the second pass.", split(second=()), "never wrote it"),
        answer("nobody_multiplies", "Leaves out the first pass.", split(first=False)),
        answer("parts_in_bf16", "Rounds each part.", split(dtype=torch.bfloat16)),
        says("no kernel that it launches stores to c")(torch_adds),
    ],
}
