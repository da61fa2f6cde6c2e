"""Notebook 10's GEMM with epilogues that do more than round; simulated on machines without a GPU."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import cutlass
from cutlass import Float32, cute

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import GemmParts, launch, store
from tutorlib.kernels.ampere.main_loops import single_buffer
from tutorlib.kernels.ampere.thread_share import Accumulators, Epilogue

Values = Any  # cute.TensorSSA: a thread's numbers, fp32
GELU_SCALE = 0.7978845608028654  # √(2/π)
GELU_CUBIC = 0.044715


def gelu(x: Values) -> Values:
    """GELU by tanh (Hendrycks and Gimpel, arXiv:1606.08415): x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))).

    tanh.approx takes one instruction and is wrong by 2^-11 at most (PTX ISA); it has no number too large for it.
    """
    inner = x * (GELU_SCALE + GELU_SCALE * GELU_CUBIC * x * x)
    half = 0.5 * x
    return half + half * cute.math.tanh(inner, fastmath=True)


def silu(x: Values) -> Values:
    """x · sigmoid(x), where sigmoid(x) = (1 + tanh(x/2)) / 2."""
    half = 0.5 * x
    return half + half * cute.math.tanh(half, fastmath=True)


def bias_gelu(acc: Values, bias: Values) -> Values:
    return gelu(acc + bias)


def add(acc: Values, other: Values) -> Values:
    return acc + other


def swiglu(gate: Values, up: Values) -> Values:
    return silu(gate) * up


CONFIG = GemmConfig((64, 64, 32), (4, 1))  # small, to be simulated; a gated tile's halves are 32 columns, a warp's step


def every_row(bias: cute.Tensor, rows: int) -> cute.Tensor:
    """(N,) as a matrix (rows, N) whose rows are all the same: stride 0."""
    return cute.make_tensor(bias.iterator, cute.make_layout((rows, cute.size(bias)), stride=(0, 1)))


def whole_matrix(matrix: cute.Tensor, rows: int) -> cute.Tensor:
    return matrix


@cute.jit
def fetch_operand(acc: Accumulators) -> cute.Tensor:
    """tCgD's elements inside C, in fp32 registers of the accumulators' shape; 0 outside."""
    registers = cute.make_rmem_tensor(acc.tCrC.shape, Float32)
    if cutlass.const_expr(acc.whole):
        as_stored = cute.make_fragment_like(acc.tCgD)
        cute.autovec_copy(acc.tCgD, as_stored)
        registers.store(as_stored.load().to(Float32))
    else:
        registers.fill(0.0)
        for n in cutlass.range_constexpr(cute.size(registers)):
            if cute.elem_less(acc.coordinates[n], acc.shape):
                registers[n] = acc.tCgD[n].to(Float32)
    return registers


@dataclass(frozen=True)
class Fusion:
    """op: a thread's accumulators and the operand's elements for them, both fp32 → values of the same shape.

    as_matrix: the operand, and M → a matrix of C's shape.
    """

    op: Callable[[Values, Values], Values]
    as_matrix: Callable[[cute.Tensor, int], cute.Tensor] = every_row

    @property
    def epilogue(self) -> Epilogue:
        @cute.jit
        def epilogue(acc: Accumulators) -> None:
            operand = fetch_operand(acc)
            acc.tCrC.store(self.op(acc.tCrC.load(), operand.load()))
            store(acc)

        return epilogue


def make_fused(fusion: Fusion, config: GemmConfig = CONFIG) -> Callable[..., None]:
    """gemm(a, b, d, c): C (M, N) = op(A·Bᵀ, D), where D is what fusion.as_matrix takes."""
    parts = GemmParts(single_buffer, epilogue=fusion.epilogue)

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor, c: cute.Tensor) -> None:
        launch(a, b, c, fusion.as_matrix(d, c.shape[0]), config, parts)

    return gemm


# Gated ----------------------------------------------------------------------------------------------------------


def gate_and_up(tCrC: cute.Tensor) -> tuple[cute.Tensor, cute.Tensor]:
    """A thread's accumulators of a tile's left half, and those of its right half: the rest of N is the slowest mode."""
    pairs, atoms, (neighbors, rest) = tCrC.shape
    half = cute.make_layout((pairs, atoms, (neighbors, rest // 2)))
    return cute.make_tensor(tCrC.iterator, half), cute.make_tensor(tCrC.iterator + cute.size(half), half)


def gated(tCrC: cute.Tensor) -> cute.Tensor:
    """silu(gate) · up, where the left half of the tile is gate's columns and the right half up's."""
    gate, up = gate_and_up(tCrC)
    values = cute.make_rmem_tensor(gate.shape, Float32)
    values.store(swiglu(gate.load(), up.load()))
    return values


def make_gated(activate: Callable[[cute.Tensor], cute.Tensor], config: GemmConfig = CONFIG) -> Callable[..., None]:
    """gemm(a, b, c): of every tile of A·Bᵀ (M, N), `activate` makes one of C (M, N / 2), half as wide."""

    @cute.jit
    def epilogue(acc: Accumulators) -> None:
        store(replace(acc, tCrC=activate(acc.tCrC)))

    parts = GemmParts(single_buffer, epilogue=epilogue, gated=True)

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        launch(a, b, c, None, config, parts)

    return gemm


# Element by element ---------------------------------------------------------------------------------------------


def make_elementwise(op: Callable[[Values], Values]) -> Callable[..., None]:
    """apply(x, y): y = op(x), both (N,), 4 elements a thread; 4 divides N."""
    threads, vector = 128, 4

    @cute.kernel
    def kernel(x: cute.Tensor, y: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        piece = block * threads + thread
        if piece < cute.size(x) // vector:
            values = cute.local_tile(x, (vector,), (piece,)).load()
            cute.local_tile(y, (vector,), (piece,)).store(op(values))

    @cute.jit
    def apply(x: cute.Tensor, y: cute.Tensor) -> None:
        kernel(x, y).launch(grid=(cute.ceil_div(cute.size(x), threads * vector), 1, 1), block=(threads, 1, 1))

    return apply
