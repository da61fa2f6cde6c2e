"""More wrong answers to notebook 05: sectors, and copies through registers."""

from tests.pages.change import copy_of, derive, swap, without
from tests.pages.n05_copy_kernels.copies import BOTH, MOVE, SOLVED, coalesced, naive, vectorized
from tests.pages.table import answer
from tutorlib.exercises.n05_copy_kernels import exercises as n05_copy_kernels

sectors = copy_of(n05_copy_kernels).sectors


def spans(offsets, element_bytes, vector, size):
    """The aligned pieces of `size` bytes that are touched."""
    starts = [(o * element_bytes, (o + vector) * element_bytes - 1) for o in offsets]
    return {n for first, last in starts for n in range(first // size, last // size + 1)}


TILED_LOAD = "cute.copy(tiled, from_src, registers"
TILED_STORE = "cute.copy(tiled, registers, to_dst"


MORE = {
    "05.1": [
        answer(
            "lines_of_spans",
            "Counts lines of 128 bytes, vectors included.",
            lambda offsets, element_bytes, vector=1: len(spans(offsets, element_bytes, vector, 128)),
            "a sector is 32",
        ),
        answer(
            "words_of_16",
            "Counts vectors of 16 bytes.",
            lambda offsets, element_bytes, vector=1: len(spans(offsets, element_bytes, vector, 16)),
        ),
        answer(
            "offsets_in_bytes",
            "Takes elements for bytes.",
            lambda offsets, element_bytes, vector=1: sectors(offsets, 1, vector),
            "multiply the offsets by the size",
        ),
        answer(
            "each_for_itself",
            "Adds up the threads' sectors.",
            lambda offsets, element_bytes, vector=1: sum(sectors([o], element_bytes, vector) for o in offsets),
            "it comes once",
        ),
        answer(
            "different_offsets",
            "Counts different elements.",
            lambda offsets, element_bytes, vector=1: len(set(offsets)),
        ),
        answer(
            "from_first_to_last",
            "All that lies between the outermost threads.",
            lambda offsets, element_bytes, vector=1: (
                ((max(offsets) + vector) * element_bytes - 1) // 32 - min(offsets) * element_bytes // 32 + 1
            ),
        ),
        answer(
            "the_first_thread",
            "One thread's price times 32.",
            lambda offsets, element_bytes, vector=1: 32 * sectors(offsets[:1], element_bytes, vector),
        ),
        answer(
            "forgets_vector",
            "vector is always 1.",
            lambda offsets, element_bytes, vector=1: sectors(offsets, element_bytes),
            "may be in another sector than its first",
        ),
        answer(
            "vector_in_bytes",
            "Adds the vector's elements as bytes.",
            lambda offsets, element_bytes, vector=1: len(
                {b // 32 for o in offsets for b in (o * element_bytes, o * element_bytes + vector - 1)}
            ),
        ),
        answer(
            "the_set",
            "Returns which, not how many.",
            lambda offsets, element_bytes, vector=1: spans(offsets, element_bytes, vector, 32),
        ),
        answer(
            "bytes_wanted",
            "Bytes over 32, by different elements.",
            lambda offsets, element_bytes, vector=1: -(-len(set(offsets)) * element_bytes * vector // 32),
        ),
        answer(
            "at_least_a_line",
            "Four sectors come together.",
            lambda offsets, element_bytes, vector=1: 4 * len(spans(offsets, element_bytes, vector, 128)),
        ),
    ],
    "05.2": [
        naive("no_guard_naive", "Guards nothing.", swap(BOTH, "if True"), words=("lies outside",)),
        naive(
            "a_plain_loop",
            "range: the compiler unrolls a part of it.",
            swap("cutlass.range(TILE[1], unroll_full=True)", "range(TILE[1])"),
            words=("the loop around it is not unrolled",),
        ),
        naive(
            "clamped_rows",
            "No predicate: the threads outside copy the last row and column again.",
            swap(
                "if row < rows and column < columns:\n            dst[row, column] = src[row, column]",
                "at = (min(row, rows - 1), min(column, columns - 1))\n        dst[at] = src[at]",
            ),
            words=("1,536 st.global instructions; 1,000 are enough",),
        ),
        naive(
            "half_of_the_threads",
            "64 threads copy two rows each.",
            swap("down * TILE[0] + thread", "down * TILE[0] + 2 * thread"),
            swap(
                f"        if row < rows and column < columns:\n            {MOVE}",
                "        if thread < THREADS // 2:\n            for row_of_two in cutlass.range_constexpr(2):\n"
                "                at = row + row_of_two\n                if at < rows and column < columns:\n"
                "                    dst[at, column] = src[at, column]",
            ),
            words=("4 of its 8 warps do all of the work",),
        ),
        naive(
            "needless_barrier",
            "A barrier after the loop.",
            swap(MOVE, f"{MOVE}\n    cute.arch.sync_threads()"),
            words=("bar.sync/st.shared instructions; 0 are enough",),
        ),
        naive("either_guard", "or for and.", swap("row < rows and", "row < rows or"), words=("lies outside",)),
        naive("guards_exchanged_naive", "Rows against columns.", swap(BOTH, "if row < columns and column < rows")),
        naive("one_row_too_far", "<= for <.", swap("row < rows", "row <= rows"), words=("lies outside",)),
        naive("row_of_columns", "Tiles of 64 rows.", swap("down * TILE[0]", "down * TILE[1]")),
        naive("columns_of_rows", "Tiles of 128 columns.", swap("across * TILE[1]", "across * TILE[0]")),
        naive("half_of_the_row", "Copies 32 of 64.", swap("cutlass.range(TILE[1],", "cutlass.range(TILE[1] // 2,")),
        naive("first_tile_of_all", "Forgets which block it is.", swap("across * TILE[1] + n", "n")),
        naive("onto_itself_naive", "src onto src.", swap("dst[row, column] =", "src[row, column] =")),
        naive("reads_the_first_column", "src[row, 0].", swap("= src[row, column]", "= src[row, 0]")),
        naive(
            "leaves_the_loop",
            "break at the edge.",
            swap(BOTH, "if column >= columns:\n            break\n        if row < rows"),
            words=("cannot be left by `break`",),
        ),
        naive(
            "asks_the_shape",
            "A size is no tuple.",
            swap(BOTH, "if row < src.shape and column < columns"),
            words=("A shape is a tuple",),
        ),
    ],
    "05.3": [
        coalesced("no_guard_coalesced", "Guards nothing.", swap(BOTH, "if True"), words=("lies outside",)),
        coalesced(
            "a_plain_loop_down",
            "range: the compiler unrolls a part of it.",
            swap("cutlass.range(0, TILE[0], together, unroll_full=True)", "range(0, TILE[0], together)"),
            words=("the loop around it is not unrolled",),
        ),
        coalesced(
            "half_of_the_threads",
            "64 threads copy all rows.",
            swap("if row < rows", "if thread < TILE[1] and row < rows"),
            swap("THREADS // TILE[1]  #", "1  #"),
            words=("4 of its 8 warps do all of the work",),
        ),
        coalesced("the_whole_block_in_a_row", "128 threads along 64 columns.", swap("thread % TILE[1]", "thread")),
        coalesced("half_of_the_rows", "Steps of four rows.", swap("TILE[0], together,", "TILE[0], 2 * together,")),
        coalesced(
            "pairs_of_threads",
            "Neighbors two apart: half of each sector in vain.",
            swap("thread % TILE[1]", "(thread % 32 * 2 + thread // 32 % 2)"),
            words=("sectors are used in part",),
        ),
        coalesced("half_the_tile", "Ends in the middle.", swap("range(0, TILE[0],", "range(0, TILE[0] // 2,")),
        coalesced("rows_of_rows", "thread // 128.", swap("thread // TILE[1]", "thread // TILE[0]")),
        coalesced(
            "reads_its_own_column_only", "Without the block's place.", swap("across * TILE[1] + thread", "thread")
        ),
        coalesced("reads_row_0", "src[0, column].", swap("= src[row, column]", "= src[0, column]")),
        coalesced("transposes_coalesced", "dst[column, row].", swap("dst[row, column] =", "dst[column, row] =")),
        coalesced(
            "one_column_too_far", "<= for <.", swap("column < columns", "column <= columns"), words=("lies outside",)
        ),
        coalesced("writes_nothing", "Does nothing.", swap(MOVE, "pass")),
        coalesced(
            "a_fraction_of_the_rows",
            "Divides with /.",
            swap("THREADS // TILE[1]", "THREADS / TILE[1]"),
            words=("counts in whole numbers",),
        ),
    ],
    "05.4": [
        vectorized(
            "loads_twice",
            "Loads everything a second time.",
            swap(TILED_LOAD, TILED_LOAD + ", pred=mask)\n    " + TILED_LOAD),
            words=("128 ld.global instructions; 96 are enough",),
        ),
        derive(
            SOLVED["05.4"],
            "half_a_vector",
            "Four elements an access of eight.",
            swap("make_layout((1, vector))", "make_layout((1, vector // 2))"),
            words=("Do a thread's values fill one access",),
        ),
        derive(
            SOLVED["05.4"],
            "eight_bytes",
            "Vectors of 8 bytes.",
            swap("num_bits_per_copy=128", "num_bits_per_copy=64"),
            swap("make_layout((1, vector))", "make_layout((1, vector // 2))"),
            words=("ld.global.v4",),
        ),
        vectorized(
            "copies_the_whole",
            "The tiles in place of the thread's parts.",
            swap(TILED_LOAD, "cute.copy(tiled, tile_of_block(src, WIDE), registers"),
            words=("same rank",),
        ),
        vectorized(
            "registers_for_one_vector",
            "A fragment of 8.",
            swap("cute.make_fragment_like(from_src)", "cute.make_rmem_tensor((8,), src.element_type)"),
            words=("cute.make_fragment_like",),
        ),
        vectorized(
            "stores_the_source_s_part", "Registers out of dst.", swap(TILED_LOAD, "cute.copy(tiled, to_dst, registers")
        ),
        vectorized("forgets_to_load", "Stores what nobody loaded.", without("from_src, registers")),
        vectorized("loads_only", "Leaves dst alone.", swap(TILED_STORE, "cute.copy(tiled, registers, from_src")),
        vectorized(
            "one_predicate",
            "One Boolean for all.",
            swap("pred=mask", "pred=cute.make_rmem_tensor((1,), cutlass.Boolean)", times=2),
            words=("one Boolean for each access",),
        ),
        vectorized(
            "the_first_thread_s_part",
            "Every thread has thread 0's.",
            swap("tiled.get_slice(thread)", "tiled.get_slice(0)"),
        ),
        derive(
            SOLVED["05.4"],
            "too_few_threads",
            "128 threads of 256.",
            swap("block=(WIDE_THREADS,", "block=(WIDE_THREADS // 2,"),
        ),
    ],
}
