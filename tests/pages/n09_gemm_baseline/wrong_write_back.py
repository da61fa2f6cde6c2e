"""Wrong answers to notebook 09: the write-back and the whole GEMM."""

from functools import partial

from cutlass import cute

from tests.pages.change import derive, swap, without
from tutorlib.course.answers import load_answers
from tutorlib.kernels.ampere.epilogues import store_through_smem
from tutorlib.kernels.ampere.thread_share import Accumulators


@cute.jit
def writes_nothing(acc: Accumulators):
    """Leaves C as it was."""


SOLVED = load_answers("09_gemm_baseline")
INSIDE = "cute.elem_less(acc.coordinates[(0, row), m, (0, n)], acc.shape)"
EIGHT = "cute.autovec_copy(rounded, acc.tCgC[eight])"
ROUND = "rounded.store(acc.tCrC[eight].load().to(acc.tCgC.element_type))"
UNALIGNED = "cutlass.const_expr(not acc.aligned)"
ANY_TILES = without("not acc.whole", "raise ValueError")  # the detour refuses C that is not made of whole ones


stores = partial(derive, SOLVED["09.8"])
STORES = [
    stores("unguarded", "Writes what is outside, too.", swap(f"elif {INSIDE}:", "else:")),
    stores(
        "rows_unguarded",
        "Guards the columns and not the rows.",
        swap(INSIDE, "acc.coordinates[(0, row), m, (0, n)][1] < acc.shape[1]"),
    ),
    stores(
        "columns_unguarded",
        "Guards the rows and not the columns.",
        swap(INSIDE, "acc.coordinates[(0, row), m, (0, n)][0] < acc.shape[0]"),
    ),
    stores(
        "always_the_first_row",
        "One coordinate for both rows.",
        swap("coordinates[(0, row), m, (0, n)]", "coordinates[(0, 0), m, (0, n)]"),
    ),
    stores(
        "always_the_first_atom",
        "One coordinate for all M atoms.",
        swap("coordinates[(0, row), m, (0, n)]", "coordinates[(0, row), 0, (0, n)]"),
    ),
    stores(
        "always_the_first_eight",
        "One coordinate for all columns.",
        swap("coordinates[(0, row), m, (0, n)]", "coordinates[(0, row), m, (0, 0)]"),
    ),
    stores("the_whole_thing", "Eight registers for all of C.", swap(EIGHT, "cute.autovec_copy(rounded, acc.tCgC)")),
    stores("unrounded", "The fp32 accumulators.", swap(EIGHT, "cute.autovec_copy(acc.tCrC[eight], acc.tCgC[eight])")),
    stores(
        "registers_in_fp32",
        "Registers of the accumulators' type.",
        swap("(2, 4), acc.tCgC", "(2, 4), acc.tCrC"),
        swap(".to(acc.tCgC.element_type)", ""),
    ),
    stores("never_filled", "Registers that nothing was stored to.", without(ROUND)),
    stores(
        "the_first_atoms",
        "The accumulators of M atom 0.",
        swap("acc.tCrC[eight]", "acc.tCrC[((None, row), 0, (None, n))]"),
    ),
    stores("turned_round", "Where it is outside.", swap(f"elif {INSIDE}", f"elif not {INSIDE}")),
    stores("backwards", "From C to registers.", swap(EIGHT, "cute.autovec_copy(acc.tCgC[eight], rounded)")),
    stores(
        "always_aligned", "Eight together where a row starts anywhere.", swap(UNALIGNED, "cutlass.const_expr(False)")
    ),
    derive(
        store_through_smem,
        "no_barrier_in_smem",
        "Through shared memory, without waiting for the others to write.",
        ANY_TILES,
        without("sync_threads()"),
    ),
    derive(
        store_through_smem,
        "swizzled_on_one_side",
        "Through shared memory: written swizzled, read plain.",
        ANY_TILES,
        swap("element_type, tile,", "element_type, cute.make_layout((rows, columns), stride=(columns, 1)),"),
        swap("permuted(sC,", "permuted(cute.make_tensor(sC.iterator, tile),"),
    ),
]

TWICE = (
    swap("range_constexpr(atoms)", "range_constexpr(2 * atoms)"),
    swap("eight = ((None, row), m, (None, n))", "m = m % atoms\n                eight = ((None, row), m, (None, n))"),
)
GEMM = SOLVED["09.9"]


kernels = partial(derive, GEMM, within="ampere_kernel")


def not_compiled(a, b, c):
    """No @cute.jit."""


@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """No kernel."""


GEMMS = [
    not_compiled,
    launches_nothing,
    kernels(
        "no_swizzle",
        "Row-major shared memory.",
        swap("make_swizzle(3 if width == 64 else 2, 3, 3)", "make_swizzle(0, 3, 3)"),
        within="smem_layout",
    ),
    kernels(
        "four_bytes_a_store",
        "A lane's atoms are 8 columns apart.",
        swap("stride=(1, 8, 32, 2, 32 * warps)", "stride=(1, 2, 32, 8, 32 * warps)"),
        within="columns",
    ),
    kernels("stored_twice", "C is stored, and then again.", *TWICE, within="store"),
    kernels(
        "half_sectors",
        "The warps' columns alternate, so that a store fills half of each sector.",
        swap("stride=(1, 8, 32, 2, 32 * warps)", "stride=(1, 8 * warps, 8, 2, 32 * warps)"),
        within="columns",
    ),
]
GEMMS_WHEN_RUN = [
    kernels(
        "a_barrier_each_k_block",
        "Right, with a barrier before each K block.",
        swap(
            "            steps.fetch(k_block, 0)",
            "            cute.arch.sync_threads()\n            steps.fetch(k_block, 0)",
        ),
        within="single_buffer",
    ),
    kernels("one_block", "One block for all.", swap("grid=(tiles_m * tiles_n, 1, 1)", "grid=(1, 1, 1)"), within="gemm"),
    kernels(
        "two_directions",
        "Blocks numbered in two dimensions.",
        swap("grid=(tiles_m * tiles_n, 1, 1)", "grid=(tiles_m, tiles_n, 1)"),
        within="gemm",
    ),
    kernels(
        "one_tile_for_both", "B's tile goes where A's is.", swap("copies.partition_D(sB)", "copies.partition_D(sA)")
    ),
    kernels("half_the_threads", "64 threads.", swap("block=(config.threads, 1, 1)", "block=(64, 1, 1)"), within="gemm"),
    kernels("sums_never_set", "Adds to whatever the registers hold.", without("tCrC.fill(0.0)")),
    kernels("b_is_a", "B's way made of A.", swap("copies.partition_S(gB)", "copies.partition_S(gA)")),
    kernels(
        "first_threads_share",
        "Every thread copies what thread 0 should.",
        swap("g2s.get_slice(thread)", "g2s.get_slice(0)"),
    ),
    kernels(
        "first_threads_sums",
        "Every thread stores what thread 0 should.",
        swap("tiled_mma.get_slice(thread)", "tiled_mma.get_slice(0)"),
    ),
    kernels(
        "b_in_memory_s_order",
        "Permutes C and not B.",
        swap(
            "gB = cute.composition(cute.local_tile(mB, (bN, bK), (n, None)), (order, None, None))",
            "gB = cute.local_tile(mB, (bN, bK), (n, None))",
        ),
    ),
    kernels("every_element_a_k_tile", "Counts the elements of gA.", swap("cute.size(gA, mode=[2])", "cute.size(gA)")),
    kernels("k_elements", "A step for each element along K.", swap("cute.size(gA, mode=[2])", "mA.shape[1]")),
    kernels(
        "coordinates_in_the_mma_s_order",
        "C's columns are permuted, their coordinates are not.",
        swap(
            "cC = cute.composition(cute.local_tile(cC, (bM, bN), (m, n)), (None, order))",
            "cC = cute.local_tile(cC, (bM, bN), (m, n))",
        ),
    ),
    kernels(
        "accumulators_of_a_tile",
        "Registers for the tile, not for a thread's part of it.",
        swap("make_fragment_C(tCgC)", "make_fragment_C(gC)"),
    ),
    kernels(
        "the_course_s_loop", "A part that the reader has not written.", swap("single_buffer(", "course.single_buffer(")
    ),
    kernels("the_course_s_steps", "Fetches and multiplies by the course's methods.", swap("MySteps(", "Steps(")),
    kernels("the_course_s_copies", "Loads by the course's method.", swap("MyCopies(", "GlobalToShared(", times=2)),
    kernels("matrix_for_tile", "Cuts the matrix.", swap("copies.partition_S(gA)", "copies.partition_S(mA)")),
    kernels("tile_for_part", "The tile, and no thread's part.", swap("copies.partition_D(sA)", "sA")),
    kernels(
        "limits_exchanged", "Asks A's rows whether B's are inside.", swap("*inside(mB, bN, cB)", "*inside(mA, bM, cA)")
    ),
]


NARROW = [
    stores("stored_twice", "All of it, and then all of it again.", *TWICE, words=("st.global instructions",)),
    stores(
        "a_barrier_each_row",
        "Threads meet before each of their rows.",
        swap("                eight =", "                cute.arch.sync_threads()\n                eight ="),
    ),
    stores(
        "one_by_one",
        "A comparison for each element: the compiler does not merge their stores.",
        swap(UNALIGNED, "cutlass.const_expr(True)"),
    ),
    stores(
        "pair_by_pair",
        "A comparison for each pair of an atom.",
        swap(
            f"elif {INSIDE}:\n                    {EIGHT}",
            "else:\n"
            "                    for atom in cutlass.range_constexpr(4):\n"
            "                        pair = ((None, row), m, (atom, n))\n"
            "                        if cute.elem_less(acc.coordinates[(0, row), m, (atom, n)], acc.shape):\n"
            "                            cute.autovec_copy(rounded[None, atom], acc.tCgC[pair])",
        ),
    ),
]

WRONG = {"09.8": [writes_nothing, *NARROW], "09.9": GEMMS}


WRONG_WHEN_RUN = {"09.8": STORES, "09.9": GEMMS_WHEN_RUN}
