"""atom and red (PTX ISA, 9.7.13.5 and 9.7.13.7): read, change, write, one lane after another."""

from collections.abc import Callable

import numpy as np

from tutorlib.simulate.ptx import rounding
from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.memory.windows import SHARED
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step, sources
from tutorlib.simulate.ptx.opcodes.loads import Addresses, address_of
from tutorlib.simulate.ptx.ports import GlobalPort, Port, SharedPort
from tutorlib.simulate.ptx.state import State, Where, as_index
from tutorlib.simulate.ptx.types import bits_of, is_type, numpy_type

Combine = Callable[..., np.ndarray]  # old value, operand(s) → new value
HINTS = {"relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys", "cluster", "noftz", "global", "shared"}


def increase(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where(old >= limit, 0, old + 1).astype(old.dtype)


def decrease(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype)


def swap_if_equal(old: np.ndarray, compare: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.where(old == compare, new, old)


COMBINE: dict[str, Combine] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": increase,
    "dec": decrease,
    "exch": lambda old, new: new,
    "cas": swap_if_equal,
}


def add_bf16(old: np.ndarray, more: np.ndarray) -> np.ndarray:
    return rounding.to_bf16(rounding.from_bf16(old) + rounding.from_bf16(more))


def combination(operation: str, kind: str, instruction: Instruction) -> tuple[Combine, str]:
    """The operation on the elements, and their type: a pair has two of them."""
    if kind in ("bf16", "bf16x2"):
        if operation == "add":
            return add_bf16, "b16"
        raise NotSimulated(str(instruction), instruction.line)
    return COMBINE[operation], "f16" if kind == "f16x2" else kind


def atomic(instruction: Instruction, site: int, state: State) -> Step:
    """atom gives what was there before; red does not."""
    returns = instruction.parts[0] == "atom"
    kind = instruction.parts[-1]
    parts = [part.split("::")[0] for part in instruction.parts[1:-1]]
    operation = next((part for part in parts if part in COMBINE), "")
    if not operation or not is_type(kind) or set(parts) - HINTS - {operation}:
        raise NotSimulated(str(instruction), instruction.line)
    operands = instruction.operands[1:] if returns else instruction.operands
    combine, element_kind = combination(operation, kind, instruction)
    element = np.dtype(numpy_type(element_kind))
    out = state.target(instruction.operands[0], f"b{bits_of(kind)}", instruction) if returns else None
    given = sources(instruction, state, f"b{bits_of(kind)}", operands[1 : 3 if operation == "cas" else 2])
    addresses = address_of(operands[0], instruction, state)
    space = next((part for part in parts if part in ("global", "shared")), "")
    width = bits_of(kind) // 8
    made: dict[str, Port] = {
        "global": GlobalPort(state, instruction, site, width, 1, "changes"),
        "shared": SharedPort(state, instruction, site, width, 1, "changes"),
    }

    def through(port: Port, where: Where, at: np.ndarray) -> None:
        numbers, rows, places = reach(port, where, at)
        values = [np.broadcast_to(v, state.geometry.lanes)[numbers] for v in given]
        before = apply_in_turns(rows, places, values, combine, element)
        if out is not None:
            out[numbers] = before

    return atomic_step(space, made, addresses, through, state)


def reach(port: Port, where: Where, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lanes whose address is good, the memory as rows, and each lane's row. Others look on as at an atomic."""
    assert isinstance(port, GlobalPort | SharedPort)
    state = port.state
    if isinstance(port, GlobalPort):
        lanes, starts, good = port.admit(where, at)
        numbers = port.numbered(lanes)
        if good is not None:
            numbers, starts = numbers[good], starts[good]
        port.log(numbers, starts)
        state.watch.overlaps.on_atomic(port.access(numbers, starts))
        return numbers, state.arena.rows(port.width, 1), starts // port.width
    lanes, slots, starts, good = port.find(where, at)
    numbers = port.numbered(lanes)
    if good is not None:
        numbers, slots, starts = numbers[good], slots[good], starts[good]
    port.log(numbers, starts)
    state.watch.races.on_atomic(port.access(numbers, starts, slots))
    return numbers, port.rows, port.row_of(slots, starts)


def atomic_step(
    space: str,
    made: dict[str, Port],
    addresses: Addresses,
    through: Callable[[Port, Where, np.ndarray], None],
    state: State,
) -> Step:
    if space:
        return lambda where: through(made[space], where, addresses())

    def step(where: Where) -> None:
        given = np.broadcast_to(addresses(), state.geometry.lanes)
        runs = np.zeros(state.geometry.lanes, bool)
        runs[as_index(where)] = True
        shared = given >> np.uint64(56) == SHARED >> 56
        for name, here, base in (("global", runs & ~shared, 0), ("shared", runs & shared, SHARED)):
            if here.any():
                through(made[name], here, given - np.uint64(base))

    return step


def apply_in_turns(
    rows: np.ndarray, places: np.ndarray, values: list[np.ndarray], combine: Combine, element: np.dtype
) -> np.ndarray:
    """Change each place by the lanes that name it, in the order of their numbers; gives what each lane found there.

    Every turn takes the first lane of each place that has some left.
    """
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.r_[True, ordered[1:] != ordered[:-1]] if len(ordered) else np.zeros(0, bool)
    first = np.flatnonzero(starts)
    turn = np.arange(len(ordered)) - np.repeat(first, np.diff(np.r_[first, len(ordered)]))
    before = np.zeros(len(places), rows.dtype)
    for n in range(int(turn.max(initial=-1)) + 1):
        lanes = order[turn == n]
        old = rows[places[lanes], 0]
        before[lanes] = old
        operands = (np.ascontiguousarray(v[lanes]).view(element) for v in values)
        new = combine(np.ascontiguousarray(old).view(element), *operands)
        rows[places[lanes], 0] = np.ascontiguousarray(new.astype(element)).view(rows.dtype)
    return before


OPCODES: dict[str, Decoder] = {"atom": atomic, "red": atomic}
