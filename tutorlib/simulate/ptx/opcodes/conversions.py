"""cvt, cvta and mov: numbers from one type to another (PTX ISA, 9.7.9.21, 9.7.9.22); comparison, selection (9.7.6)."""

import numpy as np

from tutorlib.simulate.ptx.ir import Vector
from tutorlib.simulate.ptx.memory import WINDOW
from tutorlib.simulate.ptx.opcodes.table import Row, computed, ufunc_step
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation, items_of
from tutorlib.simulate.ptx.state import Step, Where
from tutorlib.simulate.ptx.types import bits_of, flush, from_bits, is_type, numpy_type, to_bits

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
            return saturated(values, dtype) if "sat" in modes else values.astype(dtype)
        return to_integer(TO_INTEGER[min(modes & set(TO_INTEGER), default="rzi")](values.astype(np.float64)), dtype)
    if not is_integer(of):
        for mode in modes & set(TO_INTEGER):
            values = TO_INTEGER[mode](values)
        if "ftz" in modes and of == "f32":
            values = flush(values)
        if "sat" in modes:
            values = np.where(np.isnan(values), 0, np.clip(values, 0, 1)).astype(values.dtype)
        if "relu" in modes:
            values = np.where(values < 0, 0, values).astype(values.dtype)
    return to_bits(values, to, min(modes & {"rn", "rz", "rna", "rp"}, default="rn"))


def to_integer(whole: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Clamped to the type's range; NaN becomes 0."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    inside = np.where(np.isnan(whole) | (whole <= low) | (whole >= high), 0, whole).astype(dtype)
    return np.where(whole >= high, dtype.type(high), np.where(whole <= low, dtype.type(low), inside))


def saturated(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    low, high = max(np.iinfo(dtype).min, np.iinfo(a.dtype).min), min(np.iinfo(dtype).max, np.iinfo(a.dtype).max)
    return np.clip(a, a.dtype.type(low), a.dtype.type(high)).astype(dtype)


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
    """cvta: between an address in a state space and a generic one."""
    window = next((WINDOW[word] for word in op.words if word in WINDOW), 0)
    distance = np.array([(-window if "to" in op.parts else window) % 2**64], np.uint64)
    return computed(op.target(0, "u64"), lambda a: a.astype(np.uint64) + distance, op.source(1, op.kind))


COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
UNORDERED = {f"{name}u": name for name in ("eq", "ne", "lt", "le", "gt", "ge")}
NAMES = " ".join([*COMPARE, *UNORDERED, "num", "nan"])
COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def compare(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Ordered comparisons are false where an operand is NaN; those that end in u are true there, and so is `nan`."""
    if a.dtype.kind != "f":
        return COMPARE[name](a, b)
    unordered = np.isnan(a) | np.isnan(b)
    if name in ("num", "nan"):
        return ~unordered if name == "num" else unordered
    if name in UNORDERED:
        return COMPARE[UNORDERED[name]](a, b) | unordered
    return COMPARE[name](a, b) & ~unordered


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


OPCODES: dict[str, OpcodeDecoder] = {
    "cvt": convert,
    "cvta": convert_address,
    "mov": move,
    "setp": set_predicate,
    "set": set_number,
    "selp": Row("t t t pred", lambda a, b, c: np.where(c, a, b)),
}
