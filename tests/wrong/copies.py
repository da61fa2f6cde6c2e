"""More wrong answers to notebook 05, each a change to the right one, with words that the message about it has."""

from tests.wrong.change import copy_of, swap, without
from tests.wrong.pages import Changed
from tests.wrong.table import answer
from tutorlib.exercises import n05_copy_kernels

sectors = copy_of(n05_copy_kernels).sectors

PAGE = Changed(
    "05_copy_kernels",
    {
        "05.2": "naive_kernel",
        "05.3": "coalesced_kernel",
        "05.4": "vectorised_kernel",
        "05.5": "staged_kernel",
        "05.6": "transpose_kernel",
        "05.8": "tma_kernel",
    },
)
host, kernel = PAGE.host, PAGE.kernel


def spans(offsets, element_bytes, vector, size):
    """The aligned pieces of `size` bytes that are touched."""
    starts = [(o * element_bytes, (o + vector) * element_bytes - 1) for o in offsets]
    return {n for first, last in starts for n in range(first // size, last // size + 1)}


BOTH = "if row < rows and column < columns"
MOVE = "dst[row, column] = src[row, column]"
TILED_LOAD, TILED_STORE = "cute.copy(tiled, from_src, registers", "cute.copy(tiled, registers, to_dst"
ISSUE = "    cute.copy(load, loads.partition_S(tile_of_block(src)), loads.partition_D(tile))\n"
WAIT, MEET = "    cute.arch.cp_async_wait_group(0)\n", "    cute.arch.sync_threads()\n"
OUT = "cute.copy(store, registers, stores.partition_D(tile_of_block(dst)))"
INTO_TILE = "cute.copy(tiled, registers, mine.partition_D(tile))"
FROM_TURNED = "cute.copy(tiled, mine.partition_S(turned), registers)"
ROWS, COLUMNS = "stride=(TURN, 1)", "stride=(1, TURN)"
SWIZZLE = "make_swizzle(5, 0, 6)"
ELECT = "with cute.arch.elect_one():"

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
            "may lie in another sector than its first",
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
        kernel("05.2", "no_guard_naive", "Guards nothing.", swap(BOTH, "if True"), words=("lies outside",)),
        kernel("05.2", "either_guard", "or for and.", swap("row < rows and", "row < rows or"), words=("lies outside",)),
        kernel(
            "05.2", "guards_exchanged_naive", "Rows against columns.", swap(BOTH, "if row < columns and column < rows")
        ),
        kernel("05.2", "one_row_too_far", "<= for <.", swap("row < rows", "row <= rows"), words=("lies outside",)),
        kernel("05.2", "row_of_columns", "Tiles of 64 rows.", swap("down * TILE[0]", "down * TILE[1]")),
        kernel("05.2", "columns_of_rows", "Tiles of 128 columns.", swap("across * TILE[1]", "across * TILE[0]")),
        kernel(
            "05.2", "half_of_the_row", "Copies 32 of 64.", swap("cutlass.range(TILE[1],", "cutlass.range(TILE[1] // 2,")
        ),
        kernel("05.2", "first_tile_of_all", "Forgets which block it is.", swap("across * TILE[1] + n", "n")),
        kernel("05.2", "onto_itself_naive", "src onto src.", swap("dst[row, column] =", "src[row, column] =")),
        kernel("05.2", "reads_the_first_column", "src[row, 0].", swap("= src[row, column]", "= src[row, 0]")),
        kernel(
            "05.2",
            "leaves_the_loop",
            "break at the edge.",
            swap(BOTH, "if column >= columns:\n            break\n        if row < rows"),
            words=("cannot be left by `break`",),
        ),
        kernel(
            "05.2",
            "asks_the_shape",
            "A size is no tuple.",
            swap(BOTH, "if row < src.shape and column < columns"),
            words=("A shape is a tuple",),
        ),
    ],
    "05.3": [
        kernel("05.3", "no_guard_coalesced", "Guards nothing.", swap(BOTH, "if True"), words=("lies outside",)),
        kernel("05.3", "the_whole_block_in_a_row", "128 threads along 64 columns.", swap("thread % TILE[1]", "thread")),
        kernel("05.3", "half_of_the_rows", "Steps of four rows.", swap("TILE[0], together,", "TILE[0], 2 * together,")),
        kernel(
            "05.3",
            "pairs_of_threads",
            "Neighbours two apart: half of each sector in vain.",
            swap("thread % TILE[1]", "(thread % 32 * 2 + thread // 32 % 2)"),
            words=("sectors are used in part",),
        ),
        kernel("05.3", "half_the_tile", "Ends in the middle.", swap("range(0, TILE[0],", "range(0, TILE[0] // 2,")),
        kernel("05.3", "rows_of_rows", "thread // 128.", swap("thread // TILE[1]", "thread // TILE[0]")),
        kernel(
            "05.3",
            "reads_its_own_column_only",
            "Without the block's place.",
            swap("across * TILE[1] + thread", "thread"),
        ),
        kernel("05.3", "reads_row_0", "src[0, column].", swap("= src[row, column]", "= src[0, column]")),
        kernel("05.3", "transposes_coalesced", "dst[column, row].", swap("dst[row, column] =", "dst[column, row] =")),
        kernel(
            "05.3",
            "one_column_too_far",
            "<= for <.",
            swap("column < columns", "column <= columns"),
            words=("lies outside",),
        ),
        kernel("05.3", "writes_nothing", "Does nothing.", swap(MOVE, "pass")),
        kernel(
            "05.3",
            "a_fraction_of_the_rows",
            "Divides with /.",
            swap("THREADS // TILE[1]", "THREADS / TILE[1]"),
            words=("counts in whole numbers",),
        ),
    ],
    "05.4": [
        host(
            "05.4",
            "half_a_vector",
            "Four elements an access of eight.",
            swap("make_layout((1, vector))", "make_layout((1, vector // 2))"),
            words=("Do a thread's values fill one access",),
        ),
        host(
            "05.4",
            "eight_bytes",
            "Vectors of 8 bytes.",
            swap("num_bits_per_copy=128", "num_bits_per_copy=64"),
            swap("make_layout((1, vector))", "make_layout((1, vector // 2))"),
            words=("ld.global.v4",),
        ),
        kernel(
            "05.4",
            "copies_the_whole",
            "The tiles in place of the thread's parts.",
            swap(TILED_LOAD, "cute.copy(tiled, tile_of_block(src, WIDE), registers"),
            words=("same rank",),
        ),
        kernel(
            "05.4",
            "registers_for_one_vector",
            "A fragment of 8.",
            swap("cute.make_fragment_like(from_src)", "cute.make_rmem_tensor((8,), src.element_type)"),
            words=("cute.make_fragment_like",),
        ),
        kernel(
            "05.4",
            "stores_the_source_s_part",
            "Registers out of dst.",
            swap(TILED_LOAD, "cute.copy(tiled, to_dst, registers"),
        ),
        kernel("05.4", "forgets_to_load", "Stores what nobody loaded.", without("from_src, registers")),
        kernel("05.4", "loads_only", "Leaves dst alone.", swap(TILED_STORE, "cute.copy(tiled, registers, from_src")),
        kernel(
            "05.4",
            "one_predicate",
            "One Boolean for all.",
            swap("pred=mask", "pred=cute.make_rmem_tensor((1,), cutlass.Boolean)", times=2),
            words=("one Boolean for each access",),
        ),
        kernel(
            "05.4",
            "the_first_thread_s_part",
            "Every thread has thread 0's.",
            swap("tiled.get_slice(thread)", "tiled.get_slice(0)"),
        ),
        host(
            "05.4", "too_few_threads", "128 threads of 256.", swap("block=(WIDE_THREADS,", "block=(WIDE_THREADS // 2,")
        ),
    ],
    "05.5": [
        kernel("05.5", "no_copy_in", "Stores a tile that nobody fetched.", swap(ISSUE, "")),
        kernel(
            "05.5",
            "waits_before_it_commits",
            "Closes the group after the wait.",
            without("commit_group()"),
            swap(WAIT, WAIT + "    cute.arch.cp_async_commit_group()\n"),
        ),
        kernel(
            "05.5",
            "commits_before_it_copies",
            "An empty group, and an open one.",
            without("commit_group()"),
            swap(ISSUE, "    cute.arch.cp_async_commit_group()\n" + ISSUE),
        ),
        kernel("05.5", "waits_for_two", "Two groups may be open.", swap("wait_group(0)", "wait_group(2)")),
        kernel(
            "05.5",
            "another_thread_s_part",
            "Reads what its neighbour fetched, without a barrier.",
            swap(MEET, ""),
            swap("store.get_slice(thread)", "store.get_slice((thread + 1) % THREADS)"),
            words=("barrier",),
        ),
        kernel(
            "05.5",
            "reads_before_the_wait",
            "Copies to registers first.",
            swap(WAIT, ""),
            swap(OUT, OUT + "\n    cute.arch.cp_async_wait_group(0)"),
        ),
        kernel(
            "05.5",
            "out_of_the_source",
            "Does not use the tile.",
            swap("stores.partition_S(tile)", "stores.partition_S(tile_of_block(src))"),
            words=("ld.shared",),
        ),
        kernel("05.5", "into_the_source", "src onto src.", swap("tile_of_block(dst)", "tile_of_block(src)")),
        kernel(
            "05.5",
            "never_stores_it",
            "Leaves dst alone.",
            swap(OUT, "cute.copy(store, registers, from_tile)"),
            words=("st.global.v4",),
        ),
        kernel(
            "05.5",
            "stores_with_cp_async",
            "The wrong atom.",
            swap("cute.copy(store, from_tile, registers)", "cute.copy(load, from_tile, registers)"),
            words=("cp.async reads global memory alone",),
        ),
        kernel(
            "05.5",
            "fetches_to_registers",
            "cp.async into registers.",
            swap("loads.partition_D(tile))", "cute.make_fragment_like(loads.partition_D(tile)))"),
            words=("cp.async writes to shared memory alone",),
        ),
        kernel(
            "05.5",
            "the_wait_of_one_warp",
            "Others do not wait.",
            swap(WAIT, "    if thread < 32:\n        cute.arch.cp_async_wait_group(0)\n"),
        ),
    ],
    "05.6": [
        kernel(
            "05.6",
            "barrier_too_early",
            "Before it writes the tile.",
            swap(MEET, ""),
            swap("    " + INTO_TILE, MEET + "    " + INTO_TILE),
            words=("with no barrier between",),
        ),
        kernel(
            "05.6",
            "barrier_too_late",
            "After the reading.",
            swap(MEET, ""),
            swap(FROM_TURNED, FROM_TURNED + "\n    cute.arch.sync_threads()"),
            words=("with no barrier between",),
        ),
        kernel(
            "05.6",
            "barrier_of_a_warp",
            "sync_warp meets 32 threads.",
            swap("sync_threads()", "sync_warp()"),
            words=("with no barrier between",),
        ),
        kernel(
            "05.6",
            "waits_for_cp_async",
            "There are no groups here.",
            swap("sync_threads()", "cp_async_wait_group(0)"),
            words=("with no barrier between",),
        ),
        kernel(
            "05.6",
            "fence_for_a_barrier",
            "Ordered is not waited for.",
            swap("sync_threads()", "fence_acq_rel_cta()"),
            words=("with no barrier between",),
        ),
        kernel(
            "05.6",
            "barrier_of_half_the_block",
            "Half of the threads meet.",
            swap(MEET, "    if thread < TURN_THREADS // 2:\n        cute.arch.sync_threads()\n"),
            words=("would hang",),
        ),
        kernel("05.6", "reads_the_tile", "tile in place of turned.", swap("partition_S(turned)", "partition_S(tile)")),
        kernel(
            "05.6",
            "writes_turned",
            "turned in place of tile, and reads it.",
            swap("partition_D(tile)", "partition_D(turned)"),
        ),
        kernel(
            "05.6",
            "does_not_read_back",
            "Stores what it loaded.",
            swap("    " + FROM_TURNED + "\n", ""),
            words=("ld.shared",),
        ),
        kernel(
            "05.6",
            "does_not_write_the_tile",
            "Reads what nobody wrote.",
            swap("    " + INTO_TILE + "\n", ""),
            words=("st.shared",),
        ),
        kernel(
            "05.6",
            "the_other_tile",
            "The tile of dst that lies where src's does.",
            swap("(TURN, TURN), (across, down))", "(TURN, TURN), (down, across))"),
        ),
        host("05.6", "turned_twice", "Both column-major.", swap(ROWS, COLUMNS)),
        host(
            "05.6",
            "padded_on_one_side",
            "65 on one side, 64 on the other.",
            swap(COLUMNS, "stride=(1, TURN + 1)"),
            words=("a layout that reaches 4159",),
        ),
        host("05.6", "all_in_one_row", "Stride 0.", swap(ROWS, "stride=(0, 1)")),
    ],
    "05.7": [
        host(
            "05.7",
            "three_bits",
            "Eight rows differ.",
            swap(SWIZZLE, "make_swizzle(3, 0, 6)"),
            words=("threads meet in a bank",),
        ),
        host(
            "05.7",
            "as_for_16_bytes",
            "The swizzle of notebook 03.",
            swap(SWIZZLE, "make_swizzle(3, 4, 3)"),
            words=("threads meet in a bank",),
        ),
        host(
            "05.7",
            "from_bit_1",
            "Skips the lowest bit.",
            swap(SWIZZLE, "make_swizzle(5, 1, 6)"),
            words=("threads meet in a bank",),
        ),
        host("05.7", "two_bits", "Four rows differ.", swap(SWIZZLE, "make_swizzle(2, 0, 6)")),
        host("05.7", "one_bit", "Two rows differ.", swap(SWIZZLE, "make_swizzle(1, 0, 6)")),
        host("05.7", "from_the_upper_half", "Rows four apart share a bank.", swap(SWIZZLE, "make_swizzle(5, 0, 8)")),
        host(
            "05.7",
            "swizzles_the_tile_alone",
            "Reads plain.",
            swap(
                f"cute.make_composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), {COLUMNS}))",
                f"cute.make_layout((TURN, TURN), {COLUMNS})",
            ),
        ),
        host(
            "05.7",
            "swizzles_turned_alone",
            "Writes plain.",
            swap(
                "tile_layout = cute.make_composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(TURN, 1)))",
                "tile_layout = cute.make_layout((TURN, TURN), stride=(TURN, 1))",
            ),
        ),
        host(
            "05.7",
            "another_on_each_side",
            "Two swizzles.",
            swap(
                "composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(1,",
                "composed_layout(cute.make_swizzle(4, 0, 6), 0, cute.make_layout((TURN, TURN), stride=(1,",
            ),
        ),
        host(
            "05.7",
            "an_offset",
            "One element further on one side.",
            swap(
                "composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(1,",
                "composed_layout(swizzle, 1, cute.make_layout((TURN, TURN), stride=(1,",
            ),
        ),
        host("05.7", "swizzles_and_does_not_turn", "Both row-major.", swap(COLUMNS, ROWS)),
        host(
            "05.7",
            "two_arguments",
            "Forgets the offset.",
            swap("swizzle, 0,", "swizzle,", times=2),
            words=("make_composed_layout(swizzle, offset, layout)",),
        ),
        host(
            "05.7",
            "padding_without_room",
            "Rows of 65 in memory for 64.",
            swap(ROWS, "stride=(TURN + 1, 1)"),
            swap(COLUMNS, "stride=(1, TURN + 1)"),
            words=("memory for 4096 elements, and a layout that reaches 4159",),
        ),
    ],
    "05.8": [
        kernel(
            "05.8",
            "never_initialises",
            "A barrier of whatever lies there.",
            without("mbarrier_init("),
            words=("nobody has made one",),
        ),
        kernel(
            "05.8",
            "expects_two",
            "Two arrivals, and one comes.",
            swap("mbarrier_init(barrier, 1)", "mbarrier_init(barrier, 2)"),
            words=("would hang",),
        ),
        kernel(
            "05.8", "expects_half", "Half of the bytes.", swap("(barrier, tile_bytes)", "(barrier, tile_bytes // 2)")
        ),
        kernel(
            "05.8",
            "expects_too_much",
            "More than will come.",
            swap("(barrier, tile_bytes)", "(barrier, 2 * tile_bytes)"),
            words=("would hang",),
        ),
        kernel(
            "05.8",
            "never_announces",
            "Arrives without bytes.",
            swap("mbarrier_arrive_and_expect_tx(barrier, tile_bytes)", "mbarrier_arrive(barrier)"),
        ),
        kernel(
            "05.8",
            "waits_for_phase_1",
            "The phase before the first.",
            swap("mbarrier_wait(barrier, 0)", "mbarrier_wait(barrier, 1)"),
        ),
        kernel("05.8", "never_waits_tma", "Stores at once.", without("mbarrier_wait(")),
        kernel(
            "05.8",
            "all_threads_arrive",
            "32 arrivals for one.",
            swap("    with cute.arch.elect_one():", "    if True:"),
        ),
        kernel(
            "05.8",
            "elects_twice",
            "The fetch inside elect_one: nobody is elected there again.",
            swap(
                "    cute.copy(load, from_src, to_tile, tma_bar_ptr=barrier)",
                "    with cute.arch.elect_one():\n        cute.copy(load, from_src, to_tile, tma_bar_ptr=barrier)",
            ),
        ),
        kernel("05.8", "never_fetches", "Waits for nothing that comes.", without("cute.copy(load")),
        kernel("05.8", "never_stores_tma", "Leaves dst alone.", without("cute.copy(store")),
        kernel("05.8", "ends_too_early", "The block ends while its tile is read.", without("bulk_wait_group(")),
        kernel("05.8", "never_commits_tma", "Waits for groups, and there are none.", without("bulk_commit_group(")),
        kernel("05.8", "no_sync_warp", "Others look at a barrier that is not ready.", without("sync_warp()")),
        host("05.8", "two_warps", "Both do everything.", swap("block=(32, 1, 1)", "block=(64, 1, 1)")),
        host("05.8", "narrow_grid", "The grid of the other tile.", swap("grid_for(src, WIDE)", "grid_for(src)")),
        kernel(
            "05.8",
            "one_barrier_for_two",
            "cp.async's wait for TMA's.",
            swap("cp_async_bulk_wait_group(0, read=True)", "cp_async_wait_group(0)"),
        ),
    ],
}
