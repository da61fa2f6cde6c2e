"""Floating-point arithmetic (PTX ISA, 9.7.3 to 9.7.5), and numbers from one type to another: cvt, cvta and mov
(9.7.9.21, 9.7.9.22), comparison and selection (9.7.6).

Approximations (.approx, .full) are computed in float64 and rounded: a GPU's may differ in the last bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutorlib.simulate.ptx.ir import Vector
from tutorlib.simulate.ptx.memory import WINDOW
from tutorlib.simulate.ptx.opcodes.integers import Array, Compute, Row, computed, ufunc_step
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation, items_of
from tutorlib.simulate.ptx.state import Step, Where
from tutorlib.simulate.ptx.types import bits_of, directed_fma, flush, from_bits, is_type, numpy_type, odd_sum, to_bits

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
        op.need(not parts - KNOWN - ({direction, *["f32"] * mixed} if self.as_fma and single else set()))
        op.need(len(op.operands) == self.operands + 1)
        out, given = op.target(0, to), [op.source(n, each) for n, each in enumerate(kinds, 1)]
        if isinstance(self.does, np.ufunc) and kind in PLAIN and parts <= ROUND and out.dtype == given[0].dtype:
            return ufunc_step(self.does, out, *given)

        def step(where: Where) -> None:
            values = [from_bits(np.ascontiguousarray(bits), each) for bits, each in zip(given, kinds, strict=True)]
            if single:
                values = [value.astype(np.float32, copy=False) for value in values]
            flushed = flush if "ftz" in parts and single else np.asarray
            values = [flushed(value) for value in values]
            directed = self.as_fma if direction else None
            result = directed_fma(*directed(*values), direction) if directed else self.does(*values)
            result = flushed(result.astype(np.float32, copy=False) if single else result)
            result = clamped(result, parts)
            bits = np.ascontiguousarray(to_bits(result, to)).view(f"u{bits_of(to) // 8}")
            np.copyto(out, bits.view(out.dtype) if bits.itemsize == out.itemsize else bits, where=where)

        return step


def clamped(values: Array, modes: set[str]) -> Array:
    """.sat: to 0 … 1, a NaN to 0; .relu: to numbers from 0 on."""
    if "sat" in modes:
        values = np.where(np.isnan(values), 0, np.clip(values, 0, 1)).astype(values.dtype)
    return np.where(values < 0, 0, values).astype(values.dtype) if "relu" in modes else values


def fused(a: Array, b: Array, c: Array) -> Array:
    """Rounded once: by the format, from float64 rounded to odd. Of fp64 itself the product is rounded, too."""
    if a.dtype == np.float64:
        return a * b + c
    return odd_sum(a.astype(np.float64) * b, c.astype(np.float64))


def in_float64(compute: Compute) -> Compute:
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


TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def convert(op: Operation) -> Step:
    """cvt of a number, of a pair, or of two numbers to a pair, of which the first goes to the upper half."""
    to, of = (part for part in op.parts if is_type(part))
    modes = {part for part in op.parts[1:] if not is_type(part)}
    op.need(not modes - {"rn", "rz", "rna", "rp", "ftz", "sat", "relu", "satfinite", *TO_INTEGER})
    op.need("rp" not in modes or to == "ue8m0x2")
    given = [op.source(operand, of) for operand in op.operands[:0:-1]]
    out = op.target(0, to if is_integer(to) else f"b{bits_of(to)}")

    def step(where: Where) -> None:
        bits = given[0] if len(given) == 1 else np.stack(np.broadcast_arrays(*given), 1).reshape(-1)
        found = converted(from_bits(np.ascontiguousarray(bits), of), to, of, modes)
        found = found if is_integer(to) else found.view(f"u{bits_of(to) // 8}")
        np.copyto(out, found, where=where, casting="unsafe")

    return step


def is_integer(kind: str) -> bool:
    return kind[0] in "su" and kind[1:].isdigit()


def converted(values: np.ndarray, to: str, of: str, modes: set[str]) -> np.ndarray:
    """Numbers of one type, as those or the bits of another."""
    if is_integer(to):
        dtype = np.dtype(numpy_type(to))
        if is_integer(of):
            own, new = np.iinfo(values.dtype), np.iinfo(dtype)
            clipped = np.clip(values, max(own.min, new.min), min(own.max, new.max)) if "sat" in modes else values
            return clipped.astype(dtype)
        return to_integer(TO_INTEGER[min(modes & set(TO_INTEGER), default="rzi")](values.astype(np.float64)), dtype)
    if not is_integer(of):
        for mode in modes & set(TO_INTEGER):
            values = TO_INTEGER[mode](values)
        if "ftz" in modes and of == "f32":
            values = flush(values)
        values = clamped(values, modes)
    return to_bits(values, to, min(modes & {"rn", "rz", "rna", "rp"}, default="rn"))


def to_integer(whole: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Clamped to the type's range; NaN becomes 0."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    inside = np.where(np.isnan(whole) | (whole <= low) | (whole >= high), 0, whole).astype(dtype)
    return np.where(whole >= high, dtype.type(high), np.where(whole <= low, dtype.type(low), inside))


def move(op: Operation) -> Step:
    """mov, with packing into and unpacking out of vectors."""
    to, of = op.operands
    if not isinstance(to, Vector) and not isinstance(of, Vector):
        (value,), out = op.sources(1, op.kind), op.target(0, op.kind)
        return computed(out, lambda value: value, value)
    bits = bits_of(op.kind)
    into, given = (
        [read(item, f"b{bits // len(items)}") for item in items]
        for read, items in ((op.target, items_of(to)), (op.source, items_of(of)))
    )

    def step(where: Where) -> None:
        packed = np.stack(np.broadcast_arrays(*given), 1).view(f"u{bits // 8 // len(into)}")  # (lanes, items)
        for n, out in enumerate(into):
            np.copyto(out, packed[:, n], where=where)

    return step


def convert_address(op: Operation) -> Step:
    """cvta: between an address in a state space and a generic address."""
    window = next((WINDOW[word] for word in op.words if word in WINDOW), 0)
    distance = np.array([(-window if "to" in op.parts else window) % 2**64], np.uint64)
    return computed(op.target(0, "u64"), lambda a: a.astype(np.uint64) + distance, op.source(1, op.kind))


COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
NAMES = " ".join([*COMPARE, "equ neu ltu leu gtu geu num nan"])
COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def compare(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Ordered comparisons are false where an operand is NaN; those that end in u are true there, and so is `nan`."""
    if a.dtype.kind != "f":
        return COMPARE[name](a, b)
    unordered = np.isnan(a) | np.isnan(b)
    if name in ("num", "nan"):
        return ~unordered if name == "num" else unordered
    holds = COMPARE[name.removesuffix("u")](a, b)
    return holds | unordered if name.endswith("u") else holds & ~unordered


def set_predicate(op: Operation) -> Step:
    """setp p|q, a, b and setp.….and p|q, a, b, c: p = compare(a, b) combined with c, q = its opposite so combined."""
    op.need_known(f"{NAMES} {' '.join(COMBINE)} ftz")
    kind, name = op.kind, op.one_of(NAMES)
    combine = next((part for part in op.parts[2:-1] if part in COMBINE), "")
    op.need(not kind.endswith("x2"))  # two comparisons at once
    out, opposite = op.target_pair("pred")
    a, b = (op.source(n, kind) for n in (1, 2))
    if a.dtype.kind != "f" and kind != "bf16" and not combine and opposite is None:
        return ufunc_step(COMPARE[name], out, a, b)
    also = op.predicate(3) if combine else None

    def step(where: Where) -> None:
        holds = compare(name, *(from_bits(np.ascontiguousarray(bits), kind) for bits in (a, b)))
        fails = ~holds
        if also is not None:
            holds, fails = (COMBINE[combine](values, also()) for values in (holds, fails))
        np.copyto(out, holds, where=where)
        if opposite is not None:
            np.copyto(opposite, fails, where=where)

    return step


def set_number(op: Operation) -> Step:
    """set: as setp, giving all ones, or 1.0, for true; of pairs for each of the two, as half2's functions ask."""
    op.need_known(f"{NAMES} ftz")
    to, kind, name = op.parts[-2], op.kind, op.one_of(NAMES)
    op.need(kind.endswith("x2") == to.endswith("x2"))

    def compute(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        holds = compare(name, *(from_bits(np.ascontiguousarray(bits), kind) for bits in (a, b)))
        return np.where(holds, -1, 0) if to[0] in "us" else to_bits(holds.astype(np.float32), to).view(out.dtype)

    out = op.target(0, f"b{bits_of(to)}")
    return computed(out, compute, op.source(1, kind), op.source(2, kind))


CONVERSIONS: dict[str, OpcodeDecoder] = {
    "cvt": convert,
    "cvta": convert_address,
    "mov": move,
    "setp": set_predicate,
    "set": set_number,
    "selp": Row("t t t pred", lambda a, b, c: np.where(c, a, b)),
}
