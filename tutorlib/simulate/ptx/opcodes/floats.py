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
from tutorlib.simulate.ptx.opcodes.elementwise import Compute, Decoder, Step, kind_of, sources, ufunc_step
from tutorlib.simulate.ptx.opcodes.table import Row
from tutorlib.simulate.ptx.state import State, Where

Array = np.ndarray
DIRECTED = ("rm", "rp", "rz")  # roundings that sums and products of fp32 have here
KNOWN = {"rn", "ftz", "sat", "approx", "full", "NaN", "relu"}
ROUND = {"rn", "approx", "full"}
PLAIN = ("f32", "f64", "f16")  # what NumPy computes with itself, rounding once
ZERO, ONE = np.float32(0), np.float32(1)


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

    def read(self, register: Array) -> Array:
        """As floats, (lanes · packed,)."""
        if self.inner == "bf16":
            return rounding.from_bf16(np.ascontiguousarray(register).view(np.uint16))
        if self.packed == 2:
            return np.ascontiguousarray(register).view(np.float16 if self.inner == "f16" else np.float32)
        return register

    def write(self, values: Array, register: Array) -> Array:
        """Floats, rounded once, as the register holds them."""
        if self.inner == "bf16":
            wide = values.dtype == np.float64
            values = rounding.to_bf16(rounding.odd_float32(values) if wide else values.astype(np.float32))
        else:
            values = values.astype(f"f{int(self.inner[1:]) // 8}", copy=False)
        return np.ascontiguousarray(values).view(register.dtype)


@dataclass(frozen=True)
class FloatRow:
    """What an opcode of floating-point numbers computes, with .ftz, .sat and .relu.

    does: the operands → the result, in their type or exact enough for one more rounding.
    as_fma: the operands → those of a fused multiplication and addition that gives the same. With it come roundings
        other than to the nearest number, of fp32, and sums of f16 or bf16 with fp32, the last operand (PTX ISA, 9.7.5).
    """

    does: Compute
    operands: int = 2
    as_fma: Callable[..., tuple[Any, Any, Any]] | None = None

    def __call__(self, instruction: Instruction, site: int, state: State) -> Step:
        kind, parts = kind_of(instruction), set(instruction.parts[1:-1])
        direction = next((part for part in DIRECTED if part in parts), "")
        mixed = kind in ("f16", "bf16") and "f32" in parts
        kinds = [kind] * (self.operands - mixed) + ["f32"] * mixed
        forms, form = [Format.of(one) for one in kinds], Format.of("f32" if mixed else kind)
        more = {direction, *(["f32"] if mixed else [])} if self.as_fma else set()
        if parts - KNOWN - more or (direction and form.inner != "f32"):
            raise NotSimulated(str(instruction), instruction.line)
        out = state.target(instruction.operands[0], "f32" if mixed else kind, instruction)
        operands = zip(instruction.operands[1:], kinds, strict=True)
        given = [state.source(operand, one, instruction) for operand, one in operands]
        if isinstance(self.does, np.ufunc) and kind in PLAIN and parts <= ROUND and out.dtype == given[0].dtype:
            return ufunc_step(self.does, out, *given)

        def step(where: Where) -> None:
            values = [one.read(register) for one, register in zip(forms, given, strict=True)]
            if form.inner == "f32":
                values = [value.astype(np.float32, copy=False) for value in values]
            flush = rounding.flush if "ftz" in parts and form.inner == "f32" else np.asarray
            values = [flush(value) for value in values]
            if direction and self.as_fma:
                result = rounding.directed_fma(*self.as_fma(*values), direction)
            else:
                result = self.does(*values)
            result = flush(result.astype(np.float32, copy=False) if form.inner == "f32" else result)
            if "sat" in parts:
                result = np.where(np.isnan(result), 0, np.clip(result, 0, 1)).astype(result.dtype)
            if "relu" in parts:
                result = np.maximum(result, 0)
            np.copyto(out, form.write(result, out), where=where, casting="unsafe")

        return step


def fused(a: Array, b: Array, c: Array) -> Array:
    """Rounded once: by the format, from float64 rounded to odd."""
    if a.dtype == np.float64:
        return rounding.fma(*np.broadcast_arrays(a, b, c))
    return rounding.odd_sum(a.astype(np.float64) * b, c.astype(np.float64))


def in_float64(compute: Compute) -> Compute:
    """The same function, computed in float64."""
    return lambda *given: compute(*(x.astype(np.float64) for x in given))


def extreme(instruction: Instruction, site: int, state: State) -> Step:
    """min and max of two or three: of a number and a NaN the number, unless .NaN; -0 is below +0."""
    smaller, count = instruction.parts[0] == "min", len(instruction.operands) - 1
    with_nan, without = (np.minimum, np.fmin) if smaller else (np.maximum, np.fmax)
    plain = with_nan if "NaN" in instruction.parts else without

    def compute(a: Array, b: Array, *more: Array) -> Array:
        result = plain(a, b)
        negative = (np.signbit(a) | np.signbit(b)) if smaller else (np.signbit(a) & np.signbit(b))
        zero = np.where(negative, -0.0, 0.0).astype(result.dtype)
        result = np.where((a == 0) & (b == 0), zero, result)
        return compute(result, *more) if more else result

    return FloatRow(compute, count)(instruction, site, state)


def change_sign(instruction: Instruction, site: int, state: State) -> Step:
    """abs and neg, which change the sign and nothing else, of a NaN too."""
    kind = kind_of(instruction)
    if set(instruction.parts[1:-1]) - {"ftz"}:
        raise NotSimulated(str(instruction), instruction.line)
    width = 64 if kind == "f64" else 32 if kind == "f32" or kind.endswith("x2") else 16
    sign = 0x80008000 if kind.endswith("x2") else 1 << width - 1
    out = state.target(instruction.operands[0], f"u{width}", instruction)
    (a,) = sources(instruction, state, f"u{width}", instruction.operands[1:])
    if instruction.parts[0] == "neg":
        return ufunc_step(np.bitwise_xor, out, a, np.array([sign], a.dtype))
    return ufunc_step(np.bitwise_and, out, a, ~np.array([sign], a.dtype))


TESTS: dict[str, Compute] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
    "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
}


def test_property(a: Array, **asked: bool) -> Array:
    """testp"""
    return next(TESTS[name] for name, given in asked.items() if given)(a)


OPCODES: dict[str, Decoder] = {
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
    "testp": Row("pred t", test_property, asks=" ".join(TESTS)),
}
