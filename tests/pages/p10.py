"""Page 10: answers that are whole functions, and what rows of p10.txt are made of."""

import math

import cutlass
import numpy as np
from cutlass import Float32, cute
from cutlass.cute.nvgpu import CopyUniversalOp, warp
from tensor_layouts import Layout
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tests.pages.change import copy_of
from tests.pages.table import right, solved, wrong
from tutorlib.kernels.ampere import thread_share
from tutorlib.kernels.ampere.thread_share import Operand, Steps


@right("10.4")
def whole_tile_at_once(rows, k, stages):
    """No atom: the swizzle over the row-major buffers."""
    rows_of_128_bytes = cute.make_layout((rows, k, stages), stride=(k, 1, rows * k))
    return cute.make_composed_layout(cute.make_swizzle(3 if k == 64 else 2, 3, 3), 0, rows_of_128_bytes)


@right("10.7")
def warps_across_first(config, dtype):
    """Warps numbered along N."""
    m, n = config.warps
    op = warp.MmaF16BF16Op(ab_dtype=dtype, acc_dtype=Float32, shape_mnk=(16, 8, 16))
    return cute.make_tiled_mma(op, cute.make_layout((m, n, 1), stride=(n, 1, 0)), (m * 16, n * 16, 16))


@right("10.10")
@cute.jit
def compiled(warps: cutlass.Constexpr, tile_n: cutlass.Constexpr):
    """A @cute.jit function."""
    rest = math.prod((tile_n,)) // (32 * warps)
    return cute.make_layout((2, 4, warps, 4, rest), stride=(1, 8, 32, 2, 32 * warps))


@right("10.6")
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


def pair_by_pair(steps, k_block, buffer):
    """One ldmatrix after the other."""
    for r in (steps.rA, steps.rB):
        for pair in range(cute.size(r.tXrX, mode=[1])):
            cute.copy(r.s2r, r.tXsX[None, pair, k_block, buffer], r.tXrX[None, pair, k_block])


@cute.jit
def in_a_jit_function(steps, k_block: cutlass.Constexpr):
    c = steps.tCrC
    cute.gemm(steps.tiled_mma, c, steps.rA.tCrX[None, None, k_block], steps.rB.tCrX[None, None, k_block], c)


def blocks(m, n, tile_m, tile_n):
    return -(-m // tile_m) * -(-n // tile_n)


@wrong("10.6", "library")
def the_course_s_load(path, k_tile, buffer):
    """Calls it."""
    thread_share.load(path, k_tile, buffer)


@wrong("10.6", "unwritten, wrong elements", lesson=True)
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


@wrong("10.6", "too many", lesson=True)
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


def the_course_s_fetch(steps, k_block, buffer):
    thread_share.Steps.fetch(steps, k_block, buffer)


def the_course_s_multiply(steps, k_block):
    thread_share.multiply(steps, k_block)


def every_k_block(steps, k_block, buffer):
    """All K blocks, each time that one is asked for."""
    for r in (steps.rA, steps.rB):
        for block in range(cute.size(r.tXrX, mode=[2])):
            cute.copy(r.s2r, r.tXsX[None, None, block, buffer], r.tXrX[None, None, block])


def every_k_block_each_time(steps, k_block):
    """All K blocks, each time that one is asked for."""
    for block in range(cute.size(steps.rA.tCrX, mode=[2])):
        a, b = steps.rA.tCrX[None, None, block], steps.rB.tCrX[None, None, block]
        cute.gemm(steps.tiled_mma, steps.tCrC, a, b, steps.tCrC)


fetch, multiply = solved("10.9")
fragment = solved("10.2")
A_LAYOUT = MMA.a_layout
OWN = copy_of(thread_share)  # as if it were the reader's


def strides(of_modes):
    """An answer to 10.10 with these strides of the number of warps."""
    return lambda warps, tile_n: cute.make_layout((2, 4, warps, 4, tile_n // (32 * warps)), stride=of_modes(warps))


@wrong("10.12", "does not compile, launches nothing")
@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """No kernel."""
