"""Page 09: answers that are whole functions, and what rows of p09.txt are made of."""

import math

import cutlass
import numpy as np
from cutlass import Float32, cute
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync, warp
from tensor_layouts import Layout

from tests.pages.change import copy_of
from tests.pages.table import right, wrong
from tutorlib.kernels.ampere import thread_share
from tutorlib.kernels.ampere.thread_share import Operand, Steps


@right("09.2")
def by_name(rows, k, stages):
    """The product of an atom, by an early return."""
    if k == 32:
        atom = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, 32), stride=(32, 1)))
        return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_ordered_layout((8, 64), (1, 0)))
    return cute.tile_to_shape(atom, (rows, k, stages), order=(0, 1, 2))


@right("09.2")
def whole_tile_at_once(rows, k, stages):
    """No atom: the swizzle over the row-major buffers."""
    rows_of_128_bytes = cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))
    return cute.make_composed_layout(cute.make_swizzle(3 if k == 64 else 2, 3, 3), 0, rows_of_128_bytes)


@cute.jit
def arrive(number: cutlass.Constexpr):
    """A helper that waits."""
    cute.arch.cp_async_wait_group(number)
    cute.arch.sync_threads()


@right("09.3")
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


@right("09.4")
def ordered(config, dtype, cache=cpasync.LoadCacheMode.GLOBAL):
    """Threads by make_ordered_layout; values as a plain row."""
    lanes = 4 if config.tile[2] == 32 else 8
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache), dtype, num_bits_per_copy=128)
    threads = cute.make_ordered_layout((config.threads // lanes, lanes), order=(1, 0))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8), stride=(0, 1)))


@right("09.4")
def lanes_in_pairs(config, dtype, cache=cpasync.LoadCacheMode.GLOBAL):
    """The threads of a row as a nested mode."""
    lanes = config.tile[2] // 8
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=cache), dtype, num_bits_per_copy=128)
    threads = cute.make_layout((config.threads // lanes, (2, lanes // 2)), stride=(lanes, (1, 2)))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))


@right("09.4")
def keyword_arguments(config, dtype, cache=cpasync.LoadCacheMode.GLOBAL):
    """Everything by name, and := in the middle."""
    return cute.make_tiled_copy_tv(
        atom=cute.make_copy_atom(cpasync.CopyG2SOp(cache), dtype, num_bits_per_copy=16 * 8),
        thr_layout=cute.make_ordered_layout(
            (config.threads // (lanes := min(64, config.tile[2]) // 8), lanes), order=(1, 0)
        ),
        val_layout=cute.make_layout((1, 8), stride=(0, 1)),
    )


@right("09.5")
def warps_across_first(config, dtype):
    """Warps numbered along N."""
    m, n = config.warps
    op = warp.MmaF16BF16Op(ab_dtype=dtype, acc_dtype=Float32, shape_mnk=(16, 8, 16))
    return cute.make_tiled_mma(op, cute.make_layout((m, n, 1), stride=(n, 1, 0)), (m * 16, n * 16, 16))


@right("09.5")
def from_an_atom(config, dtype):
    """An MMA atom, and a plain tuple of warps."""
    atom = cute.make_mma_atom(warp.MmaF16BF16Op(dtype, Float32, (16, 8, 16)))
    m, n = config.warps
    return cute.make_tiled_mma(atom, (m, n, 1), permutation_mnk=(16 * m, 16 * n, 16))


@right("09.6")
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


@right("09.7")
def by_composition(warps, tile_n):
    """Digits taken from the tile's columns in memory, as CuTe does it."""
    memory = cute.make_layout((2, 4, 4, warps, tile_n // (32 * warps)))  # value, atom, lane, warp, the rest
    return cute.select(memory, [0, 2, 3, 1, 4])


@right("09.7")
@cute.jit
def compiled(warps: cutlass.Constexpr, tile_n: cutlass.Constexpr):
    """A @cute.jit function."""
    rest = math.prod((tile_n,)) // (32 * warps)
    return cute.make_layout((2, 4, warps, 4, rest), stride=(1, 8, 32, 2, 32 * warps))


@right("09.10")
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


@right("09.10")
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


@right("09.10")
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


@right("09.11")
def pair_by_pair(steps, k_block, buffer):
    """One ldmatrix after the other."""
    for r in (steps.rA, steps.rB):
        for pair in range(cute.size(r.tXrX, mode=[1])):
            cute.copy(r.s2r, r.tXsX[None, pair, k_block, buffer], r.tXrX[None, pair, k_block])


def fetch_one(operand, block, buffer):
    """A helper."""
    _, s2r, source, target = operand
    cute.copy(s2r, source[None, None, block, buffer], target[None, None, block])


@right("09.11")
def by_a_helper(steps, k_block, buffer):
    """B first, each by a helper that takes the Operand apart."""
    fetch_one(steps.rB, k_block, buffer)
    fetch_one(steps.rA, k_block, buffer)


@right("09.11")
def into_keywords(steps, k_block, buffer):
    """Keywords, and a slice of a slice."""
    for r in [getattr(steps, name) for name in ("rA", "rB")]:
        tile = r.tXsX[None, None, None, buffer]
        cute.copy(atom=r.s2r, dst=r.tXrX[None, None, k_block], src=tile[None, None, k_block])


@right("09.12")
def by_slice(steps, k_block):
    """CuTe's own slice in place of brackets."""
    a, b = (cute.slice_(r.tCrX, (None, None, k_block)) for r in (steps.rA, steps.rB))
    cute.gemm(steps.tiled_mma, steps.tCrC, a, b, steps.tCrC)


@right("09.12")
def operands_by_name(steps, k_block):
    """Keywords."""
    a, b = (r.tCrX[None, None, k_block] for r in (steps.rA, steps.rB))
    cute.gemm(atom=steps.tiled_mma, a=a, b=b, c=steps.tCrC, d=steps.tCrC)


@right("09.12")
@cute.jit
def in_a_jit_function(steps, k_block: cutlass.Constexpr):
    """A @cute.jit function."""
    c = steps.tCrC
    cute.gemm(steps.tiled_mma, c, steps.rA.tCrX[None, None, k_block], steps.rB.tCrX[None, None, k_block], c)


def blocks(m, n, tile_m, tile_n):
    return -(-m // tile_m) * -(-n // tile_n)


@wrong("09.10", "library")
def the_course_s_load(path, k_tile, buffer):
    """Calls it."""
    thread_share.load(path, k_tile, buffer)


@wrong("09.10", "unwritten, wrong elements", lesson=True)
@cute.jit
def skips_what_is_outside(path, k_tile, buffer):
    """An `if` in place of a predicate: shared memory keeps what it had."""
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if cutlass.const_expr(path.places is None):
        cute.copy(path.tiled_copy, source, target)
    else:
        for row in cutlass.range_constexpr(cute.size(target, mode=[1])):
            for vector in cutlass.range_constexpr(cute.size(target, mode=[2])):
                if cute.elem_less(path.places[0, row, vector, k_tile], path.limit):
                    cute.copy(path.tiled_copy, source[None, row, vector], target[None, row, vector])


@wrong("09.10", "too many", lesson=True)
def stores_zeros(path, k_tile, buffer):
    """Right, and stores zeros where cp.async has written zeros."""
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if path.places is None:
        cute.copy(path.tiled_copy, source, target)
        return
    _, rows, vectors = (cute.size(target, mode=[mode]) for mode in range(3))
    inside, outside = (cute.make_rmem_tensor((1, rows, vectors), cutlass.Boolean) for _ in range(2))
    for row in range(rows):
        for vector in range(vectors):
            within = cute.elem_less(path.places[0, row, vector, k_tile], path.limit)
            inside[0, row, vector], outside[0, row, vector] = within, within ^ True
    zeros = cute.make_fragment_like(target)
    zeros.fill(0)
    cute.copy(path.tiled_copy, source, target, pred=inside)
    store = cute.make_copy_atom(CopyUniversalOp(), target.element_type, num_bits_per_copy=128)
    cute.copy(store, zeros, target, pred=outside)


@wrong("09.11", "library", lesson=True)
def the_course_s_fetch(steps, k_block, buffer):
    """Calls it."""
    thread_share.Steps.fetch(steps, k_block, buffer)


@wrong("09.11", "wrong elements")
def every_k_block(steps, k_block, buffer):
    """All K blocks, each time that one is asked for."""
    for r in (steps.rA, steps.rB):
        for block in range(cute.size(r.tXrX, mode=[2])):
            cute.copy(r.s2r, r.tXsX[None, None, block, buffer], r.tXrX[None, None, block])


@wrong("09.12", "library", lesson=True)
def the_course_s_multiply(steps, k_block):
    """Calls it."""
    thread_share.multiply(steps, k_block)


@wrong("09.12", "unset, wrong elements")
def every_k_block_each_time(steps, k_block):
    """All K blocks, each time that one is asked for."""
    for block in range(cute.size(steps.rA.tCrX, mode=[2])):
        a, b = steps.rA.tCrX[None, None, block], steps.rB.tCrX[None, None, block]
        cute.gemm(steps.tiled_mma, steps.tCrC, a, b, steps.tCrC)


OWN = copy_of(thread_share)  # as if it were the reader's


def strides(of_modes):
    """An answer to 09.7 with these strides of the number of warps."""
    return lambda warps, tile_n: cute.make_layout((2, 4, warps, 4, tile_n // (32 * warps)), stride=of_modes(warps))


@wrong("09.9", "does not compile, launches nothing")
@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """No kernel."""
