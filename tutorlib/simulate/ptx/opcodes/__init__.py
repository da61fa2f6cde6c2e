"""The table of opcodes: what each does to all lanes at once."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.flow import written
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.opcodes import bulk, floats, integers, loads, matrices, synchronization, tcgen05, warp, wgmma
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.state import State, Step, Where

MODULES = (warp, loads, bulk, synchronization, matrices, wgmma, tcgen05)
ANY_TYPE: dict[str, OpcodeDecoder] = {name: row for module in MODULES for name, row in module.OPCODES.items()}
ANY_TYPE |= floats.CONVERSIONS
FLOATS, INTEGERS = floats.OPCODES, integers.OPCODES


def decoder_of(instruction: Instruction) -> OpcodeDecoder:
    """The entry that shares the most parts with the opcode. Raises NotSimulated."""
    parts = instruction.parts
    is_float = parts[-1].lstrip("b")[:1] == "f"
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        found = ANY_TYPE.get(name) or (FLOATS if is_float else INTEGERS).get(name)
        if found:
            return found
    raise NotSimulated(str(instruction), instruction.line)


def decode(instruction: Instruction, site: int, state: State) -> Step:
    """An instruction bound to the batch's arrays; its guard is looked at by the step itself."""
    op = Operation(instruction, site, state)
    step: Step = unless_reached(op, lambda: decoder_of(instruction)(op))
    if state.factors:
        changed = set(written(instruction))
        state.factors = {key: made for key, made in state.factors.items() if changed.isdisjoint(key[0])}
    step = step if instruction.guard is None else guarded(step, op)
    return wgmma.watched(step, op) if state.warpgroups.by_name else step


def unless_reached(op: Operation, make: Callable[[], Any]) -> Any:
    """What is made of an instruction; of one that is not simulated, what raises that where a thread reaches it."""
    lacks = NotSimulated(str(op.instruction), op.instruction.line)

    def stop(*reached: object) -> NoReturn:
        raise lacks

    try:
        return make()
    except NotSimulated as error:
        lacks = error
    except (KeyError, IndexError, ValueError, StopIteration):
        pass
    return stop


def guarded(step: Step, op: Operation) -> Step:
    """@p: only the lanes where the predicate holds."""
    assert op.instruction.guard is not None
    predicate, negated = op.state.storage(op.instruction.guard), op.instruction.negated

    def some(where: Where) -> None:
        active = ~predicate if negated else predicate.copy()
        if where is not True:
            active &= where
        count = np.count_nonzero(active)
        if count:
            step(True if count == len(active) else active)

    return some
