"""Wrong answers to notebook 05.

WRONG: those that any machine can tell, by what they return, by not compiling or by the instructions they lack.
WRONG_WHEN_RUN: kernels that compile well and move the wrong bytes, or too many: a GPU tells, or the simulator.
"""

from tests.pages.change import derive, swap, without
from tests.pages.n05_copy_kernels import copies_by_tma, copies_of_rows, copies_through_tiles
from tests.pages.n05_copy_kernels.copies import SOLVED, coalesced, naive, staged, swizzled, transposed, vectorized
from tests.pages.table import answer

# 05.1 -----------------------------------------------------------------------------------------------------------


def one_sector_each(offsets, element_bytes, vector=1):
    """Does not share a sector among threads."""
    return len(offsets)


def bytes_over_32(offsets, element_bytes, vector=1):
    """Right only for a warp in one piece."""
    return -(-len(offsets) * element_bytes * vector // 32)


def cache_lines(offsets, element_bytes, vector=1):
    """Counts lines of 128 bytes."""
    return len({o * element_bytes // 128 for o in offsets})


def first_element_only(offsets, element_bytes, vector=1):
    """Forgets all but the first element of a vector."""
    return len({o * element_bytes // 32 for o in offsets})


def first_and_last_sector(offsets, element_bytes, vector=1):
    """Forgets the sectors between a wide vector's ends."""
    ends = [(o * element_bytes, (o + vector) * element_bytes - 1) for o in offsets]
    return len({byte // 32 for pair in ends for byte in pair})


def one_past_the_end(offsets, element_bytes, vector=1):
    """Takes in the byte after the vector."""
    spans = [(o * element_bytes // 32, (o + vector) * element_bytes // 32) for o in offsets]
    return len({n for first, last in spans for n in range(first, last + 1)})


# Kernels --------------------------------------------------------------------------------------------------------

VECTORISED, STAGED, TURN = (SOLVED[f"05.{n}"] for n in (4, 5, 6))
TURNED = "cute.make_layout((TURN, TURN), stride=(1, TURN))"

through_registers = derive(VECTORISED, "through_registers", "The vectorized copy, whatever is asked for.")

WRONG = {
    "05.1": [
        answer(
            "always_asks_for_vector",
            "drops the default of `vector`",
            lambda offsets, size, vector: len({b // 32 for o in offsets for b in range(o * size, (o + vector) * size)}),
            "missing 1 required positional argument: 'vector'",
        ),
        one_sector_each,
        bytes_over_32,
        cache_lines,
        first_element_only,
        first_and_last_sector,
        one_past_the_end,
    ],
    "05.4": [
        derive(
            VECTORISED,
            "one_element_vectors",
            "Coalesced, but each access moves one element.",
            swap("vector = 128 // src.element_type.width", "vector = 1"),
            swap("num_bits_per_copy=128", "num_bits_per_copy=src.element_type.width"),
        ),
        derive(
            VECTORISED,
            "vectors_down_a_column",
            "Vectors along the mode that is not contiguous: no 128-bit access can do that.",
            swap("make_layout((1, vector))", "make_layout((vector, 1))"),
        ),
        vectorized(
            "straight_through",
            "Each vector is stored before the next is loaded.",
            without("make_fragment_like", "from_src, registers"),
            swap("registers, to_dst", "from_src, to_dst"),
            words=("still uses ld.global after st.global",),
        ),
    ],
    "05.5": [through_registers],
    "05.6": [through_registers],
    "05.8": [through_registers, *copies_by_tma.WRONG],
}

WRONG_WHEN_RUN = {
    "05.2": [
        naive("copies_nothing", "Does nothing.", swap("dst[row, column] = src[row, column]", "pass")),
        naive(
            "unguarded_rows",
            "Guards the columns alone.",
            swap("if row < rows and column < columns", "if column < columns"),
        ),
        naive("turned", "Writes the transpose.", swap("dst[row, column] =", "dst[column, row] =")),
        naive("exchanged_blocks", "Takes its block's column for the row.", swap("down * TILE[0]", "across * TILE[0]")),
        naive(
            "one_column_short",
            "Leaves out each tile's last column.",
            swap("cutlass.range(TILE[1],", "cutlass.range(TILE[1] - 1,"),
        ),
        naive(
            "unguarded_columns",
            "Guards the rows and not the columns: it wraps into the next row, and writes past the end after the last.",
            swap("if row < rows and column < columns", "if row < rows"),
        ),
    ],
    "05.3": [
        coalesced(
            "down_the_columns",
            "Right, with neighboring threads in a column.",
            swap("column = across * TILE[1] + thread % TILE[1]", "column = across * TILE[1] + thread // TILE[0]"),
            swap("cutlass.range(0, TILE[0], together,", "cutlass.range(0, TILE[1], 1,"),
            swap("down * TILE[0] + m + thread // TILE[1]", "down * TILE[0] + thread % TILE[0]"),
            swap("if row", "column_m = column + m\n        if row"),
            swap("column < columns:", "column_m < columns:"),
            swap("dst[row, column] = src[row, column]", "dst[row, column_m] = src[row, column_m]"),
        ),
        coalesced(
            "unguarded_rows_too",
            "Guards the columns alone.",
            swap("if row < rows and column < columns", "if column < columns"),
        ),
        coalesced(
            "unguarded_columns_too",
            "Guards the rows alone.",
            swap("if row < rows and column < columns", "if row < rows"),
        ),
        coalesced(
            "steps_of_one",
            "Begins one row down.",
            swap("down * TILE[0] + m + thread // TILE[1]", "down * TILE[0] + m + thread // TILE[1] + 1"),
        ),
        coalesced("every_other_row", "Both halves of the block copy the same row.", swap(" + thread // TILE[1]", "")),
    ],
    "05.4": [
        vectorized(
            "loads_without_asking",
            "Reads beyond the edges.",
            swap("from_src, registers, pred=mask", "from_src, registers"),
        ),
        vectorized(
            "stores_without_asking",
            "Writes beyond the edges.",
            swap("registers, to_dst, pred=mask", "registers, to_dst"),
        ),
        derive(
            VECTORISED,
            "threads_down_first",
            "Neighboring threads in neighboring rows.",
            swap("stride=(side_by_side, 1)", "stride=(1, WIDE_THREADS // side_by_side)"),
            words=("touches 16 lines of 128 bytes",),
        ),
        derive(
            VECTORISED,
            "four_side_by_side",
            "Rows of 64 bytes for each row of threads.",
            swap("side_by_side = WIDE[1] // vector", "side_by_side = 4"),
            words=("touches 8 lines of 128 bytes",),
        ),
        derive(
            VECTORISED,
            "vectors_of_bf16",
            "Vectors of 8, whatever the element.",
            swap("make_layout((1, vector))", "make_layout((1, 8))"),
            words=("for fp32 it does not compile",),
        ),
        vectorized(
            "never_stores",
            "Forgets the way out.",
            without("registers, to_dst"),
            swap(
                "registers, pred=mask)",
                "registers, pred=mask)\n    if thread < 0:\n        cute.copy(tiled, registers, to_dst, pred=mask)",
            ),
        ),
        vectorized(
            "onto_itself",
            "Copies the source into the source.",
            swap("mine.partition_D(tile_of_block(dst, WIDE))", "mine.partition_D(tile_of_block(src, WIDE))"),
        ),
        vectorized(
            "whole_tiles_only",
            "No predicates: writes beyond the edges of a matrix that is not made of whole tiles.",
            swap(", pred=mask", "", times=2),
        ),
    ],
    "05.5": [
        staged(
            "whole_tiles",
            "Every thread copies the whole tile.",
            swap(
                "cute.copy(load, loads.partition_S(tile_of_block(src)), loads.partition_D(tile))",
                "cute.copy(load, tile_of_block(src), tile)",
            ),
            words=("and not the whole tile?",),
        ),
        staged("never_commits", "Waits for groups, and there are none.", without("commit_group()")),
        staged("neither_commits_nor_waits", "Goes on at once.", without("commit_group()", "wait_group(0)")),
        staged("lets_one_be_open", "wait_group off by one.", swap("wait_group(0)", "wait_group(1)")),
        staged(
            "barrier_before_the_wait",
            "Meets the others first and waits then.",
            without("wait_group(0)"),
            swap("sync_threads()", "sync_threads()\n    cute.arch.cp_async_wait_group(0)"),
        ),
        staged(
            "barrier_for_one_warp",
            "A barrier that only the first warp reaches.",
            swap("    cute.arch.sync_threads()", "    if thread < 32:\n        cute.arch.sync_threads()"),
        ),
        staged("no_barrier_after_it", "Reads what others fetched.", without("sync_threads()"), words=("barrier",)),
        staged("never_waits", "Reads the tile before the copies of cp.async have arrived.", without("wait_group(0)")),
    ],
    "05.6": [
        transposed(
            "two_barriers",
            "One more than it needs.",
            swap("sync_threads()", "sync_threads()\n    cute.arch.sync_threads()"),
        ),
        transposed(
            "no_barrier", "Reads what other threads write, without waiting for them.", without("sync_threads()")
        ),
        derive(
            TURN, "both_turned", "Reads as it wrote: nothing is turned.", swap("stride=(TURN, 1)", "stride=(1, TURN)")
        ),
        derive(TURN, "overlapping_rows", "Rows of 63 places.", swap("stride=(TURN, 1)", "stride=(TURN - 1, 1)")),
        derive(
            TURN,
            "beyond_the_memory",
            "Rows of 65 places, in memory for 64.",
            swap("stride=(TURN, 1)", "stride=(TURN + 1, 1)"),
            swap("stride=(1, TURN)", "stride=(1, TURN + 1)"),
        ),
        transposed(
            "barrier_of_one_warp",
            "A barrier that only the first warp reaches.",
            swap("    cute.arch.sync_threads()", "    if thread < 32:\n        cute.arch.sync_threads()"),
        ),
        derive(
            TURN,
            "tiles_not_turned",
            "Puts each tile in its transposed place and leaves its elements as they were.",
            swap("stride=(1, TURN)", "stride=(TURN, 1)"),
        ),
    ],
    "05.7": [
        swizzled("no_swizzle", "Exercise 05.6 again.", swap("make_swizzle(5, 0, 6)", "make_swizzle(0, 0, 0)")),
        swizzled("four_bits", "Mixes half of the banks.", swap("make_swizzle(5, 0, 6)", "make_swizzle(4, 0, 6)")),
        swizzled(
            "wrong_bits",
            "Mixes bits of the column into the column.",
            swap("make_swizzle(5, 0, 6)", "make_swizzle(5, 0, 5)"),
        ),
        swizzled(
            "shifted_too_far", "Takes the row's upper bits.", swap("make_swizzle(5, 0, 6)", "make_swizzle(5, 0, 7)")
        ),
        swizzled(
            "swizzled_on_one_side",
            "Writes swizzled and reads plain.",
            swap(f"cute.make_composed_layout(swizzle, 0, {TURNED})", TURNED),
        ),
        swizzled(
            "identity_swizzle",
            "Right, and as slow as without: Swizzle⟨0, 0, 6⟩ changes nothing.",
            swap("make_swizzle(5, 0, 6)", "make_swizzle(0, 0, 6)"),
        ),
    ],
    "05.8": copies_by_tma.WRONG_WHEN_RUN,
}

for exercise, more in {**copies_of_rows.MORE, **copies_through_tiles.MORE}.items():
    WRONG_WHEN_RUN[exercise] = [*WRONG_WHEN_RUN.get(exercise, ()), *more]
