"""Wrong answers to notebook 05: the copy by TMA.

WRONG: those that do not compile or lack an instruction. WRONG_WHEN_RUN: those that a GPU tells, or the simulator.
"""

from tests.pages.change import derive, swap, without
from tests.pages.changed import right_answers

TMA = right_answers("05_copy_kernels")["05.8"]

WRONG = [
    derive(
        TMA,
        "does_not_wait",
        "Starts the fetch and goes on: no mbarrier counts the bytes.",
        without("elect_one()", "mbarrier_init(", "mbarrier_init_fence()", "expect_tx(", "mbarrier_wait("),
        within="tma_kernel",
    ),
    derive(
        TMA,
        "fetches_backwards",
        "The load's two sides exchanged.",
        swap("load, from_src, to_tile", "load, to_tile, from_src"),
        within="tma_kernel",
        words=("the matrix's part comes first",),
    ),
]

WRONG_WHEN_RUN = [
    derive(TMA, name, says, *changes, within="tma_kernel")
    for name, says, *changes in (
        (
            "expects_half",
            "Announces half of the bytes: the phase may be over before the tile is there.",
            swap("expect_tx(barrier, tile_bytes)", "expect_tx(barrier, tile_bytes // 2)"),
        ),
        (
            "expects_twice",
            "Announces twice the bytes, which never come.",
            swap("expect_tx(barrier, tile_bytes)", "expect_tx(barrier, tile_bytes * 2)"),
        ),
        (
            "announces_nothing",
            "Arrives without announcing any bytes.",
            swap("arrive_and_expect_tx(barrier, tile_bytes)", "arrive(barrier)"),
        ),
        (
            "waits_for_the_other_phase",
            "Waits for the phase before the first, which counts as over.",
            swap("mbarrier_wait(barrier, 0)", "mbarrier_wait(barrier, 1)"),
        ),
        ("does_not_wait_for_the_tile", "Stores a tile that may not be there.", without("mbarrier_wait(barrier, 0)")),
        (
            "made_for_two",
            "Its mbarrier is made for two arrivals, and one thread arrives.",
            swap("mbarrier_init(barrier, 1)", "mbarrier_init(barrier, 2)"),
        ),
        ("never_made", "Nobody makes the mbarrier.", without("mbarrier_init(barrier")),
        ("waits_before_it_is_made", "Threads may wait for an mbarrier that is not made yet.", without("sync_warp()")),
        ("stores_in_no_group", "Waits for no group, since there is none.", without("bulk_commit_group()")),
        ("leaves_before_it_is_stored", "Ends while TMA still reads the tile.", without("bulk_wait_group(0")),
        (
            "stores_twice",
            "Stores the tile twice.",
            swap(
                "    cute.copy(store, from_tile, to_dst)",
                "    cute.copy(store, from_tile, to_dst)\n    cute.copy(store, from_tile, to_dst)",
            ),
        ),
        ("leaves_the_tile_inside", "Never stores it.", without("from_tile, to_dst)")),
        (
            "all_threads_announce",
            "Every thread arrives and announces the bytes.",
            swap(
                "        cute.arch.mbarrier_arrive_and_expect_tx(barrier, tile_bytes)",
                "    cute.arch.sync_warp()\n    cute.arch.mbarrier_arrive_and_expect_tx(barrier, tile_bytes)",
            ),
        ),
    )
]
