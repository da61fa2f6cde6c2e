"""Unusual right answers to notebook 09."""

import math

import cutlass
import numpy as np
from cutlass import Float32, cute
from cutlass.cute.nvgpu import cpasync, warp

from tests.pages.change import derive, swap, without
from tests.pages.table import answer
from tutorlib.course.answers import load_answers
from tutorlib.kernels.ampere.layouts import smem_layout
from tutorlib.kernels.ampere.main_loops import single_buffer
from tutorlib.kernels.ampere.operands import Operand, make_operands
from tutorlib.kernels.ampere.thread_share import Steps, make_mma

# 09.1 -----------------------------------------------------------------------------------------------------------


def by_numpy(m, n, k, tile_m, tile_n):
    """np.ceil and NumPy's numbers."""
    return np.int64(np.ceil(m / tile_m) * np.ceil(n / tile_n)) * np.int64(2 * (tile_m + tile_n) * k)


def block_by_block(m, n, k, tile_m, tile_n):
    """Adds up in a loop."""
    return sum(2 * k * (tile_m + tile_n) for _ in range(0, m, tile_m) for _ in range(0, n, tile_n))


# 09.2 -----------------------------------------------------------------------------------------------------------


def by_name(rows, k, stages):
    """The product of an atom, by an early return."""
    if k == 32:
        atom = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, 32), stride=(32, 1)))
        return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_ordered_layout((8, 64), (1, 0)))
    return cute.tile_to_shape(atom, (rows, k, stages), order=(0, 1, 2))


def whole_tile_at_once(rows, k, stages):
    """No atom: the swizzle over the row-major buffers."""
    rows_of_128_bytes = cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))
    return cute.make_composed_layout(cute.make_swizzle(3 if k == 64 else 2, 3, 3), 0, rows_of_128_bytes)


# 09.3 -----------------------------------------------------------------------------------------------------------


@cute.jit
def arrive(number: cutlass.Constexpr):
    """A helper that waits."""
    cute.arch.cp_async_wait_group(number)
    cute.arch.sync_threads()


@cute.jit
def with_helper(steps: Steps):
    """Waits in a typed helper, and loads A and B by hand."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        steps.a.load(k_tile, 0)
        steps.b.load(k_tile, 0)
        cute.arch.cp_async_commit_group()
        arrive(0)
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.barrier()


K_BLOCKS = "        for k_block in cutlass.range_constexpr(steps.k_blocks):\n"
fetches_all_first = derive(
    single_buffer,
    "fetches_all_first",
    "All K blocks into registers, the barrier, and then the arithmetic.",
    swap("            steps.multiply(k_block)\n        cute.arch.sync_threads()", ""),
    swap(
        "            steps.fetch(k_block, 0)\n",
        "            steps.fetch(k_block, 0)\n"
        f"        cute.arch.sync_threads()\n{K_BLOCKS}            steps.multiply(k_block)",
    ),
)
knows_its_thread = derive(
    single_buffer,
    "knows_its_thread",
    "Asks which thread it is, and does the same in each.",
    swap("    for k_tile", "    thread, _, _ = cute.arch.thread_idx()\n    for k_tile"),
    swap("steps.load(k_tile, 0)", "steps.load(k_tile, thread * 0)"),
)


@cute.jit
def loads_at_the_end(steps: Steps):
    """The first tile before the loop, each next one behind the second barrier; two groups for one tile."""
    steps.a.load(0, 0)
    cute.arch.cp_async_commit_group()
    steps.b.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.sync_threads()
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, 0)
        cute.arch.cp_async_commit_group()


# 09.4 -----------------------------------------------------------------------------------------------------------


def ordered(config, dtype, cache=cpasync.LoadCacheMode.GLOBAL):
    """Threads by make_ordered_layout; values as a plain row."""
    lanes = 4 if config.tile[2] == 32 else 8
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache), dtype, num_bits_per_copy=128)
    threads = cute.make_ordered_layout((config.threads // lanes, lanes), order=(1, 0))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8), stride=(0, 1)))


def lanes_in_pairs(config, dtype, cache=cpasync.LoadCacheMode.GLOBAL):
    """The threads of a row as a nested mode."""
    lanes = config.tile[2] // 8
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=cache), dtype, num_bits_per_copy=128)
    threads = cute.make_layout((config.threads // lanes, (2, lanes // 2)), stride=(lanes, (1, 2)))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))


def keyword_arguments(config, dtype, cache=cpasync.LoadCacheMode.GLOBAL):
    """Everything by name, and := in the middle."""
    return cute.make_tiled_copy_tv(
        atom=cute.make_copy_atom(cpasync.CopyG2SOp(cache), dtype, num_bits_per_copy=16 * 8),
        thr_layout=cute.make_ordered_layout(
            (config.threads // (lanes := min(64, config.tile[2]) // 8), lanes), order=(1, 0)
        ),
        val_layout=cute.make_layout((1, 8), stride=(0, 1)),
    )


# 09.5 -----------------------------------------------------------------------------------------------------------


def warps_across_first(config, dtype):
    """Warps numbered along N."""
    m, n = config.warps
    op = warp.MmaF16BF16Op(ab_dtype=dtype, acc_dtype=Float32, shape_mnk=(16, 8, 16))
    return cute.make_tiled_mma(op, cute.make_layout((m, n, 1), stride=(n, 1, 0)), (m * 16, n * 16, 16))


def from_an_atom(config, dtype):
    """An MMA atom, and a plain tuple of warps."""
    atom = cute.make_mma_atom(warp.MmaF16BF16Op(dtype, Float32, (16, 8, 16)))
    m, n = config.warps
    return cute.make_tiled_mma(atom, (m, n, 1), permutation_mnk=(16 * m, 16 * n, 16))


# 09.6 -----------------------------------------------------------------------------------------------------------


def in_a_list(tiled_mma, thread, sA, sB):
    """A list, and one operand after the other, by keywords."""
    math, atoms = tiled_mma.get_slice(thread), []
    for s, part, fragment, lay in (
        (sA, math.partition_A, tiled_mma.make_fragment_A, cute.make_tiled_copy_A),
        (sB, math.partition_B, tiled_mma.make_fragment_B, cute.make_tiled_copy_B),
    ):
        registers = fragment(part(cute.slice_(s, (None, None, 0))))
        s2r = lay(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), s.element_type), tiled_mma)
        mine = s2r.get_slice(thread)
        atoms.append(Operand(tXsX=mine.partition_S(s), tXrX=mine.retile(registers), s2r=s2r, tCrX=registers))
    return atoms


# 09.7 -----------------------------------------------------------------------------------------------------------


def nested(warps, tile_n):
    """Another shape for the same function: the values and lanes are one mode."""
    return cute.make_layout(((2, 4), (warps, 4), tile_n // (32 * warps)), stride=((1, 8), (32, 2), 32 * warps))


def by_composition(warps, tile_n):
    """Digits taken from the tile's columns in memory, as CuTe does it."""
    memory = cute.make_layout((2, 4, 4, warps, tile_n // (32 * warps)))  # value, atom, lane, warp, the rest
    return cute.select(memory, [0, 2, 3, 1, 4])


@cute.jit
def compiled(warps: cutlass.Constexpr, tile_n: cutlass.Constexpr):
    """A @cute.jit function."""
    rest = math.prod((tile_n,)) // (32 * warps)
    return cute.make_layout((2, 4, warps, 4, rest), stride=(1, 8, 32, 2, 32 * warps))


# 09.8 -----------------------------------------------------------------------------------------------------------

SOLVED = load_answers("09_gemm_baseline")
INSIDE = "cute.elem_less(acc.coordinates[(0, row), m, (0, n)], acc.shape)"
EIGHT = "cute.autovec_copy(rounded, acc.tCgC[eight])"

# 09.10 ----------------------------------------------------------------------------------------------------------


@cute.jit
def by_a_compiler_s_loops(path, k_tile, buffer):
    """A @cute.jit function, whose loops the compiler unrolls; it asks for the last element of a vector."""
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if cutlass.const_expr(path.places is None):
        cute.copy(path.tiled_copy, source, target)
    else:
        inside = cute.make_rmem_tensor((1, cute.size(target, mode=[1]), cute.size(target, mode=[2])), cutlass.Boolean)
        for row in cutlass.range_constexpr(cute.size(inside, mode=[1])):
            for vector in cutlass.range_constexpr(cute.size(inside, mode=[2])):
                inside[0, row, vector] = cute.elem_less(path.places[7, row, vector, k_tile], path.limit)
        cute.copy(path.tiled_copy, source, target, pred=inside)


def row_by_row(path, k_tile, buffer):
    """A copy for each row, with predicates of its own."""
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    vectors = cute.size(target, mode=[2])
    for row in range(cute.size(target, mode=[1])):
        options = {}
        if path.limit:
            options["pred"] = inside = cute.make_rmem_tensor((1, vectors), cutlass.Boolean)
            for vector in range(vectors):
                inside[0, vector] = cute.elem_less(path.places[0, row, vector, k_tile], path.limit)
        cute.copy(path.tiled_copy, source[None, row, None], target[None, row, None], **options)


def row_and_k_apart(path, k_tile, buffer):
    """Compares rows and columns by themselves."""
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if path.places is None:
        return cute.copy(path.tiled_copy, source, target)
    _, rows, vectors, _ = map(cute.size, path.places.shape)
    inside = cute.make_rmem_tensor((1, rows, vectors), cutlass.Boolean)
    for row in range(rows):
        for vector in range(vectors):
            m, k = path.places[0, row, vector, k_tile]
            inside[0, row, vector] = (m < path.limit[0]) & (k < path.limit[1])
    cute.copy(path.tiled_copy, source, target, pred=inside)


# 09.11 ----------------------------------------------------------------------------------------------------------


def pair_by_pair(steps, k_block, buffer):
    """One ldmatrix after the other."""
    for r in (steps.rA, steps.rB):
        for pair in range(cute.size(r.tXrX, mode=[1])):
            cute.copy(r.s2r, r.tXsX[None, pair, k_block, buffer], r.tXrX[None, pair, k_block])


def fetch_one(operand, block, buffer):
    """A helper."""
    _, s2r, source, target = operand
    cute.copy(s2r, source[None, None, block, buffer], target[None, None, block])


def by_a_helper(steps, k_block, buffer):
    """B first, each by a helper that takes the Operand apart."""
    fetch_one(steps.rB, k_block, buffer)
    fetch_one(steps.rA, k_block, buffer)


def into_keywords(steps, k_block, buffer):
    """Keywords, and a slice of a slice."""
    for r in [getattr(steps, name) for name in ("rA", "rB")]:
        tile = r.tXsX[None, None, None, buffer]
        cute.copy(atom=r.s2r, dst=r.tXrX[None, None, k_block], src=tile[None, None, k_block])


# 09.12 ----------------------------------------------------------------------------------------------------------


def by_slice(steps, k_block):
    """CuTe's own slice in place of brackets."""
    a, b = (cute.slice_(r.tCrX, (None, None, k_block)) for r in (steps.rA, steps.rB))
    cute.gemm(steps.tiled_mma, steps.tCrC, a, b, steps.tCrC)


def operands_by_name(steps, k_block):
    """Keywords."""
    a, b = (r.tCrX[None, None, k_block] for r in (steps.rA, steps.rB))
    cute.gemm(atom=steps.tiled_mma, a=a, b=b, c=steps.tCrC, d=steps.tCrC)


@cute.jit
def in_a_jit_function(steps, k_block: cutlass.Constexpr):
    """A @cute.jit function."""
    c = steps.tCrC
    cute.gemm(steps.tiled_mma, c, steps.rA.tCrX[None, None, k_block], steps.rB.tCrX[None, None, k_block], c)


# 09.9 -----------------------------------------------------------------------------------------------------------

GEMM = SOLVED["09.9"]

RIGHT = {
    "09.1": [
        by_numpy,
        block_by_block,
        answer("by_math", "math.ceil.", lambda m, n, k, a, b: math.ceil(m / a) * math.ceil(n / b) * (a + b) * k * 2),
    ],
    "09.2": [
        by_name,
        whole_tile_at_once,
        derive(
            smem_layout,
            "three_bits_for_both",
            "Swizzle⟨3,3,3⟩ on rows of 64 bytes, too.",
            swap("make_swizzle(3 if width == 64 else 2, 3, 3)", "make_swizzle(3, 3, 3)"),
        ),
    ],
    "09.3": [with_helper, fetches_all_first, loads_at_the_end, knows_its_thread],
    "09.4": [ordered, lanes_in_pairs, keyword_arguments],
    "09.5": [
        warps_across_first,
        from_an_atom,
        derive(make_mma, "bf16_said", "Names the type.", swap("MmaF16BF16Op(dtype", "MmaF16BF16Op(cutlass.BFloat16")),
    ],
    "09.6": [
        in_a_list,
        derive(
            make_operands,
            "last_buffer",
            "Picks another buffer: nothing is read.",
            swap("(sA)[None, None, None, 0]", "(sA)[None, None, None, -1 + 1]"),
        ),
        derive(make_operands, "the_type_of_b", "Asks B for the type.", swap("sA.element_type)", "sB.element_type)")),
    ],
    "09.7": [nested, by_composition, compiled],
    "09.8": [
        derive(
            SOLVED["09.8"],
            "row_and_column_by_hand",
            "Compares the two coordinates one by one.",
            swap(
                f"elif {INSIDE}:\n                    {EIGHT}",
                f"else:\n                    place = acc.coordinates[(0, row), m, (0, n)]\n                    if place[0] < acc.shape[0] and place[1] < acc.shape[1]:\n                        {EIGHT}",
            ),
        ),
        derive(
            SOLVED["09.8"],
            "asks_for_the_last_of_eight",
            "Asks whether the last of the eight is inside.",
            swap(INSIDE, "cute.elem_less(acc.coordinates[(1, row), m, (3, n)], acc.shape)"),
        ),
        derive(
            SOLVED["09.8"],
            "by_copy_atom",
            "A copy atom of 128 bits.",
            swap(
                EIGHT,
                "cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), rounded.element_type, num_bits_per_copy=128), cute.coalesce(rounded), cute.coalesce(acc.tCgC[eight]))",
            ),
        ),
        derive(
            SOLVED["09.8"],
            "rounded_all_at_once",
            "Rounds everything first.",
            swap("    (_, rows), atoms", "    registers = acc.rounded()\n    (_, rows), atoms"),
            swap("rounded = cute.make_rmem_tensor((2, 4), acc.tCgC.element_type)", "rounded = registers[eight]"),
            without("rounded.store("),
        ),
    ],
    "09.9": [
        derive(
            GEMM,
            "grid_of_two",
            "Its host works the grid out itself.",
            swap("grid=(tiles_m * tiles_n, 1, 1)", "grid=(-(-c.shape[0] // 128) * -(-c.shape[1] // 128), 1, 1)"),
        ),
        derive(
            GEMM,
            "column_by_column",
            "Blocks go down C first.",
            swap("block // tiles_n, block % tiles_n", "block % tiles_m, block // tiles_m"),
            swap("_, tiles_n =", "tiles_m, _ ="),
            within="ampere_kernel",
        ),
        derive(
            GEMM,
            "always_asks",
            "Asks every vector whether it is inside.",
            swap(
                "(None, None) if whole else (copies.partition_S(c), matrix.shape)",
                "(copies.partition_S(c), matrix.shape)",
            ),
            within="ampere_kernel",
        ),
    ],
    "09.10": [by_a_compiler_s_loops, row_by_row, row_and_k_apart],
    "09.11": [pair_by_pair, by_a_helper, into_keywords],
    "09.12": [by_slice, operands_by_name, in_a_jit_function],
}
