"""Wrong answers to notebook 09: who multiplies what, operands, and the order of columns."""

from functools import partial

from cutlass import Float32, cute
from cutlass.cute.nvgpu import warp
from tensor_layouts import Layout

from tests.pages.change import copy_of, derive, swap
from tests.pages.table import answer
from tutorlib.kernels.ampere import operands
from tutorlib.kernels.ampere.thread_share import make_mma

mmas = partial(derive, make_mma)
COVERS = "permutation_mnk=(16 * m, 16 * n, 16)"


def instruction_alone(config, dtype):
    """The instruction without its warps."""
    return warp.MmaF16BF16Op(dtype, Float32, (16, 8, 16))


MMAS = [
    mmas("one_atom_each", "No permutation: 8 columns a warp.", swap(", " + COVERS, "")),
    mmas("n_of_one_atom", "8 columns a warp.", swap("16 * n, 16)", "8 * n, 16)")),
    mmas("half_an_atom", "17 rows a warp.", swap("(16 * m,", "(17 * m,")),
    mmas("twice_in_m", "Two atoms along M, too.", swap("(16 * m,", "(32 * m,")),
    mmas("twice_in_k", "32 along K.", swap("16 * n, 16)", "16 * n, 32)")),
    mmas("one_warp", "No layout of warps.", swap("(m, n, 1)", "(1, 1, 1)"), swap("(16 * m, 16 * n", "(16, 16")),
    mmas("always_two_by_two", "Right for one configuration.", swap("(m, n, 1)", "(2, 2, 1)")),
    mmas(
        "warps_in_k",
        "Warps side by side along K: their accumulators would have to be added.",
        swap("(m, n, 1)", "(m, 1, n)"),
    ),
    mmas("sides_exchanged", "N for M.", swap("m, n = config", "n, m = config")),
    mmas(
        "fp16_operands", "Another type than it was given.", swap("MmaF16BF16Op(dtype,", "MmaF16BF16Op(cutlass.Float16,")
    ),
    mmas("half_an_instruction", "m16n8k8.", swap("(16, 8, 16))", "(16, 8, 8))")),
    mmas(
        "columns_in_one_piece",
        "A warp's 16 columns side by side: fine by itself, and not what 09.7 counts on.",
        swap(COVERS, "permutation_mnk=(16 * m, cute.make_layout((8, n, 2), stride=(1, 16, 8)), 16)"),
    ),
    mmas("returns_nothing", "No return.", swap("    return cute", "    cute")),
    instruction_alone,
]


fetched = partial(derive, operands.make_operands)
OWN = copy_of(operands)  # as if it were the reader's
ONE_BUFFER = "math.partition_A(sA)[None, None, None, 0]"


def a_alone(tiled_mma, thread, sA, sB):
    """One operand."""
    return OWN.make_operands(tiled_mma, thread, sA, sB)[0]


def views_exchanged(tiled_mma, thread, sA, sB):
    """Shared memory where registers are meant."""
    return tuple(OWN.Operand(r.tXsX, r.s2r, r.tCrX, r.tXrX) for r in OWN.make_operands(tiled_mma, thread, sA, sB))


def tuple_of_three(tiled_mma, thread, sA, sB):
    """Without what ldmatrix reads."""
    return tuple((r.tCrX, r.s2r, r.tXrX) for r in OWN.make_operands(tiled_mma, thread, sA, sB))


OPERANDS = [
    fetched("for_every_buffer", "Registers for each buffer.", swap(ONE_BUFFER, "math.partition_A(sA)")),
    fetched("one_k_block", "Registers for one K block.", swap(ONE_BUFFER, "math.partition_A(sA)[None, None, 0, 0]")),
    fetched("a_s_copy_for_b", "B in the order of A.", swap("make_tiled_copy_B(", "make_tiled_copy_A(")),
    fetched("b_s_copy_for_a", "A in the order of B.", swap("make_tiled_copy_A(", "make_tiled_copy_B(")),
    fetched("sides_exchanged", "B first.", swap("return rA, rB", "return rB, rA")),
    fetched("transposed", "ldmatrix.trans.", swap("transpose=False", "transpose=True")),
    fetched("two_at_once", "ldmatrix.x2.", swap("num_matrices=4", "num_matrices=2")),
    fetched("one_at_once", "ldmatrix.x1.", swap("num_matrices=4", "num_matrices=1")),
    fetched("not_retiled", "The MMA's view where ldmatrix's is meant.", swap("a.retile(tCrA)", "tCrA")),
    fetched(
        "other_registers",
        "Registers that no mma reads.",
        swap("a.retile(tCrA)", "cute.make_fragment_like(a.partition_S(sA)[None, None, None, 0])"),
    ),
    fetched("reads_as_it_writes", "partition_D.", swap("a.partition_S(sA)", "a.partition_D(sA)")),
    fetched(
        "ordinary_loads",
        "ld.shared in place of ldmatrix.",
        swap("warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4)", "cute.nvgpu.CopyUniversalOp()"),
    ),
    fetched("a_s_registers_twice", "B's fragment made of sA.", swap("partition_B(sB)", "partition_B(sA)")),
    fetched(
        "first_thread_s_share",
        "Every thread reads what thread 0 should.",
        swap("s2r_a.get_slice(thread)", "s2r_a.get_slice(0)"),
    ),
    fetched(
        "no_atom",
        "The mma where the atom belongs, which CuTe reads as one.",
        swap("make_tiled_copy_A(ldmatrix,", "make_tiled_copy_A(tiled_mma,"),
    ),
    a_alone,
    views_exchanged,
    tuple_of_three,
]


def strides(name, what, strides, *words):
    def columns(warps, tile_n):
        return cute.make_layout((2, 4, warps, 4, tile_n // (32 * warps)), stride=strides(warps))

    return answer(name, what, columns, *words)


def the_other_library_s(warps, tile_n):
    """Right, and nothing that a kernel can use."""
    return Layout((2, 4, warps, 4, tile_n // (32 * warps)), (1, 8, 32, 2, 32 * warps))


COLUMNS = [
    answer("unchanged", "The identity.", lambda warps, tile_n: cute.make_layout(tile_n), "That changes nothing"),
    answer(
        "inverse",
        "From memory to the MMA.",
        lambda warps, tile_n: cute.make_layout(
            (2, 4, 4, warps, tile_n // (32 * warps)), stride=(1, 8 * warps, 2, 8, 32 * warps)
        ),
        "the inverse",
    ),
    strides(
        "atoms_before_values", "Neighbors in the wrong order.", lambda w: (4, 8, 32, 1, 32 * w), "Atoms run before"
    ),
    strides("warps_overlap", "All warps write the same columns.", lambda w: (1, 8, 0, 2, 32 * w), "each once"),
    strides(
        "half_sectors",
        "Neighbors for a lane, and half a sector for a store.",
        lambda w: (1, 8 * w, 8, 2, 32 * w),
        "half of each of 4 sectors",
    ),
    strides("the_mma_s_own", "The MMA's order.", lambda w: (1, 2, 8, 8 * w, 32 * w), "8 neighbors"),
    strides("two_and_two", "Values and lanes exchanged.", lambda w: (4, 1, 32, 8, 32 * w)),
    strides("rest_forgotten", "Wide tiles wrap around.", lambda w: (1, 8, 32, 2, 0), "each once"),
    strides("rest_of_two_warps", "Right for two warps.", lambda w: (1, 8, 32, 2, 64), "each once"),
    strides("warps_of_16", "Two atoms for a vector.", lambda w: (1, 4, 16, 2, 32 * w), "each once"),
    strides("pairs_of_atoms", "Atom pairs apart.", lambda w: (1, 2, 32, 8, 32 * w), "8 neighbors"),
    answer("a_tuple", "Strides alone.", lambda warps, tile_n: (1, 8, 32, 2, 32 * warps), "should be a layout"),
    answer("too_short", "One warp's columns.", lambda warps, tile_n: cute.make_layout(16), "the tile has"),
    the_other_library_s,
]


WRONG = {"09.5": MMAS, "09.6": OPERANDS, "09.7": COLUMNS}
