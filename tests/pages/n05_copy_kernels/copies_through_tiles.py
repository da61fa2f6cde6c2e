"""More wrong answers to notebook 05: copies and transposes through shared memory."""

from tests.pages.change import derive, swap, without
from tests.pages.n05_copy_kernels.copies import (
    FROM_TURNED,
    INTO_TILE,
    ISSUE,
    OUT,
    SOLVED,
    by_tma,
    staged,
    swizzled,
    transposed,
)

WAIT = "    cute.arch.cp_async_wait_group(0)\n"
MEET = "    cute.arch.sync_threads()\n"
ROWS = "stride=(TURN, 1)"
COLUMNS = "stride=(1, TURN)"
SWIZZLE = "make_swizzle(5, 0, 6)"


MORE = {
    "05.5": [
        staged("no_copy_in", "Stores a tile that nobody fetched.", swap(ISSUE, "")),
        staged(
            "fetches_twice",
            "Issues every copy a second time.",
            swap(ISSUE, 2 * ISSUE),
            words=("512 cp.async.cg/cp.async.ca instructions; 380 are enough",),
        ),
        staged(
            "waits_before_it_commits",
            "Closes the group after the wait.",
            without("commit_group()"),
            swap(WAIT, WAIT + "    cute.arch.cp_async_commit_group()\n"),
        ),
        staged(
            "commits_before_it_copies",
            "An empty group, and an open one.",
            without("commit_group()"),
            swap(ISSUE, "    cute.arch.cp_async_commit_group()\n" + ISSUE),
        ),
        staged("waits_for_two", "Two groups may be open.", swap("wait_group(0)", "wait_group(2)")),
        staged(
            "reads_before_the_wait",
            "Copies to registers first.",
            swap(WAIT, ""),
            swap(OUT, OUT + "\n    cute.arch.cp_async_wait_group(0)"),
        ),
        staged(
            "out_of_the_source",
            "Does not use the tile.",
            swap("stores.partition_S(tile)", "stores.partition_S(tile_of_block(src))"),
            words=("ld.shared",),
        ),
        staged("into_the_source", "src onto src.", swap("tile_of_block(dst)", "tile_of_block(src)")),
        staged(
            "never_stores_it",
            "Leaves dst alone.",
            swap(OUT, "cute.copy(store, registers, from_tile)"),
            words=("st.global.v4",),
        ),
        staged(
            "stores_with_cp_async",
            "The wrong atom.",
            swap("cute.copy(store, from_tile, registers)", "cute.copy(load, from_tile, registers)"),
            words=("cp.async reads global memory alone",),
        ),
        staged(
            "fetches_to_registers",
            "cp.async into registers.",
            swap("loads.partition_D(tile))", "cute.make_fragment_like(loads.partition_D(tile)))"),
            words=("cp.async writes to shared memory alone",),
        ),
        staged(
            "the_wait_of_one_warp",
            "Others do not wait.",
            swap(WAIT, "    if thread < 32:\n        cute.arch.cp_async_wait_group(0)\n"),
        ),
    ],
    "05.6": [
        transposed(
            "barrier_too_early",
            "Before it writes the tile.",
            swap(MEET, ""),
            swap("    " + INTO_TILE, MEET + "    " + INTO_TILE),
            words=("with no barrier between",),
        ),
        transposed(
            "barrier_too_late",
            "After the reading.",
            swap(MEET, ""),
            swap(FROM_TURNED, FROM_TURNED + "\n    cute.arch.sync_threads()"),
            words=("with no barrier between",),
        ),
        transposed(
            "barrier_of_a_warp",
            "sync_warp meets 32 threads.",
            swap("sync_threads()", "sync_warp()"),
            words=("with no barrier between",),
        ),
        transposed(
            "waits_for_cp_async",
            "There are no groups here.",
            swap("sync_threads()", "cp_async_wait_group(0)"),
            words=("with no barrier between",),
        ),
        transposed(
            "fence_for_a_barrier",
            "Ordered is not waited for.",
            swap("sync_threads()", "fence_acq_rel_cta()"),
            words=("with no barrier between",),
        ),
        transposed(
            "barrier_of_half_the_block",
            "Half of the threads meet.",
            swap(MEET, "    if thread < TURN_THREADS // 2:\n        cute.arch.sync_threads()\n"),
            words=("would hang",),
        ),
        transposed("reads_the_tile", "tile in place of turned.", swap("partition_S(turned)", "partition_S(tile)")),
        transposed(
            "writes_turned", "turned in place of tile, and reads it.", swap("partition_D(tile)", "partition_D(turned)")
        ),
        transposed(
            "does_not_read_back", "Stores what it loaded.", swap("    " + FROM_TURNED + "\n", ""), words=("ld.shared",)
        ),
        transposed(
            "does_not_write_the_tile",
            "Reads what nobody wrote.",
            swap("    " + INTO_TILE + "\n", ""),
            words=("st.shared",),
        ),
        transposed(
            "the_other_tile",
            "The tile of dst that lies where src's does.",
            swap("(TURN, TURN), (across, down))", "(TURN, TURN), (down, across))"),
        ),
        derive(SOLVED["05.6"], "turned_twice", "Both column-major.", swap(ROWS, COLUMNS)),
        derive(
            SOLVED["05.6"],
            "padded_on_one_side",
            "65 on one side, 64 on the other.",
            swap(COLUMNS, "stride=(1, TURN + 1)"),
            words=("a layout that reaches 4159",),
        ),
        derive(SOLVED["05.6"], "all_in_one_row", "Stride 0.", swap(ROWS, "stride=(0, 1)")),
    ],
    "05.7": [
        swizzled(
            "three_bits",
            "Eight rows differ.",
            swap(SWIZZLE, "make_swizzle(3, 0, 6)"),
            words=("threads meet in a bank",),
        ),
        swizzled(
            "as_for_16_bytes",
            "The swizzle of notebook 03.",
            swap(SWIZZLE, "make_swizzle(3, 4, 3)"),
            words=("threads meet in a bank",),
        ),
        swizzled(
            "from_bit_1",
            "Skips the lowest bit.",
            swap(SWIZZLE, "make_swizzle(5, 1, 6)"),
            words=("threads meet in a bank",),
        ),
        swizzled("two_bits", "Four rows differ.", swap(SWIZZLE, "make_swizzle(2, 0, 6)")),
        swizzled("one_bit", "Two rows differ.", swap(SWIZZLE, "make_swizzle(1, 0, 6)")),
        swizzled("from_the_upper_half", "Rows four apart share a bank.", swap(SWIZZLE, "make_swizzle(5, 0, 8)")),
        swizzled(
            "swizzles_the_tile_alone",
            "Reads plain.",
            swap(
                f"cute.make_composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), {COLUMNS}))",
                f"cute.make_layout((TURN, TURN), {COLUMNS})",
            ),
        ),
        swizzled(
            "swizzles_turned_alone",
            "Writes plain.",
            swap(
                "tile_layout = cute.make_composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(TURN, 1)))",
                "tile_layout = cute.make_layout((TURN, TURN), stride=(TURN, 1))",
            ),
        ),
        swizzled(
            "another_on_each_side",
            "Two swizzles.",
            swap(
                "composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(1,",
                "composed_layout(cute.make_swizzle(4, 0, 6), 0, cute.make_layout((TURN, TURN), stride=(1,",
            ),
        ),
        swizzled(
            "an_offset",
            "One element further on one side.",
            swap(
                "composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(1,",
                "composed_layout(swizzle, 1, cute.make_layout((TURN, TURN), stride=(1,",
            ),
        ),
        swizzled("swizzles_and_does_not_turn", "Both row-major.", swap(COLUMNS, ROWS)),
        swizzled(
            "two_arguments",
            "Forgets the offset.",
            swap("swizzle, 0,", "swizzle,", times=2),
            words=("make_composed_layout(swizzle, offset, layout)",),
        ),
        swizzled(
            "padding_without_room",
            "Rows of 65 in memory for 64.",
            swap(ROWS, "stride=(TURN + 1, 1)"),
            swap(COLUMNS, "stride=(1, TURN + 1)"),
            words=("memory for 4096 elements, and a layout that reaches 4159",),
        ),
    ],
    "05.8": [
        by_tma(
            "never_shown_to_the_engine",
            "Makes the barrier, and does not make that visible to the engine.",
            without("mbarrier_init_fence()"),
            words=("without fence.mbarrier_init",),
        ),
        by_tma(
            "never_initialises",
            "A barrier of whatever lies there.",
            without("mbarrier_init("),
            words=("which was never initialized",),
        ),
        by_tma(
            "expects_two",
            "Two arrivals, and one comes.",
            swap("mbarrier_init(barrier, 1)", "mbarrier_init(barrier, 2)"),
            words=("would hang",),
        ),
        by_tma("expects_half", "Half of the bytes.", swap("(barrier, tile_bytes)", "(barrier, tile_bytes // 2)")),
        by_tma(
            "expects_too_much",
            "More than will come.",
            swap("(barrier, tile_bytes)", "(barrier, 2 * tile_bytes)"),
            words=("would hang",),
        ),
        by_tma(
            "never_announces",
            "Arrives without bytes.",
            swap("mbarrier_arrive_and_expect_tx(barrier, tile_bytes)", "mbarrier_arrive(barrier)"),
        ),
        by_tma(
            "waits_for_phase_1",
            "The phase before the first.",
            swap("mbarrier_wait(barrier, 0)", "mbarrier_wait(barrier, 1)"),
        ),
        by_tma("never_waits_tma", "Stores at once.", without("mbarrier_wait(")),
        by_tma("all_threads_arrive", "32 arrivals for one.", swap("    with cute.arch.elect_one():", "    if True:")),
        by_tma(
            "elects_twice",
            "The fetch inside elect_one: nobody is elected there again.",
            swap(
                "    cute.copy(load, from_src, to_tile, tma_bar_ptr=barrier)",
                "    with cute.arch.elect_one():\n        cute.copy(load, from_src, to_tile, tma_bar_ptr=barrier)",
            ),
        ),
        by_tma("never_fetches", "Waits for nothing that comes.", without("cute.copy(load")),
        by_tma("never_stores_tma", "Leaves dst alone.", without("cute.copy(store")),
        by_tma("ends_too_early", "The block ends while its tile is read.", without("bulk_wait_group(")),
        by_tma("never_commits_tma", "Waits for groups, and there are none.", without("bulk_commit_group(")),
        by_tma("no_sync_warp", "Others look at a barrier that is not ready.", without("sync_warp()")),
        derive(SOLVED["05.8"], "two_warps", "Both do everything.", swap("block=(32, 1, 1)", "block=(64, 1, 1)")),
        derive(
            SOLVED["05.8"], "narrow_grid", "The grid of the other tile.", swap("grid_for(src, WIDE)", "grid_for(src)")
        ),
        by_tma(
            "one_barrier_for_two",
            "cp.async's wait for TMA's.",
            swap("cp_async_bulk_wait_group(0, read=True)", "cp_async_wait_group(0)"),
        ),
    ],
}
