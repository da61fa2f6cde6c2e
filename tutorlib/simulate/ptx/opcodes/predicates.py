"""Comparison and selection (PTX ISA, 9.7.6)."""

import numpy as np

from tutorlib.simulate.ptx.opcodes.table import Row, computed, ufunc_step
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.state import Step, Where
from tutorlib.simulate.ptx.types import bits_of, from_bits, to_bits

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
    "setp": set_predicate,
    "set": set_number,
    "selp": Row("t t t pred", lambda a, b, c: np.where(c, a, b)),
}
