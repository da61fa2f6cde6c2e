"""Page 18: answers that are whole functions, and what rows of p18.txt are made of."""

import copy

import cutlass
import torch
from cutlass import BFloat16, Float32, cute
from torch import nn

from tests.pages.table import right, wrong
from tutorlib.kernels.layers import KernelLinear


def inner(x):
    return 0.7978845608 * (x + 0.044715 * x * x * x)


def tanh(x):
    return cute.math.tanh(x, fastmath=True)


def gelu(x):
    return 0.5 * x * (1.0 + tanh(inner(x)))


def both_ways(x):
    """The mean of GELU by tanh and by an exponential."""
    return 0.5 * (gelu(x) + x / (1.0 + cute.math.exp(-2.0 * inner(x))))


def rounds(x):
    return x.to(BFloat16).to(Float32)


def silu(g):
    return 0.5 * g * (1.0 + tanh(0.5 * g))


def gating(op):
    """op: of the two halves' values."""

    def gated(tCrC):
        pairs, atoms, (neighbors, rest) = tCrC.shape
        half = cute.make_layout((pairs, atoms, (neighbors, rest // 2)))
        first, second = (cute.make_tensor(tCrC.iterator + n * cute.size(half), half).load() for n in range(2))
        result = cute.make_rmem_tensor(half.shape, Float32)
        result.store(op(first, second))
        return result

    return gated


def by_sigmoid(x):
    """1 + tanh(u) is 2·sigmoid(2u), and 1/(1 + inf) is 0."""
    return x / (1.0 + cute.math.exp(-1.5957691216 * x * (1.0 + 0.044715 * x * x)))


@right("18.4")
def by_division(tCrC):
    """g / (1 + exp(-g)): where g is very negative that is g / inf, and 0 is right."""
    pairs, atoms, (neighbors, rest) = tCrC.shape
    half = cute.make_layout((pairs, atoms, (neighbors, rest // 2)))
    gate, up = (cute.make_tensor(tCrC.iterator + n * cute.size(half), half).load() for n in range(2))
    result = cute.make_rmem_tensor(half.shape, Float32)
    result.store(gate / (1.0 + cute.math.exp(-gate)) * up)
    return result
