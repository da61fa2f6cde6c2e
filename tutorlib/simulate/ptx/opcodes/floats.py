"""Floating-point arithmetic (PTX ISA, 9.7.3 to 9.7.5).

Approximations (.approx, .full) are computed in float64 and rounded: a GPU's may differ in the last bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.simulate.ptx.opcodes.table import Compute, Row, ufunc_step
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.state import Step, Where
from tutorlib.simulate.ptx.types import bits_of, directed_fma, flush, from_bits, odd_sum, to_bits

Array = np.ndarray
DIRECTED = ("rm", "rp", "rz")  # roundings that sums and products of fp32 have here
KNOWN = {"rn", "ftz", "sat", "approx", "full", "NaN", "relu"}
ROUND = {"rn", "approx", "full"}
PLAIN = ("f32", "f64", "f16")  # what NumPy computes with itself, rounding once
ZERO, ONE = np.float32(0), np.float32(1)


@dataclass(frozen=True)
class FloatRow:
    """What an opcode of floating-point numbers computes, with .ftz, .sat and .relu. A register may hold two of them.

    does: the operands → the result, in their type or exact enough for one more rounding.
    as_fma: the operands → those of a fused multiplication and addition that gives the same. With it come roundings
        other than to the nearest number, of fp32, and sums of f16 or bf16 with fp32, the last operand (PTX ISA, 9.7.5).
    """

    does: Compute
    operands: int = 2
    as_fma: Callable[..., tuple[Any, Any, Any]] | None = None

    def __call__(self, op: Operation) -> Step:
        kind, parts = op.kind, set(op.parts[1:-1])
        direction = next((part for part in DIRECTED if part in parts), "")
        mixed = kind in ("f16", "bf16") and "f32" in parts
        kinds, to = [kind] * (self.operands - mixed) + ["f32"] * mixed, "f32" if mixed else kind
        single = to.removesuffix("x2") == "f32"
        op.need(not parts - KNOWN - ({direction, *(["f32"] if mixed else [])} if self.as_fma else set()))
        op.need(single or not direction)
        op.need(len(op.operands) == len(kinds) + 1)
        out, given = op.target(0, to), [op.source(n, one) for n, one in enumerate(kinds, 1)]
        if isinstance(self.does, np.ufunc) and kind in PLAIN and parts <= ROUND and out.dtype == given[0].dtype:
            return ufunc_step(self.does, out, *given)

        def step(where: Where) -> None:
            values = [from_bits(np.ascontiguousarray(bits), one) for bits, one in zip(given, kinds, strict=True)]
            if single:
                values = [value.astype(np.float32, copy=False) for value in values]
            flushed = flush if "ftz" in parts and single else np.asarray
            values = [flushed(value) for value in values]
            directed = self.as_fma if direction else None
            result = directed_fma(*directed(*values), direction) if directed else self.does(*values)
            result = flushed(result.astype(np.float32, copy=False) if single else result)
            if "sat" in parts:
                result = np.where(np.isnan(result), 0, np.clip(result, 0, 1)).astype(result.dtype)
            if "relu" in parts:
                result = np.maximum(result, 0)
            bits = np.ascontiguousarray(to_bits(result, to)).view(f"u{bits_of(to) // 8}")
            np.copyto(out, bits.view(out.dtype) if bits.itemsize == out.itemsize else bits, where=where)

        return step


def fused(a: Array, b: Array, c: Array) -> Array:
    """Rounded once: by the format, from float64 rounded to odd. Of fp64 itself the product is rounded, too."""
    if a.dtype == np.float64:
        return a * b + c
    return odd_sum(a.astype(np.float64) * b, c.astype(np.float64))


def in_float64(compute: Compute) -> Compute:
    """The same function, computed in float64."""
    return lambda *given: compute(*(x.astype(np.float64) for x in given))


def extreme(op: Operation) -> Step:
    """min and max of two or three: of a number and a NaN the number, unless .NaN; -0 is below +0."""
    smaller = op.parts[0] == "min"
    with_nan, without = (np.minimum, np.fmin) if smaller else (np.maximum, np.fmax)
    plain = with_nan if "NaN" in op.parts else without

    def compute(a: Array, b: Array, *more: Array) -> Array:
        result = plain(a, b)
        negative = (np.signbit(a) | np.signbit(b)) if smaller else (np.signbit(a) & np.signbit(b))
        zero = np.where(negative, -0.0, 0.0).astype(result.dtype)
        result = np.where((a == 0) & (b == 0), zero, result)
        return compute(result, *more) if more else result

    return FloatRow(compute, len(op.operands) - 1)(op)


def change_sign(op: Operation) -> Step:
    """abs and neg, which change the sign and nothing else, of a NaN too."""
    op.need_known("ftz")
    bits = bits_of(op.kind)
    sign = np.array([0x80008000 if op.kind.endswith("x2") else 1 << bits - 1], f"u{bits // 8}")
    out, a = op.target(0, f"u{bits}"), op.source(1, f"u{bits}")
    ufunc, mask = (np.bitwise_xor, sign) if op.parts[0] == "neg" else (np.bitwise_and, ~sign)
    return ufunc_step(ufunc, out, a, mask)


OPCODES: dict[str, OpcodeDecoder] = {
    "add": FloatRow(np.add, as_fma=lambda a, b: (a, ONE, b)),
    "sub": FloatRow(np.subtract, as_fma=lambda a, b: (b, -ONE, a)),
    "mul": FloatRow(np.multiply, as_fma=lambda a, b: (a, b, -ZERO)),
    "fma": FloatRow(fused, 3, as_fma=lambda a, b, c: (a, b, c)),
    "mad": FloatRow(fused, 3, as_fma=lambda a, b, c: (a, b, c)),
    "div": FloatRow(np.divide),
    "rcp": FloatRow(in_float64(np.reciprocal), 1),
    "sqrt": FloatRow(np.sqrt, 1),
    "rsqrt": FloatRow(in_float64(lambda a: 1 / np.sqrt(a)), 1),
    "min": extreme,
    "max": extreme,
    "abs": change_sign,
    "neg": change_sign,
    "ex2": FloatRow(in_float64(np.exp2), 1),
    "lg2": FloatRow(in_float64(np.log2), 1),
    "sin": FloatRow(in_float64(np.sin), 1),
    "cos": FloatRow(in_float64(np.cos), 1),
    "tanh": FloatRow(in_float64(np.tanh), 1),
    "copysign": Row("t t t", lambda a, b: np.copysign(b, a)),
}
