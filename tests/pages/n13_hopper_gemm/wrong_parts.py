"""Wrong answers to notebook 13's layouts of shared memory, boxes and fragments.

WRONG: those that any machine can tell: by what they return, or by what the compiler made of them.
WRONG_WHEN_RUN: parts that compile well and give a wrong C: a GPU tells, or the simulator.
"""

from functools import partial

from cutlass import BFloat16, cute
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind

from tests.pages.change import copy_of, derive, swap
from tests.pages.table import says
from tutorlib.kernels.hopper import first_parts
from tutorlib.kernels.hopper.first_parts import boxes, ring_layout, wgmma_fragments
from tutorlib.kernels.hopper.layouts import smem_layout

OWN = copy_of(first_parts)  # as if it were the reader's

# 13.1 ring_layout -----------------------------------------------------------------------------------------------


@says("a plain layout")
def row_major(rows, k, stages):
    """No swizzle."""
    return cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))


@says("counts bytes")
def counted_in_elements(rows, k, stages):
    """Notebook 09's swizzle, in elements, where bytes are meant."""
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, k), stride=(k, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def always_128_bytes(rows, k, stages):
    """Swizzles over more bytes than a row has."""
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, BFloat16)
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def three_bits_always(rows, k, stages):
    """Rows of the right length, and the swizzle of 128 bytes."""
    atom = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, k), stride=(k, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def columns_first(rows, k, stages):
    """The atom's columns first: its rows are neighbors."""
    atom = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, k)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


@says("it returns None")
def returns_nothing(rows, k, stages):
    """No return."""
    OWN.ring_layout(rows, k, stages)


@says("it returns a tuple")
def a_layout_of_each_stage(rows, k, stages):
    """As many layouts as there are stages."""
    return tuple(OWN.ring_layout(rows, k, 1) for _ in range(stages))


@says("it calls the course's ring_layout")
def the_courses_layout(rows, k, stages):
    """Leans on the course's own."""
    return ring_layout(rows, k, stages)


@says("calls the course's smem_layout")
def page_14s_layout(rows, k, stages):
    """Leans on the kernels of notebook 14."""
    return smem_layout((rows, k, stages), BFloat16)


def a_table_of_one(rows, k, stages):
    """Only the row length that the kernel uses."""
    kind = {64: SmemLayoutAtomKind.K_SW128}[k]
    return cute.tile_to_shape(warpgroup.make_smem_layout_atom(kind, BFloat16), (rows, k, stages), (0, 1, 2))


def the_kernels_own(rows, k, stages):
    """The ring of B, whatever is asked for."""
    return OWN.ring_layout(256, 64, 4)


def notebook_09s(rows, k, stages):
    """Page 09's atom, whose swizzle counts elements, repeated by hand."""
    return cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((rows, k, stages)))


layouts = partial(derive, ring_layout)
KIND, RETURN = 'SmemLayoutAtomKind[f"K_SW{2 * k}"]', "    return cute.tile"
LAYOUTS = [row_major, counted_in_elements, always_128_bytes, three_bits_always, columns_first, returns_nothing]
LAYOUTS += [
    a_layout_of_each_stage,
    the_courses_layout,
    page_14s_layout,
    a_table_of_one,
    the_kernels_own,
    notebook_09s,
    layouts("stages_inside", "Stages run fastest, between the rows.", swap("(0, 1, 2)", "(1, 2, 0)")),
    layouts("one_stage_only", "One stage, whatever is asked for.", swap("k, stages)", "k, 1)"), words=("shape",)),
    layouts("columns_contiguous", "M-major atoms.", swap('f"K_SW{2 * k}"', 'f"MN_SW{2 * k}"')),
    layouts("k_for_its_bytes", "Elements for bytes.", swap("{2 * k}", "{k}")),
    layouts("four_bytes_each", "fp32's bytes.", swap("{2 * k}", "{4 * k}")),
    layouts("not_swizzled", "K_INTER.", swap(KIND, "SmemLayoutAtomKind.K_INTER")),
    layouts("half_the_width", "64 bytes for every k.", swap(KIND, "SmemLayoutAtomKind.K_SW64")),
    layouts("fp32_atom", "An atom of another dtype.", swap("BFloat16)", "cutlass.Float32)")),
    layouts("fp8_atom", "An atom of another dtype.", swap("BFloat16)", "cutlass.Float8E4M3FN)")),
    layouts("always_128_rows", "The page's own tile.", swap("(rows, k", "(128, k"), words=("shape (128, 64, 3)",)),
    layouts("always_64_columns", "The page's own tile.", swap("(rows, k", "(rows, 64"), words=("shape",)),
    layouts("the_pages_stages", "Four stages.", swap("k, stages)", "k, 4)"), words=("shape",)),
    layouts("k_first", "K before the rows.", swap("(rows, k, stages)", "(k, rows, stages)")),
    layouts("no_stages", "Two modes.", swap("(rows, k, stages), (0, 1, 2)", "(rows, k), (0, 1)"), words=("shape",)),
    layouts("the_atom", "Repeats nothing.", swap("cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))", "atom")),
    layouts("its_plain_half", "The layout without its swizzle.", swap("(0, 1, 2))", "(0, 1, 2)).outer")),
]

# 13.3 boxes -----------------------------------------------------------------------------------------------------


def ungrouped(tma, s, g):
    """Rows and K stay two modes."""
    return cpasync.tma_partition(tma, 0, cute.make_layout(1), s, g)


@says("should return two tensors")
def one_tensor(tma, s, g):
    """Shared memory alone."""
    return OWN.boxes(tma, s, g)[0]


def not_partitioned(tma, s, g):
    """The boxes as they lie, not as TMA takes them."""
    return cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2)


def the_matrix_first(tma, s, g):
    """The pair exchanged."""
    in_shared, in_matrix = OWN.boxes(tma, s, g)
    return in_matrix, in_shared


@says("should return two tensors")
def prints_them(tma, s, g):
    """No return."""
    print(OWN.boxes(tma, s, g))


@says("calls the course's boxes")
def the_courses_boxes(tma, s, g):
    """Leans on the course's own."""
    return boxes(tma, s, g)


partitioned = partial(derive, boxes)
BOXES = [ungrouped, one_tensor, not_partitioned, the_matrix_first, prints_them, the_courses_boxes]
BOXES += [
    partitioned(
        "sides_exchanged",
        "The matrix for shared memory.",
        swap("(s, 0, 2), cute.group_modes(g, 0, 2)", "(g, 0, 2), cute.group_modes(s, 0, 2)"),
    ),
    partitioned("stages_in_the_box", "Groups all modes of shared memory.", swap("(s, 0, 2)", "(s, 0, 3)")),
    partitioned("k_tiles_in_the_box", "Groups all modes of the matrix.", swap("(g, 0, 2)", "(g, 0, 3)")),
    partitioned("rows_alone", "The box is its rows.", swap("0, 2)", "0, 1)", times=2)),
    partitioned("k_with_the_stages", "Groups the last two modes.", swap("0, 2)", "1, 3)", times=2)),
    partitioned("first_k_tile", "Knows the first K tile alone.", swap("(g, 0, 2)", "(g[None, None, (None, 0)], 0, 2)")),
    partitioned("one_k_tile", "The first K tile.", swap("(g, 0, 2)", "(g[None, None, 0], 0, 2)")),
    partitioned("first_stage_alone", "The first stage.", swap("(s, 0, 2)", "(s[None, None, 0], 0, 2)")),
    partitioned("a_number_of_blocks", "1 for the layout of one block.", swap("cute.make_layout(1)", "1")),
    partitioned("no_cluster", "Without block and blocks.", swap("tma, 0, alone, ", "tma, ")),
]

# 13.5 fragments -------------------------------------------------------------------------------------------------


@says("descriptors are (1, 1, 4, 4)")
def shared_memory_itself(tiled_mma, thread, sA, sB):
    """No descriptors: what partition_A and partition_B give."""
    math = tiled_mma.get_slice(thread)
    _, _, tCrC = OWN.wgmma_fragments(tiled_mma, thread, sA, sB)
    return math.partition_A(sA), math.partition_B(sB), tCrC


@says("should return three tensors")
def no_sums(tiled_mma, thread, sA, sB):
    """Operands alone."""
    return OWN.wgmma_fragments(tiled_mma, thread, sA, sB)[:2]


@says("calls the course's wgmma_fragments")
def the_courses_fragments(tiled_mma, thread, sA, sB):
    """Leans on the course's own."""
    return wgmma_fragments(tiled_mma, thread, sA, sB)


fragments = partial(derive, wgmma_fragments)
A, B = "tiled_mma.make_fragment_A(math.partition_A(sA))", "tiled_mma.make_fragment_B(math.partition_B(sB))"
TILE = "(cute.size(sA, mode=[0]), cute.size(sB, mode=[0]))"
FRAGMENTS = [shared_memory_itself, no_sums, the_courses_fragments]
FRAGMENTS += [
    fragments("rounds_every_sum", "Accumulators in bf16.", swap("Float32", "BFloat16"), words=("kept in Float32",)),
    fragments("sums_in_fp16", "Accumulators in fp16.", swap("Float32", "cutlass.Float16"), words=("kept in Float32",)),
    fragments(
        "a_tile_for_each_thread",
        "As many registers as the tile has accumulators.",
        swap("tiled_mma.partition_shape_C(tile)", "tile"),
        words=("64 of its warpgroup's",),
    ),
    fragments(
        "a_tile_in_numbers",
        "The page's tile, whatever sA and sB are.",
        swap(TILE, "(128, 256)"),
        words=("for a tile of 128×128 tCrC has 128 registers",),
    ),
    fragments(
        "all_the_sums",
        "A whole tile of accumulators in each thread's order, twice.",
        swap("cute.size(sB, mode=[0]))", "2 * cute.size(sB, mode=[0]))"),
        words=("tCrC has 128 registers",),
    ),
    fragments("n_for_m", "N × M.", swap(TILE, "(cute.size(sB, mode=[0]), cute.size(sA, mode=[0]))")),
    fragments("not_partitioned", "Descriptors of all of shared memory.", swap(A, "tiled_mma.make_fragment_A(sA)")),
    fragments("b_by_the_rule_of_a", "partition_A of B.", swap("math.partition_B(sB)", "math.partition_A(sB)")),
    fragments("a_twice", "B is A.", swap("partition_B(sB)", "partition_B(sA)")),
    fragments("first_stage", "Descriptors of stage 0.", swap(A, f"{A}[None, None, None, 0]")),
    fragments("first_k_block", "Descriptors of K block 0.", swap(A, f"{A}[None, None, 0, None]")),
    fragments(
        "sums_first",
        "The accumulators in front.",
        swap("return tCrA, tCrB, cute", "acc = cute"),
        swap("(tile), Float32)", "(tile), Float32)\n    return acc, tCrA, tCrB"),
    ),
    fragments(
        "of_c_in_shared_memory",
        "No registers.",
        swap(
            "cute.make_rmem_tensor(tiled_mma.partition_shape_C(tile), Float32)", "math.partition_C(sA[None, None, 0])"
        ),
    ),
    fragments("returns_nothing", "No return.", swap("return tCrA", "tCrA"), words=("should return three tensors",)),
]
WHEN_RUN = [
    fragments("first_rows_twice", "Both warpgroups multiply the first one's rows.", swap("(thread)", "(0)")),
    fragments("operands_exchanged", "B's descriptors for A's.", swap("return tCrA, tCrB", "return tCrB, tCrA")),
    fragments("of_the_warpgroup", "The warpgroup's number for its first thread.", swap("(thread)", "(thread // 128)")),
    fragments("second_rows_twice", "Thread 128 for all.", swap("(thread)", "(128)")),
]

WRONG = {"13.1": LAYOUTS, "13.3": BOXES, "13.5": FRAGMENTS}
WRONG_WHEN_RUN = {"13.5": WHEN_RUN}
