"""Comparison and selection (PTX ISA, 9.7.6)."""

import numpy as np

from tutorlib.simulate.ptx import rounding
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step, computed, kind_of, sources, target_pair, ufunc_step
from tutorlib.simulate.ptx.opcodes.table import Row
from tutorlib.simulate.ptx.state import State, Where

COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def compare(name: str, a: np.ndarray, b: np.ndarray, is_float: bool) -> np.ndarray:
    """Ordered comparisons are false where an operand is NaN; those that end in u are true there, and so is `nan`."""
    if not is_float:
        return COMPARE[name](a, b)
    unordered = np.isnan(a) | np.isnan(b)
    if name in ("num", "nan"):
        return ~unordered if name == "num" else unordered
    if name in COMPARE:
        return COMPARE[name](a, b) & ~unordered
    return COMPARE[name[:-1]](a, b) | unordered


def set_predicate(instruction: Instruction, site: int, state: State) -> Step:
    """setp p|q, a, b and setp.….and p|q, a, b, c: p = compare(a, b) combined with c, q = its opposite so combined."""
    kind, name = kind_of(instruction), instruction.parts[1]
    combine = next((part for part in instruction.parts[2:-1] if part in COMBINE), "")
    if set(instruction.parts[2:-1]) - {combine, "ftz"}:
        raise NotSimulated(str(instruction), instruction.line)
    out, opposite = target_pair(instruction, "pred", state)
    a, b = sources(instruction, state, kind, instruction.operands[1:3])
    is_float = kind[0] == "f" or kind == "bf16"
    if not is_float and not combine and opposite is None:
        return ufunc_step(COMPARE[name], out, a, b)
    also = state.predicate(instruction.operands[3], instruction) if combine else None

    def step(where: Where) -> None:
        x, y = (rounding.from_bf16(a), rounding.from_bf16(b)) if kind == "bf16" else (a, b)
        holds = compare(name, x, y, is_float)
        fails = ~holds
        if also is not None:
            holds, fails = (COMBINE[combine](values, also()) for values in (holds, fails))
        np.copyto(out, holds, where=where)
        if opposite is not None:
            np.copyto(opposite, fails, where=where)

    return step


def set_number(instruction: Instruction, site: int, state: State) -> Step:
    """set: as setp, giving all ones, or 1.0, for true."""
    to, of = instruction.parts[-2:]
    name = instruction.parts[1]
    if len(instruction.operands) != 3 or set(instruction.parts[2:-2]) - {"ftz"}:
        raise NotSimulated(str(instruction), instruction.line)
    out = state.target(instruction.operands[0], to, instruction)
    a, b = sources(instruction, state, of, instruction.operands[1:])
    true = 1.0 if to == "f32" else -1
    return computed(out, lambda a, b: np.where(compare(name, a, b, of[0] == "f"), true, 0), a, b)


def select(instruction: Instruction, site: int, state: State) -> Step:
    """selp d, a, b, p: a where p holds."""
    kind = kind_of(instruction)
    out = state.target(instruction.operands[0], kind, instruction)
    a, b = sources(instruction, state, kind, instruction.operands[1:3])
    condition = state.predicate(instruction.operands[3], instruction)

    def step(where: Where) -> None:
        np.copyto(out, np.where(condition(), a, b), where=where, casting="unsafe")

    return step


OPCODES: dict[str, Decoder] = {
    "setp": set_predicate,
    "set": set_number,
    "selp": select,
    "slct": Row("d d d t", lambda a, b, c: np.where(c >= 0, a, b)),
}
