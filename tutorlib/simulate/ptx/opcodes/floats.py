"""Floating-point arithmetic (PTX ISA, 9.7.3 to 9.7.5).

Approximations (.approx, .full) are computed in float64 and rounded: a GPU's may differ in the last bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.simulate.ptx import rounding
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.opcodes.elementwise import (
    Compute,
    Decoder,
    Step,
    computed,
    kind_of,
    only,
    sources,
    ufunc_step,
)
from tutorlib.simulate.ptx.state import State, Where

DIRECTED = {"rm", "rp", "rz"}  # roundings that sums and products of fp32 have here
KNOWN = {"rn", "ftz", "sat", "approx", "full", "NaN", "relu", "xorsign"}


@dataclass(frozen=True)
class Format:
    """How a type's numbers are computed with: each register holds `packed` of them.

    inner: the type of one of them: "f32", "f16", "bf16" or "f64".
    """

    inner: str
    packed: int

    @classmethod
    def of(cls, kind: str) -> "Format":
        return cls(kind.removesuffix("x2"), 2 if kind.endswith("x2") else 1)

    def read(self, register: np.ndarray) -> np.ndarray:
        """As floats, (lanes · packed,)."""
        if self.inner == "bf16":
            return rounding.from_bf16(np.ascontiguousarray(register).view(np.uint16))
        if self.packed == 2:
            return np.ascontiguousarray(register).view(np.float16 if self.inner == "f16" else np.float32)
        return register

    def write(self, values: np.ndarray, register: np.ndarray) -> np.ndarray:
        """Floats, as the register holds them."""
        if self.inner == "bf16":
            values = rounding.to_bf16(values.astype(np.float32))
        elif self.inner == "f16":
            values = values.astype(np.float16)
        return np.ascontiguousarray(values).view(register.dtype)


ZERO, ONE = np.float32(0), np.float32(1)
PLAIN = ("f32", "f64", "f16")  # what NumPy computes with itself, rounding once


def float_step(
    instruction: Instruction, state: State, compute: Compute, operands: int, known: set[str] = KNOWN
) -> Step:
    """The result of compute(operands) in the opcode's type, with .ftz and .sat."""
    kind = kind_of(instruction)
    only(instruction, known)
    flushes, saturates = "ftz" in instruction.parts, "sat" in instruction.parts
    out = state.target(instruction.operands[0], kind, instruction)
    given = sources(instruction, state, kind, instruction.operands[1 : 1 + operands])
    if (
        kind in PLAIN
        and isinstance(compute, np.ufunc)
        and not flushes
        and not saturates
        and out.dtype == given[0].dtype
    ):
        return ufunc_step(compute, out, *given)
    form = Format.of(kind)
    flushes &= form.inner == "f32"

    def step(where: Where) -> None:
        values = [form.read(register) for register in given]
        if flushes:
            values = [rounding.flush(v) for v in values]
        result = compute(*values)
        if flushes:
            result = rounding.flush(result)
        if saturates:
            result = np.where(np.isnan(result), 0, np.clip(result, 0, 1)).astype(result.dtype)
        np.copyto(out, form.write(result, out), where=where, casting="unsafe")

    return step


def float_op(compute: Compute, operands: int = 2) -> Decoder:
    def decode(instruction: Instruction, site: int, state: State) -> Step:
        return float_step(instruction, state, compute, operands)

    return decode


def fused(instruction: Instruction, site: int, state: State) -> Step:
    """fma and mad: rounded once. f16 and bf16 go through float64, rounded to odd there."""
    inner = Format.of(kind_of(instruction)).inner
    direction = next((part for part in instruction.parts if part in DIRECTED), "")
    if direction and inner != "f32":
        raise NotSimulated(str(instruction), instruction.line)

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        if direction:
            return rounding.directed_fma(a, b, c, direction)
        if inner in ("f32", "f64"):
            return rounding.fma(*np.broadcast_arrays(a, b, c))
        exact = rounding.odd_sum(a.astype(np.float64) * b, c.astype(np.float64))
        if inner == "bf16":
            exact = rounding.odd_float32(exact)
        return np.maximum(exact, 0) if "relu" in instruction.parts else exact

    return float_step(instruction, state, compute, 3, KNOWN | DIRECTED)


def rounded(plain: np.ufunc, as_fma: Callable[..., tuple[Any, Any, Any]]) -> Decoder:
    """add, sub and mul, also rounded down, up or towards zero. as_fma: takes a and b, gives the three operands."""

    def decode(instruction: Instruction, site: int, state: State) -> Step:
        direction = next((part for part in instruction.parts if part in DIRECTED), "")
        if not direction:
            return float_step(instruction, state, plain, 2)
        if Format.of(kind_of(instruction)).inner != "f32":
            raise NotSimulated(str(instruction), instruction.line)
        return float_step(
            instruction, state, lambda a, b: rounding.directed_fma(*as_fma(a, b), direction), 2, KNOWN | DIRECTED
        )

    return decode


def mixed(plain: Compute, operands: int) -> Decoder:
    """add, sub and fma of f16 or bf16 with a number of fp32, the last operand, in fp32 (PTX ISA, 9.7.5)."""

    def decode(instruction: Instruction, site: int, state: State) -> Step:
        kind, given = kind_of(instruction), instruction.operands[1:]
        if set(instruction.parts[1:-2]) - {"rn"} or len(given) != operands:
            raise NotSimulated(str(instruction), instruction.line)
        out, form = state.target(instruction.operands[0], "f32", instruction), Format.of(kind)
        (wide,) = sources(instruction, state, "f32", given[-1:])
        narrow = sources(instruction, state, kind, given[:-1])
        return computed(out, lambda *x: plain(*(form.read(a).astype(np.float32) for a in x[1:]), x[0]), wide, *narrow)

    return decode


def by_width(same: Decoder, other: Decoder) -> Decoder:
    """The decoder for operands of one type, or for "….f32.f16" and "….f32.bf16"."""

    def decode(instruction: Instruction, site: int, state: State) -> Step:
        is_mixed = instruction.parts[-2] == "f32" and instruction.parts[-1] in ("f16", "bf16")
        return (other if is_mixed else same)(instruction, site, state)

    return decode


def extreme(smaller: bool) -> Decoder:
    """min and max: of a number and a NaN the number, unless .NaN; -0 is below +0."""

    def decode(instruction: Instruction, site: int, state: State) -> Step:
        keeps_nan = "NaN" in instruction.parts
        plain: np.ufunc = (np.minimum if smaller else np.maximum) if keeps_nan else (np.fmin if smaller else np.fmax)

        def compute(a: np.ndarray, b: np.ndarray, *more: np.ndarray) -> np.ndarray:
            result = plain(a, b)
            zeros = (a == 0) & (b == 0)
            negative = (np.signbit(a) | np.signbit(b)) if smaller else (np.signbit(a) & np.signbit(b))
            result = np.where(zeros, np.where(negative, -0.0, 0.0).astype(result.dtype), result)
            return compute(result, *more) if more else result

        return float_step(instruction, state, compute, len(instruction.operands) - 1)

    return decode


def sign_step(change: np.ufunc) -> Decoder:
    """abs and neg, which change the sign and nothing else."""

    def decode(instruction: Instruction, site: int, state: State) -> Step:
        kind = kind_of(instruction)
        only(instruction, {"ftz"})
        bits = kind if kind in ("f32", "f64") else ("b32" if kind.endswith("x2") else "b16")
        sign = {"f32": 1 << 31, "f64": 1 << 63, "b32": 0x80008000, "b16": 1 << 15}[bits]
        unsigned = f"u{bits[1:]}"
        out = state.target(instruction.operands[0], unsigned, instruction)
        (a,) = sources(instruction, state, unsigned, instruction.operands[1:])
        mask = np.array([sign if change is np.negative else ~sign % (1 << int(bits[1:]))], a.dtype)
        return ufunc_step(np.bitwise_xor if change is np.negative else np.bitwise_and, out, a, mask)

    return decode


def in_float64(compute: Compute) -> Compute:
    """The same function, computed in float64 and rounded to the operands' type."""
    return lambda *given: compute(*(x.astype(np.float64) for x in given)).astype(given[0].dtype)


def copy_sign(instruction: Instruction, site: int, state: State) -> Step:
    """copysign: the sign of the first operand, the rest of the second."""
    kind = kind_of(instruction)
    out = state.target(instruction.operands[0], kind, instruction)
    a, b = sources(instruction, state, kind, instruction.operands[1:])
    return computed(out, lambda a, b: np.copysign(b, a), a, b)


TESTS: dict[str, Compute] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
    "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
}


def test_property(instruction: Instruction, site: int, state: State) -> Step:
    """testp"""
    out = state.target(instruction.operands[0], "pred", instruction)
    (a,) = sources(instruction, state, kind_of(instruction), instruction.operands[1:])
    return computed(out, TESTS[instruction.parts[1]], a)


OPCODES: dict[str, Decoder] = {
    "add": by_width(rounded(np.add, lambda a, b: (a, ONE, b)), mixed(np.add, 2)),
    "sub": by_width(rounded(np.subtract, lambda a, b: (b, -ONE, a)), mixed(np.subtract, 2)),
    "mul": rounded(np.multiply, lambda a, b: (a, b, -ZERO)),
    "fma": by_width(fused, mixed(lambda a, b, c: rounding.fma(*np.broadcast_arrays(a, b, c)), 3)),
    "mad": fused,
    "div": float_op(np.divide),
    "rcp": float_op(in_float64(np.reciprocal), 1),
    "sqrt": float_op(np.sqrt, 1),
    "rsqrt": float_op(in_float64(lambda a: 1 / np.sqrt(a)), 1),
    "min": extreme(smaller=True),
    "max": extreme(smaller=False),
    "abs": sign_step(np.absolute),
    "neg": sign_step(np.negative),
    "ex2": float_op(in_float64(np.exp2), 1),
    "lg2": float_op(in_float64(np.log2), 1),
    "sin": float_op(in_float64(np.sin), 1),
    "cos": float_op(in_float64(np.cos), 1),
    "tanh": float_op(in_float64(np.tanh), 1),
    "copysign": copy_sign,
    "testp": test_property,
}
