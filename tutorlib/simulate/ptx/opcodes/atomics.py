"""atom and red (PTX ISA, 9.7.13.5 and 9.7.13.7): read, change, write, one lane after another."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tutorlib.simulate.ptx.opcodes.loads import ports, step_through
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.ports import GlobalPort, Port, SharedPort
from tutorlib.simulate.ptx.state import Step, Where
from tutorlib.simulate.ptx.types import bits_of, from_bits, to_bits

Combine = Callable[..., Any]  # old value, operand(s) → new value
HINTS = "relaxed acquire release acq_rel cta gpu sys cluster noftz global shared"
COMBINE: dict[str, Combine] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": lambda old, limit: np.where(old >= limit, 0, old + 1).astype(old.dtype),
    "dec": lambda old, limit: np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype),
    "exch": lambda old, new: new,
    "cas": lambda old, compare, new: np.where(old == compare, new, old),
}


def atomic(op: Operation) -> Step:
    """atom gives what was there before; red does not."""
    names = " ".join(COMBINE)
    op.need_known(f"{HINTS} {names}")
    returns, operation, kind = op.parts[0] == "atom", op.one_of(names), op.kind
    op.need(not kind.startswith("bf16") or operation == "add")
    bits = f"b{bits_of(kind)}"
    out = op.target(0, bits) if returns else None
    address, *values = op.operands[1:] if returns else op.operands
    given = [op.source(value, bits) for value in values[: 2 if operation == "cas" else 1]]

    def through(port: Port, where: Where, at: np.ndarray) -> None:
        assert isinstance(port, GlobalPort | SharedPort)
        _, access, _ = port.reach(where, at)
        port.on_atomic(access)
        operands = [op.spread(v)[access.lanes] for v in given]
        before = apply_in_turns(port.rows, port.row_of(access), operands, COMBINE[operation], kind)
        if out is not None:
            out[access.lanes] = before

    return step_through(op, ports(op, "changes", bits_of(kind) // 8, spaces="global shared"), address, through)


def apply_in_turns(
    rows: np.ndarray, places: np.ndarray, values: list[np.ndarray], combine: Combine, kind: str
) -> np.ndarray:
    """Change each place by the lanes that name it, in the order of their numbers; gives what each lane found there.

    Every turn takes the first lane of each place that has some left.
    """
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    turn = np.arange(len(ordered)) - np.repeat(first, np.diff(np.r_[first, len(ordered)]))
    before = np.zeros(len(places), rows.dtype)
    for n in range(int(turn.max(initial=-1)) + 1):
        lanes = order[turn == n]
        before[lanes] = rows[places[lanes], 0]
        new = combine(*(from_bits(np.ascontiguousarray(v[lanes]), kind) for v in (before, *values)))
        rows[places[lanes], 0] = to_bits(new, kind).view(rows.dtype)
    return before


OPCODES: dict[str, OpcodeDecoder] = {"atom": atomic, "red": atomic}
