"""Wrong answers to notebook 09.

WRONG: those that any machine can tell: by what they return, by a rehearsal, or by the instructions they lack.
WRONG_WHEN_RUN: parts that compile well and give a wrong C: a GPU tells, or the simulator.
"""

import cutlass
from cutlass import cute
from tensor_layouts import Layout

from tests.wrong.change import derive, swap, without, without_first, without_last
from tutorlib.kernels.ampere.epilogues import store, store_through_smem
from tutorlib.kernels.ampere.layouts import smem_layout
from tutorlib.kernels.ampere.main_loops import single_buffer
from tutorlib.kernels.ampere.thread_share import Sums

# 09.1 -----------------------------------------------------------------------------------------------------------


def each_matrix_once(m, n, k, tile_m, tile_n):
    """Shares what blocks load."""
    return 2 * k * (m + n)


def whole_tiles_only(m, n, k, tile_m, tile_n):
    """Forgets the tiles that are partly outside."""
    return (m // tile_m) * (n // tile_n) * (tile_m + tile_n) * k * 2


def elements(m, n, k, tile_m, tile_n):
    """Counts elements."""
    return -(-m // tile_m) * -(-n // tile_n) * (tile_m + tile_n) * k


def sides_exchanged(m, n, k, tile_m, tile_n):
    """Divides M by the tile's N."""
    return -(-m // tile_n) * -(-n // tile_m) * (tile_m + tile_n) * k * 2


# 09.2 -----------------------------------------------------------------------------------------------------------


def one_stage(rows, k, stages):
    """All stages in one place."""
    return cute.make_layout((rows, k, stages), stride=(k, 1, 0))


# 09.4 -----------------------------------------------------------------------------------------------------------


def unchanged(warps, tile_n):
    """The identity."""
    return Layout(tile_n, 1)


def inverse(warps, tile_n):
    """From memory to the MMA."""
    return Layout((2, 4, 4, warps, tile_n // (32 * warps)), (1, 8 * warps, 2, 8, 32 * warps))


def atoms_before_values(warps, tile_n):
    """Eight neighbours, in the wrong order."""
    return Layout((2, 4, warps, 4, tile_n // (32 * warps)), (4, 8, 32, 1, 32 * warps))


def warps_overlap(warps, tile_n):
    """All warps write the same columns."""
    return Layout((2, 4, warps, 4, tile_n // (32 * warps)), (1, 8, 0, 2, 32 * warps))


# 09.5 -----------------------------------------------------------------------------------------------------------


@cute.jit
def one_by_one(sums: Sums):
    """Right, 2 bytes at a time."""
    registers = sums.rounded()
    for n in cutlass.range_constexpr(cute.size(registers)):
        if cute.elem_less(sums.coordinates[n], sums.shape):
            sums.tCgC[n] = registers[n]


# Parts ----------------------------------------------------------------------------------------------------------

SWIZZLE = "make_swizzle(3 if width == 64 else 2, 3, 3)"
INSIDE = "cute.elem_less(sums.coordinates[(0, row), m, (0, n)], sums.shape)"
WHOLE = "cutlass.const_expr(sums.whole)"
ANY_TILES = without("not sums.whole", "raise ValueError")  # the detour refuses C that is not made of whole ones

WRONG = {
    "09.1": [each_matrix_once, whole_tiles_only, elements, sides_exchanged],
    "09.2": [
        derive(
            smem_layout,
            "row_major",
            "No swizzle: ldmatrix meets itself in one bank group.",
            swap(SWIZZLE, "make_swizzle(0, 3, 3)"),
        ),
        derive(
            smem_layout,
            "one_bit_short",
            "Swizzle⟨2,3,3⟩ on rows of 128 bytes mixes half of what it should.",
            swap(SWIZZLE, "make_swizzle(2, 3, 3)"),
        ),
        derive(
            smem_layout,
            "vectors_torn",
            "A swizzle that mixes the bits inside a vector.",
            swap(SWIZZLE, "make_swizzle(3, 0, 6)"),
        ),
        one_stage,
    ],
    "09.3": [
        derive(
            single_buffer,
            "no_barrier_after_the_wait",
            "Each thread waits for its own copies and reads everybody's.",
            without_first("sync_threads()"),
        ),
        derive(
            single_buffer,
            "no_barrier_before_the_load",
            "A fast warp overwrites what a slow one still reads.",
            without_last("sync_threads()"),
        ),
        derive(
            single_buffer,
            "waits_for_all_but_one",
            "wait_group off by one: the only group may be open.",
            swap("wait_group(0)", "wait_group(1)"),
        ),
        derive(single_buffer, "never_commits", "Waits for groups, and there are none.", without("commit_group()")),
        derive(
            single_buffer, "drops_the_last_tile", "One K tile short.", swap("(steps.k_tiles)", "(steps.k_tiles - 1)")
        ),
        derive(
            single_buffer,
            "always_the_first_tile",
            "The K tile's index is not advanced.",
            swap("load(k_tile, 0)", "load(0, 0)"),
        ),
        derive(
            single_buffer,
            "one_k_block_short",
            "Leaves out the last 16 of each K tile.",
            swap("(steps.k_blocks)", "(steps.k_blocks - 1)"),
        ),
        derive(single_buffer, "not_compiled", "No @cute.jit.", without("@cute.jit")),
        derive(
            single_buffer, "a_alone", "Loads A and forgets B.", swap("steps.load(k_tile, 0)", "steps.a.load(k_tile, 0)")
        ),
    ],
    "09.4": [unchanged, inverse, atoms_before_values, warps_overlap],
    "09.5": [one_by_one],
}

WRONG_WHEN_RUN = {
    "09.5": [
        derive(store, "unguarded", "Writes what is outside, too.", swap(WHOLE, "cutlass.const_expr(True)")),
        derive(
            store,
            "rows_unguarded",
            "Guards the columns and not the rows.",
            swap(INSIDE, "sums.coordinates[(0, row), m, (0, n)][1] < sums.shape[1]"),
        ),
        derive(
            store_through_smem,
            "swizzled_on_one_side",
            "Through shared memory: written swizzled, read plain.",
            ANY_TILES,
            swap("element_type, tile,", "element_type, cute.make_layout((rows, columns), stride=(columns, 1)),"),
            swap("permuted(sC,", "permuted(cute.make_tensor(sC.iterator, tile),"),
        ),
        derive(
            store_through_smem,
            "no_barrier_in_smem",
            "Through shared memory, without waiting for the others to write.",
            ANY_TILES,
            without("sync_threads()"),
        ),
    ]
}
