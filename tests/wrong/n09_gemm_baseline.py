"""Wrong answers to notebook 09.

WRONG: those that any machine can tell: by what they return, by a rehearsal, or by the instructions they lack.
WRONG_WHEN_RUN: parts that compile well and give a wrong C: a GPU tells, or the simulator.
"""

from cutlass import Float32, cute
from cutlass.cute.nvgpu import cpasync, warp
from tensor_layouts import Layout

from tests.wrong.change import copy_of, derive, swap, without, without_first, without_last
from tests.wrong.table import answer, says
from tutorlib.course.answers import load_answers
from tutorlib.kernels.ampere import gemm, operands
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.epilogues import store, store_through_smem
from tutorlib.kernels.ampere.layouts import smem_layout
from tutorlib.kernels.ampere.main_loops import single_buffer
from tutorlib.kernels.ampere.thread_share import Sums, make_copy_g2s, make_mma

# 09.1 -----------------------------------------------------------------------------------------------------------


def blocks(m, n, tile_m, tile_n):
    return -(-m // tile_m) * -(-n // tile_n)


BYTES = [
    answer("each_matrix_once", "Shares what blocks load.", lambda m, n, k, tm, tn: 2 * k * (m + n), "each matrix once"),
    answer(
        "whole_tiles_only",
        "Forgets the tiles that are partly outside.",
        lambda m, n, k, tm, tn: (m // tm) * (n // tn) * (tm + tn) * k * 2,
        "round the number of blocks up",
    ),
    answer("elements", "Counts elements.", lambda m, n, k, tm, tn: blocks(m, n, tm, tn) * (tm + tn) * k, "2 bytes"),
    answer(
        "sides_exchanged",
        "Divides M by the tile's N.",
        lambda m, n, k, tm, tn: blocks(m, n, tn, tm) * (tm + tn) * k * 2,
    ),
    answer(
        "a_product_of_sides",
        "A tile of C for rows of A and B.",
        lambda m, n, k, tm, tn: blocks(m, n, tm, tn) * tm * tn * k * 2,
        "their sum, not their product",
    ),
    answer(
        "fp32",
        "4 bytes an element.",
        lambda m, n, k, tm, tn: blocks(m, n, tm, tn) * (tm + tn) * k * 4,
        "bf16 has 2 bytes",
    ),
    answer("one_block", "One block's loads.", lambda m, n, k, tm, tn: (tm + tn) * k * 2, "one block's"),
    answer("a_alone", "A, and not B.", lambda m, n, k, tm, tn: blocks(m, n, tm, tn) * tm * k * 2, "B's rows, too"),
    answer(
        "a_block_too_many",
        "n // tile + 1.",
        lambda m, n, k, tm, tn: (m // tm + 1) * (n // tn + 1) * (tm + tn) * k * 2,
        "one tile too many",
    ),
    answer("a_float", "True division.", lambda m, n, k, tm, tn: m / tm * (n / tn) * (tm + tn) * k * 2),
    answer(
        "c_as_well",
        "C's bytes, too.",
        lambda m, n, k, tm, tn: blocks(m, n, tm, tn) * (tm + tn) * k * 2 + 2 * m * n,
        "C is written, not loaded",
    ),
    answer("what_is_inside", "Rows inside alone.", lambda m, n, k, tm, tn: 2 * k * (-(-n // tn) * m + -(-m // tm) * n)),
]

# 09.2 -----------------------------------------------------------------------------------------------------------


@says("row 0, column 0, stage 0 and row 0, column 0, stage 1 lie in the same place")
def one_stage(rows, k, stages):
    """All stages in one place."""
    return cute.make_layout((rows, k, stages), stride=(k, 1, 0))


@says("with no gap", "reaches to 4600")
def padded(rows, k, stages):
    """Padding in place of a swizzle: no conflicts, and more memory than was given."""
    return cute.make_layout((rows, k, stages), stride=(k + 8, 1, rows * (k + 8)))


@says("starts at offset", "inside another")
def columns_first(rows, k, stages):
    """M-contiguous: a vector of 8 along K is eight places apart."""
    return cute.make_layout((rows, k, stages), stride=(1, rows, rows * k))


SWIZZLE = "make_swizzle(3 if width == 64 else 2, 3, 3)"


def layout_like(name, what, words, *changes):
    return says(*words)(derive(smem_layout, name, what, *changes))


LAYOUTS = [
    layout_like(
        "row_major", "No swizzle: ldmatrix meets itself.", ("8 wavefronts",), swap(SWIZZLE, "make_swizzle(0, 3, 3)")
    ),
    layout_like(
        "one_bit_short", "Half of what it should mix.", ("2 wavefronts",), swap(SWIZZLE, "make_swizzle(2, 3, 3)")
    ),
    layout_like(
        "vectors_torn", "Mixes bits inside a vector.", ("inside another",), swap(SWIZZLE, "make_swizzle(3, 0, 6)")
    ),
    layout_like(
        "bits_too_high",
        "Mixes rows with rows.",
        ("stage 1 should be stage 0 again",),
        swap(SWIZZLE, "make_swizzle(3, 6, 3)"),
    ),
    layout_like("counts_bytes", "As if it were bytes.", ("wavefronts",), swap(SWIZZLE, "make_swizzle(3, 4, 3)")),
    layout_like("stages_inside", "Stages run fastest.", ("stage 1",), swap("(0, 1, 2))", "(1, 2, 0))")),
    layout_like(
        "one_stage_only",
        "One, whatever is asked.",
        ("(32, 64, 1)",),
        swap("atom, (rows, k, stages)", "atom, (rows, k, 1)"),
    ),
    layout_like("atom_of_6_rows", "An atom that does not divide the rows.", (), swap("((8, width)", "((6, width)")),
    layout_like(
        "shape_exchanged",
        "K down, rows across.",
        ("its modes have the sizes (64, 64, 2)",),
        swap("atom, (rows, k, stages)", "atom, (k, rows, stages)"),
    ),
    one_stage,
    padded,
    columns_first,
]

# 09.3 -----------------------------------------------------------------------------------------------------------


def loop(name, what, words, *changes):
    return says(*words)(derive(single_buffer, name, what, *changes))


LOOPS = [
    loop(
        "no_barrier_after_the_wait",
        "Each thread waits for its own copies and reads everybody's.",
        ("no barrier after the wait", "each thread waits for its own copies only"),
        without_first("sync_threads()"),
    ),
    loop(
        "no_barrier_before_the_load",
        "A fast warp overwrites what a slow one still reads.",
        ("overwrites buffer 0", "`steps.load(k_tile, 0)`"),
        without_last("sync_threads()"),
    ),
    loop(
        "waits_for_all_but_one",
        "wait_group off by one: the only group may be open.",
        ("no wait covers their group",),
        swap("wait_group(0)", "wait_group(1)"),
    ),
    loop("never_commits", "No groups to wait for.", ("are not committed",), without("commit_group()")),
    loop("never_waits", "A barrier is no wait.", ("may be under way",), without("wait_group(0)")),
    loop(
        "drops_the_last_tile",
        "One K tile short.",
        ("is never multiplied",),
        swap("(steps.k_tiles)", "(steps.k_tiles - 1)"),
    ),
    loop(
        "always_the_first_tile",
        "The K tile's index is not advanced.",
        ("multiplied twice",),
        swap("load(k_tile, 0)", "load(0, 0)"),
    ),
    loop(
        "one_k_block_short",
        "Leaves out the last 16 of each K tile.",
        ("K block 3 of tile 0 is never multiplied",),
        swap("(steps.k_blocks)", "(steps.k_blocks - 1)"),
    ),
    loop("not_compiled", "No @cute.jit.", ("is not a @cute.jit function",), without("@cute.jit")),
    loop(
        "a_twice",
        "Loads A and forgets B.",
        ("nothing was loaded into buffer 0 of B", "steps.load loads both"),
        swap("steps.load(k_tile, 0)", "steps.a.load(k_tile, 0)"),
    ),
    loop(
        "b_of_the_tile_before",
        "A and B are of different K tiles.",
        ("K tile 1 of A and K tile 0 of B",),
        swap(
            "steps.load(k_tile, 0)", "steps.a.load(k_tile, 0)\n        if k_tile == 0:\n            steps.b.load(0, 0)"
        ),
    ),
    loop(
        "unrolled",
        "The compiler writes every K tile out.",
        ("range_constexpr", "minutes of compiling"),
        swap("in range(", "in cutlass.range_constexpr("),
    ),
    loop(
        "a_third_barrier",
        "Safe, and everybody waits for everybody once more.",
        ("it is safe, but", "2 barriers a K tile would do"),
        swap(
            "            steps.multiply(k_block)",
            "            steps.multiply(k_block)\n        cute.arch.sync_threads()",
        ),
    ),
    loop(
        "multiplies_before_it_fetches",
        "The operands of the block before.",
        ("has not been fetched",),
        swap(
            "            steps.fetch(k_block, 0)\n            steps.multiply(k_block)",
            "            steps.multiply(k_block)\n            steps.fetch(k_block, 0)",
        ),
    ),
    loop(
        "first_warp_alone",
        "Only a warp comes to the barrier.",
        ("a deadlock", "comes to this barrier and thread 64 does not"),
        swap(
            "        cute.arch.cp_async_wait_group(0)\n        cute.arch.sync_threads()",
            "        cute.arch.cp_async_wait_group(0)\n        if cute.arch.thread_idx()[0] < 32:\n            cute.arch.sync_threads()",
        ),
    ),
    loop(
        "half_the_threads_load",
        "Each thread has a part of the tile to copy.",
        ("nothing was loaded into buffer 0",),
        swap(
            "        steps.load(k_tile, 0)",
            "        if cute.arch.thread_idx()[0] < 64:\n            steps.load(k_tile, 0)",
        ),
    ),
]

# 09.4 -----------------------------------------------------------------------------------------------------------


def copies(name, what, words, *changes):
    return says(*words)(derive(make_copy_g2s, name, what, *changes))


THREADS = "cute.make_layout((config.threads // lanes, lanes), stride=(lanes, 1))"
VALUES = "cute.make_layout((1, VECTOR))"


@says("no TiledCopy")
def atom_alone(config, dtype):
    """The instruction without its threads."""
    return cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=128)


COPIES = [
    copies(
        "down_the_rows",
        "Threads run down: each touches a line of its own.",
        ("touches 32 sectors", "16 would do"),
        swap(THREADS, "cute.make_layout((config.threads // lanes, lanes))"),
    ),
    copies(
        "always_eight_lanes",
        "Rows of 64, also where they have 32.",
        ("reach over 64 elements along K",),
        swap("min(config.tile[2], LINE) // VECTOR", "8"),
    ),
    copies(
        "elements_for_vectors",
        "As many threads as a row has elements.",
        ("along K",),
        swap("min(config.tile[2], LINE) // VECTOR", "config.tile[2]"),
    ),
    copies(
        "four_elements", "64 bits a copy.", ("moves 64 bits",), swap("=128)", "=64)"), swap("(1, VECTOR)", "(1, 4)")
    ),
    copies("values_down", "A thread's 8 values are 8 rows.", (), swap("(1, VECTOR)", "(VECTOR, 1)")),
    copies(
        "half_the_threads",
        "64 threads, whatever the block has.",
        ("it is for 64 threads; the block has 128",),
        swap("config.threads // lanes", "64 // lanes"),
    ),
    copies(
        "always_128_threads",
        "Right for one configuration.",
        ("it is for 128 threads; the block has 256",),
        swap("config.threads // lanes", "128 // lanes"),
    ),
    copies(
        "always_through_l1",
        "Does not ask for what it is given.",
        ("its atom has", "CopyG2SOp(cache_mode=cache)"),
        swap("cache_mode=cache", "cache_mode=LoadCacheMode.ALWAYS"),
    ),
    copies(
        "past_l1_by_default",
        "Leaves the cache mode out.",
        ("CopyG2SOp(cache_mode=cache)",),
        swap("cache_mode=cache", ""),
    ),
    copies(
        "all_in_one_place",
        "A stride of 0: threads copy the same.",
        (),
        swap("stride=(lanes, 1)", "stride=(0, 1)"),
    ),
    copies(
        "two_lanes_a_row",
        "Whole sectors, and bank conflicts in shared memory.",
        ("wavefronts", "should fill a row of the tile"),
        swap("min(config.tile[2], LINE) // VECTOR", "2"),
    ),
    copies(
        "lanes_swapped",
        "Rows for lanes.",
        (),
        swap(THREADS, "cute.make_layout((lanes, config.threads // lanes), stride=(config.threads // lanes, 1))"),
    ),
    copies("no_jit_needed_none", "Returns nothing.", ("it returns None",), swap("    return cute", "    cute")),
    copies(
        "ordinary_loads",
        "Through registers.",
        ("no cp.async",),
        swap("CopyG2SOp(cache_mode=cache)", "CopyUniversalOp()"),
    ),
    atom_alone,
]

# 09.5 -----------------------------------------------------------------------------------------------------------


def mmas(name, what, words, *changes):
    return says(*words)(derive(make_mma, name, what, *changes))


COVERS = "permutation_mnk=(16 * m, 16 * n, 16)"


@says("no TiledMma")
def instruction_alone(config, dtype):
    """The instruction without its warps."""
    return warp.MmaF16BF16Op(dtype, Float32, (16, 8, 16))


MMAS = [
    mmas(
        "one_atom_each",
        "No permutation: 8 columns a warp.",
        ("once over it covers (32, 16, 16)",),
        swap(", " + COVERS, ""),
    ),
    mmas(
        "n_of_one_atom",
        "8 columns a warp.",
        ("once over it covers (32, 16, 16)",),
        swap("16 * n, 16)", "8 * n, 16)"),
    ),
    mmas("twice_in_m", "Two atoms along M, too.", ("covers (64, 32, 16)",), swap("(16 * m,", "(32 * m,")),
    mmas("twice_in_k", "32 along K.", ("covers (32, 32, 32)",), swap("16 * n, 16)", "16 * n, 32)")),
    mmas(
        "one_warp",
        "No layout of warps.",
        ("it is for 32 threads",),
        swap("(m, n, 1)", "(1, 1, 1)"),
        swap("(16 * m, 16 * n", "(16, 16"),
    ),
    mmas(
        "always_two_by_two",
        "Right for one configuration.",
        ("it is for 128 threads; the block has 256",),
        swap("(m, n, 1)", "(2, 2, 1)"),
    ),
    mmas(
        "warps_in_k",
        "Warps side by side along K: their sums would have to be added.",
        (),
        swap("(m, n, 1)", "(m, 1, n)"),
    ),
    mmas(
        "sides_exchanged", "N for M.", ("GemmConfig((128, 256, 32), (2, 4))",), swap("m, n = config", "n, m = config")
    ),
    mmas(
        "fp16_operands",
        "Another type than it was given.",
        ("Float16",),
        swap("MmaF16BF16Op(dtype,", "MmaF16BF16Op(cutlass.Float16,"),
    ),
    mmas("half_an_instruction", "m16n8k8.", ("(16, 8, 8)",), swap("(16, 8, 16))", "(16, 8, 8))")),
    mmas(
        "columns_in_one_piece",
        "A warp's 16 columns side by side: fine by itself, and not what 09.7 counts on.",
        ("columns 0 to 15", "should be 16 rows"),
        swap(COVERS, "permutation_mnk=(16 * m, cute.make_layout((8, n, 2), stride=(1, 16, 8)), 16)"),
    ),
    mmas("returns_nothing", "No return.", ("it returns None",), swap("    return cute", "    cute")),
    instruction_alone,
]

# 09.6 -----------------------------------------------------------------------------------------------------------


def fetched(name, what, words, *changes):
    return says(*words)(derive(operands.make_operands, name, what, *changes))


OWN = copy_of(operands)  # as if it were the reader's
ONE_BUFFER = "math.partition_A(sA)[None, None, None, 0]"


@says("two Operands are wanted")
def a_alone(tiled_mma, thread, sA, sB):
    """One operand."""
    return OWN.make_operands(tiled_mma, thread, sA, sB)[0]


@says("should lie in registers")
def views_exchanged(tiled_mma, thread, sA, sB):
    """Shared memory where registers are meant."""
    return tuple(OWN.Operand(r.tXsX, r.s2r, r.tCrX, r.tXrX) for r in OWN.make_operands(tiled_mma, thread, sA, sB))


@says("2")
def tuple_of_three(tiled_mma, thread, sA, sB):
    """Without what ldmatrix reads."""
    return tuple((r.tCrX, r.s2r, r.tXrX) for r in OWN.make_operands(tiled_mma, thread, sA, sB))


OPERANDS = [
    fetched(
        "for_every_buffer",
        "Registers for each buffer.",
        ("[None, None, None, 0]", "tCrX of A"),
        swap(ONE_BUFFER, "math.partition_A(sA)"),
    ),
    fetched(
        "one_k_block",
        "Registers for one K block.",
        ("retile of a tensor with 2 modes",),
        swap(ONE_BUFFER, "math.partition_A(sA)[None, None, 0, 0]"),
    ),
    fetched("a_s_copy_for_b", "B in the order of A.", (), swap("make_tiled_copy_B(", "make_tiled_copy_A(")),
    fetched("b_s_copy_for_a", "A in the order of B.", (), swap("make_tiled_copy_A(", "make_tiled_copy_B(")),
    fetched("sides_exchanged", "B first.", ("of A",), swap("return rA, rB", "return rB, rA")),
    fetched("transposed", "ldmatrix.trans.", ("transposes",), swap("transpose=False", "transpose=True")),
    fetched("two_at_once", "ldmatrix.x2.", ("it can bring 4",), swap("num_matrices=4", "num_matrices=2")),
    fetched("one_at_once", "ldmatrix.x1.", ("num_matrices=4",), swap("num_matrices=4", "num_matrices=1")),
    fetched(
        "not_retiled", "The MMA's view where ldmatrix's is meant.", ("retile(tCrA)",), swap("a.retile(tCrA)", "tCrA")
    ),
    fetched(
        "other_registers",
        "Registers that no mma reads.",
        (),
        swap("a.retile(tCrA)", "cute.make_fragment_like(a.partition_S(sA)[None, None, None, 0])"),
    ),
    fetched("reads_as_it_writes", "partition_D.", (), swap("a.partition_S(sA)", "a.partition_D(sA)")),
    fetched(
        "ordinary_loads",
        "ld.shared in place of ldmatrix.",
        ("no ldmatrix",),
        swap("warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4)", "cute.nvgpu.CopyUniversalOp()"),
    ),
    fetched("a_s_registers_twice", "B's fragment made of sA.", (), swap("partition_B(sB)", "partition_B(sA)")),
    fetched(
        "first_thread_s_share",
        "Every thread reads what thread 0 should.",
        (),
        swap("s2r_a.get_slice(thread)", "s2r_a.get_slice(0)"),
    ),
    a_alone,
    views_exchanged,
    tuple_of_three,
]
# 09.7 -----------------------------------------------------------------------------------------------------------


def strides(name, what, strides, *words):
    def columns(warps, tile_n):
        return cute.make_layout((2, 4, warps, 4, tile_n // (32 * warps)), stride=strides(warps))

    return answer(name, what, columns, *words)


@says("Layout of tensor_layouts", "cute.make_layout")
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
        "atoms_before_values", "Neighbours in the wrong order.", lambda w: (4, 8, 32, 1, 32 * w), "Atoms run before"
    ),
    strides("warps_overlap", "All warps write the same columns.", lambda w: (1, 8, 0, 2, 32 * w), "each once"),
    strides(
        "half_sectors",
        "Neighbours for a lane, and half a sector for a store.",
        lambda w: (1, 8 * w, 8, 2, 32 * w),
        "half of each of 4 sectors",
    ),
    strides("the_mma_s_own", "The MMA's order.", lambda w: (1, 2, 8, 8 * w, 32 * w), "8 neighbours"),
    strides("two_and_two", "Values and lanes exchanged.", lambda w: (4, 1, 32, 8, 32 * w)),
    strides("rest_forgotten", "Wide tiles wrap around.", lambda w: (1, 8, 32, 2, 0), "each once"),
    strides("rest_of_two_warps", "Right for two warps.", lambda w: (1, 8, 32, 2, 64), "each once"),
    strides("warps_of_16", "Two atoms for a vector.", lambda w: (1, 4, 16, 2, 32 * w), "each once"),
    strides("pairs_of_atoms", "Atom pairs apart.", lambda w: (1, 2, 32, 8, 32 * w), "8 neighbours"),
    answer("a_tuple", "Strides alone.", lambda warps, tile_n: (1, 8, 32, 2, 32 * warps), "should be a Layout"),
    answer("too_short", "One warp's columns.", lambda warps, tile_n: cute.make_layout(16), "the tile has"),
    the_other_library_s,
]

# 09.8 -----------------------------------------------------------------------------------------------------------


@cute.jit
def writes_nothing(sums: Sums):
    """Leaves C as it was."""


INSIDE = "cute.elem_less(sums.coordinates[(0, row), m, (0, n)], sums.shape)"
WHOLE = "cutlass.const_expr(sums.whole)"
EIGHT = "cute.autovec_copy(registers[eight], sums.tCgC[eight])"
ANY_TILES = without("not sums.whole", "raise ValueError")  # the detour refuses C that is not made of whole ones


def stores(name, what, words, *changes):
    return says(*words)(derive(store, name, what, *changes))


STORES = [
    stores("unguarded", "Writes what is outside, too.", (), swap(WHOLE, "cutlass.const_expr(True)")),
    stores(
        "rows_unguarded",
        "Guards the columns and not the rows.",
        (),
        swap(INSIDE, "sums.coordinates[(0, row), m, (0, n)][1] < sums.shape[1]"),
    ),
    stores(
        "columns_unguarded",
        "Guards the rows and not the columns.",
        (),
        swap(INSIDE, "sums.coordinates[(0, row), m, (0, n)][0] < sums.shape[0]"),
    ),
    stores(
        "always_the_first_row",
        "One coordinate for both rows.",
        (),
        swap("coordinates[(0, row), m, (0, n)]", "coordinates[(0, 0), m, (0, n)]"),
    ),
    stores(
        "always_the_first_atom",
        "One coordinate for all M atoms.",
        (),
        swap("coordinates[(0, row), m, (0, n)]", "coordinates[(0, row), 0, (0, n)]"),
    ),
    stores(
        "always_the_first_eight",
        "One coordinate for all columns.",
        (),
        swap("coordinates[(0, row), m, (0, n)]", "coordinates[(0, row), m, (0, 0)]"),
    ),
    stores(
        "the_whole_thing", "All registers for each eight.", (), swap(EIGHT, "cute.autovec_copy(registers, sums.tCgC)")
    ),
    stores("unrounded", "The fp32 sums.", (), swap(EIGHT, "cute.autovec_copy(sums.tCrC[eight], sums.tCgC[eight])")),
    stores("turned_round", "Where it is outside.", (), swap(INSIDE, "not " + INSIDE)),
    stores(
        "backwards", "From C to registers.", (), swap(EIGHT, "cute.autovec_copy(sums.tCgC[eight], registers[eight])")
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

# 09.9 -----------------------------------------------------------------------------------------------------------

GEMM = load_answers("09_gemm_baseline")["09.9"]


def kernels(name, what, words, *changes, within="ampere_kernel"):
    return says(*words)(derive(GEMM, name, what, *changes, within=within))


@says("is not a @cute.jit function")
def not_compiled(a, b, c):
    """No @cute.jit."""


@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """No kernel."""


def with_parts(name, what, words, **parts):
    host = copy_of(gemm).make_gemm(GemmConfig(), single_buffer, **parts)
    host.__name__, host.__doc__ = name, what
    return says(*words)(host)


GEMMS = [
    not_compiled,
    says("launches no kernel")(launches_nothing),
    with_parts(
        "no_swizzle",
        "Row-major shared memory.",
        ("right, but it does more than it must", "threads meet in a bank"),
        smem=lambda rows, k, stages: cute.make_layout((rows, k, stages), stride=(k, 1, rows * k)),
    ),
    with_parts(
        "four_bytes_a_store",
        "C in the MMA's order.",
        ("st.global.v4",),
        columns=lambda config: cute.make_layout(config.tile[1]),
    ),
]
GEMMS_WHEN_RUN = [
    kernels(
        "one_block",
        "One block for all.",
        ("never wrote it",),
        swap("grid=(tiles_m * tiles_n, 1, 1)", "grid=(1, 1, 1)"),
        within="gemm",
    ),
    kernels(
        "half_the_threads", "64 threads.", (), swap("block=(config.threads, 1, 1)", "block=(64, 1, 1)"), within="gemm"
    ),
    kernels(
        "sums_never_set",
        "Adds to whatever the registers hold.",
        ("mma add to registers that nobody has set", "fill(0.0)"),
        without("tCrC.fill(0.0)"),
    ),
    kernels("b_is_a", "B's way made of A.", (), swap("copies.partition_S(gB)", "copies.partition_S(gA)")),
    kernels(
        "first_threads_share",
        "Every thread copies what thread 0 should.",
        (),
        swap("g2s.get_slice(thread)", "g2s.get_slice(0)"),
    ),
    kernels(
        "first_threads_sums",
        "Every thread stores what thread 0 should.",
        (),
        swap("tiled_mma.get_slice(thread)", "tiled_mma.get_slice(0)"),
    ),
    kernels(
        "b_in_memory_s_order",
        "Permutes C and not B.",
        (),
        swap(
            "gB = cute.composition(cute.local_tile(mB, (bN, bK), (n, None)), (order, None, None))",
            "gB = cute.local_tile(mB, (bN, bK), (n, None))",
        ),
    ),
    kernels(
        "limits_exchanged",
        "Asks A's rows whether B's are inside.",
        (),
        swap("*inside(mB, bN, cB)", "*inside(mA, bM, cA)"),
    ),
]

WRONG = {
    "09.1": BYTES,
    "09.2": LAYOUTS,
    "09.3": LOOPS,
    "09.4": COPIES,
    "09.5": MMAS,
    "09.6": OPERANDS,
    "09.7": COLUMNS,
    "09.8": [says("without st.global.v4")(writes_nothing)],
    "09.9": GEMMS,
}
WRONG_WHEN_RUN = {"09.8": STORES, "09.9": GEMMS_WHEN_RUN}
