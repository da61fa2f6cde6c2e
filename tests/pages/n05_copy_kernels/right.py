"""Unusual right answers to notebook 05."""

import numpy as np

from tests.pages.change import derive, swap, without
from tests.pages.n05_copy_kernels.copies import (
    BOTH,
    FROM_TURNED,
    ISSUE,
    MOVE,
    OUT,
    SOLVED,
    by_tma,
    coalesced,
    naive,
    staged,
    swizzled,
    transposed,
    vectorized,
)


def by_bytes(offsets, element_bytes, vector=1):
    """Every byte, one by one."""
    return len({byte // 32 for o in offsets for byte in range(o * element_bytes, (o + vector) * element_bytes)})


def with_numpy(offsets, element_bytes, vector=1):
    """np.unique's size, of all bytes of all threads."""
    starts = np.asarray(offsets)[:, None] * element_bytes
    return np.unique((starts + np.arange(vector * element_bytes)) // 32).size


def sorted_spans(offsets, element_bytes, vector=1):
    """Goes through the threads in order and counts what is new."""
    total, reached = 0, -1
    for offset in sorted(offsets):
        first, last = offset * element_bytes // 32, ((offset + vector) * element_bytes - 1) // 32
        total += max(0, last - max(first, reached + 1) + 1)
        reached = max(reached, last)
    return total


SWIZZLED_TILE = "cute.make_composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(TURN, 1)))"
SWIZZLED_TURNED = "cute.make_composed_layout(swizzle, 0, cute.make_layout((TURN, TURN), stride=(1, TURN)))"

RIGHT = {
    "05.1": [by_bytes, with_numpy, sorted_spans],
    "05.2": [
        naive(
            "guards_one_by_one",
            "The row once, outside of the loop.",
            swap(
                "    for n in cutlass.range(TILE[1], unroll_full=True):\n        column = across * TILE[1] + n\n        "
                + BOTH
                + ":\n            "
                + MOVE,
                "    if row < rows:\n        for n in cutlass.range_constexpr(TILE[1]):\n            column = across * TILE[1] + n\n            if column < columns:\n                "
                + MOVE,
            ),
        ),
        naive(
            "through_the_tile",
            "local_tile, and the element's place in it.",
            swap(MOVE, "tile_of_block(dst)[thread, n] = tile_of_block(src)[thread, n]"),
        ),
        naive(
            "from_right_to_left",
            "The other direction.",
            swap("across * TILE[1] + n", "across * TILE[1] + TILE[1] - 1 - n"),
        ),
    ],
    "05.3": [
        coalesced(
            "all_loads_first",
            "As rung 3 will do it: registers between the loads and the stores.",
            swap(
                MOVE,
                "registers[m // together] = src[row, column]\n    for m in cutlass.range_constexpr(0, TILE[0], together):\n"
                "        row = down * TILE[0] + m + thread // TILE[1]\n        if row < rows and column < columns:\n"
                "            dst[row, column] = registers[m // together]",
            ),
            swap(
                "    for m in cutlass.range(0, TILE[0], together, unroll_full=True):",
                "    registers = cute.make_rmem_tensor(TILE[0] // together, src.element_type)\n"
                "    for m in cutlass.range_constexpr(0, TILE[0], together):",
            ),
        ),
        coalesced(
            "from_below",
            "Upwards.",
            swap("down * TILE[0] + m + thread // TILE[1]", "down * TILE[0] + TILE[0] - 1 - m - thread // TILE[1]"),
        ),
        coalesced(
            "by_elem_less_copy",
            "A coordinate against the shape.",
            swap(BOTH, "if cute.elem_less((row, column), src.shape)"),
        ),
        coalesced(
            "halves_apart",
            "The second half of the block has the lower half of the tile.",
            swap("cutlass.range(0, TILE[0], together,", "cutlass.range(0, TILE[0] // together, 1,"),
            swap("m + thread // TILE[1]", "m + thread // TILE[1] * (TILE[0] // together)"),
        ),
    ],
    "05.4": [
        vectorized(
            "vector_by_vector",
            "A call for each vector: all loads, then all stores.",
            swap(
                "cute.copy(tiled, from_src, registers, pred=mask)",
                "for m in cutlass.range_constexpr(cute.size(mask, mode=[1])):\n"
                "        cute.copy(tiled, from_src[None, m, None], registers[None, m, None], pred=mask[None, m, None])",
            ),
        ),
        vectorized(
            "registers_of_its_own",
            "make_rmem_tensor in place of make_fragment_like.",
            swap("cute.make_fragment_like(from_src)", "cute.make_rmem_tensor(from_src.shape, src.element_type)"),
        ),
        derive(
            SOLVED["05.4"],
            "ordered_layouts",
            "Layouts by the order of their modes.",
            swap(
                "cute.make_layout((WIDE_THREADS // side_by_side, side_by_side), stride=(side_by_side, 1))",
                "cute.make_ordered_layout((WIDE_THREADS // side_by_side, side_by_side), order=(1, 0))",
            ),
        ),
        derive(
            SOLVED["05.4"],
            "eight_side_by_side",
            "Half a row, a whole line of 128 bytes, for each row of threads.",
            swap("side_by_side = WIDE[1] // vector", "side_by_side = 8"),
        ),
        derive(
            SOLVED["05.4"],
            "sixteen_by_sixteen",
            "The threads as for bf16, which serve all types; only the vector depends on it.",
            swap("(WIDE_THREADS // side_by_side, side_by_side), stride=(side_by_side, 1)", "(16, 16), stride=(16, 1)"),
        ),
    ],
    "05.5": [
        staged(
            "row_by_row",
            "A commit for each row of vectors, one wait.",
            swap(
                ISSUE + "    cute.arch.cp_async_commit_group()\n",
                "    from_src, to_tile = loads.partition_S(tile_of_block(src)), loads.partition_D(tile)\n"
                "    for m in cutlass.range_constexpr(cute.size(from_src, mode=[1])):\n"
                "        cute.copy(load, from_src[None, m, None], to_tile[None, m, None])\n"
                "        cute.arch.cp_async_commit_group()\n",
            ),
        ),
        staged("a_barrier_by_its_other_name", "cute.arch.barrier.", swap("sync_threads()", "barrier()")),
        staged(
            "an_atom_by_itself",
            "Straight from shared memory.",
            without("registers = "),
            without("from_tile, registers"),
            swap(OUT, OUT.replace("registers", "from_tile")),
        ),
    ],
    "05.6": [
        transposed(
            "two_fragments",
            "Registers of their own for the way out.",
            swap(
                FROM_TURNED,
                "leaving = cute.make_fragment_like(to_dst)\n    cute.copy(tiled, mine.partition_S(turned), leaving)",
            ),
            swap("cute.copy(tiled, registers, to_dst)", "cute.copy(tiled, leaving, to_dst)"),
        ),
        transposed("barrier_by_its_other_name", "cute.arch.barrier.", swap("sync_threads()", "barrier()")),
        derive(
            SOLVED["05.6"],
            "turned_on_the_way_in",
            "The tile column-major, turned row-major.",
            swap(
                "tile_layout = cute.make_layout((TURN, TURN), stride=(TURN, 1))",
                "turned_layout = cute.make_layout((TURN, TURN), stride=(TURN, 1))",
            ),
            swap(
                "turned_layout = cute.make_layout((TURN, TURN), stride=(1, TURN))",
                "tile_layout = cute.make_layout((TURN, TURN), stride=(1, TURN))",
            ),
        ),
    ],
    "05.7": [
        swizzled(
            "six_bits",
            "The whole row: bit 5 moves a row by 32, and no bank.",
            swap("make_swizzle(5, 0, 6)", "make_swizzle(6, 0, 6)"),
        ),
        swizzled(
            "a_name_for_the_layout",
            "The plain layout first.",
            swap(
                "swizzle = cute.make_swizzle(5, 0, 6)",
                "swizzle = cute.make_swizzle(5, 0, 6)\n    plain = cute.make_layout((TURN, TURN), stride=(TURN, 1))",
            ),
            swap(SWIZZLED_TILE, "cute.make_composed_layout(swizzle, 0, plain)"),
        ),
        swizzled(
            "swizzled_in_columns",
            "The tile column-major, turned row-major.",
            swap("tile_layout = " + SWIZZLED_TILE, "turned_layout = " + SWIZZLED_TILE),
            swap("turned_layout = " + SWIZZLED_TURNED, "tile_layout = " + SWIZZLED_TURNED),
        ),
    ],
    "05.8": [
        by_tma("the_block_waits", "A barrier of the block, which is one warp.", swap("sync_warp()", "sync_threads()")),
        by_tma(
            "announces_first",
            "expect_tx, then an arrival.",
            swap(
                "mbarrier_arrive_and_expect_tx(barrier, tile_bytes)",
                "mbarrier_expect_tx(barrier, tile_bytes)\n        cute.arch.mbarrier_arrive(barrier)",
            ),
        ),
        by_tma(
            "waits_for_all_of_the_store",
            "Until dst is written, not only until the tile is read.",
            swap("(0, read=True)", "(0)"),
        ),
        by_tma(
            "thread_0_elects_itself",
            "An if for elect_one.",
            swap("    with cute.arch.elect_one():", "    thread, _, _ = cute.arch.thread_idx()\n    if thread == 0:"),
        ),
        by_tma(
            "a_proxy_fence",
            "The fence between threads' own writes and the engine, which covers the barrier too.",
            swap("mbarrier_init_fence()", 'fence_proxy("async.shared", space="cta")'),
        ),
    ],
}
