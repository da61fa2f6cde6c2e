"""Epilogues: functions of values in registers, of TensorSSA, that keep its shape."""

from typing import Any

from cutlass import cute

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
