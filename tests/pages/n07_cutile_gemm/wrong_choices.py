"""Wrong answers to notebook 07: the order of blocks, hints, and what fits."""

import numpy as np

from tests.pages.n07_cutile_gemm.cutile_gemms import RIGHT
from tests.pages.table import answer, says


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
    """Goes through a strip row by row, so neighbors share A and not B."""
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


@says("07.4 calls it in one, which cuTile cannot compile")
def a_list_of_tiles(block, rows, columns, group):
    """Lists all tiles and takes one, which no kernel can."""
    tops = range(0, rows, group)
    return [(m, n) for top in tops for n in range(columns) for m in range(top, min(top + group, rows))][block]


@says("07.4 calls it in one", "Use only arithmetic and `min`")
def in_numpy(block, rows, columns, group):
    """NumPy's functions, which no kernel has."""
    strip, place = np.divmod(block, group * columns)
    column, row = np.divmod(place, min(group, rows - strip * group))
    return strip * group + row, column


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


def none_ever(tm, tn):
    """No hint for any tile."""
    return {}


def eight_warps_always(tm, tn):
    """Eight warps where four will do, and too few threads for the largest tile."""
    return {"num_worker_warps": 8}


def occupancy(tm, tn):
    """A hint that makes it worse: blocks that share an SM share its registers."""
    return {"occupancy": 2}


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


WRONG = {
    "07.2": [
        raster,
        row_after_row,
        last_strip_is_full,
        strip_along_its_rows,
        number_of_strips,
        column_and_row,
        a_list_of_tiles,
        in_numpy,
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
        answer(
            "by_n_alone",
            "Looks at one side, as if M were 128 unless N is 256.",
            lambda tm, tn: (
                {} if tn < 256 else {"num_worker_warps": 8} if tm < 256 else {"num_ctas": 2, "num_worker_warps": 8}
            ),
            "stack",
        ),
        answer("two_ctas_always", "Two CTAs where one will do.", lambda tm, tn: {"num_ctas": 2}, "needs no hint"),
        answer(
            "everything_always",
            "Both hints for every tile.",
            lambda tm, tn: {"num_ctas": 2, "num_worker_warps": 8},
            "needs no hint",
        ),
        answer(
            "sixteen_ctas",
            "Far more threads than the accumulators need.",
            lambda tm, tn: {} if tm * tn <= 128 * 128 else {"num_ctas": 16},
            "accumulators, and has little to do",
        ),
        answer("none", "None for a tile that fits.", lambda tm, tn: None, "should give a dict"),
        answer("pairs_of", "A list of pairs.", lambda tm, tn: [("num_ctas", 2)], "should give a dict"),
        answer(
            "sixteen_warps",
            "More warps than cuTile takes here.",
            lambda tm, tn: {} if tm * tn <= 16384 else {"num_worker_warps": 16},
            "4 or 8",
        ),
        answer(
            "a_float",
            "True division for the number of CTAs.",
            lambda tm, tn: {"num_ctas": 2 * tm * tn / (tm * tn)} if tm * tn > 128 * 128 else {},
            "bytes on its stack",
        ),
        answer(
            "the_tile_itself",
            "A tuple where a number is wanted.",
            lambda tm, tn: {"num_ctas": (2, 1)},
            "num_ctas is 1, 2, 4, 8 or 16",
        ),
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
        answer("all_of_an_sm", "228 KiB, of which the system keeps one.", in_doubt(room=228 * 1024)),
        answer("thousands", "Takes a KiB for 1,000 bytes.", in_doubt(room=227 * 1000)),
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
}
