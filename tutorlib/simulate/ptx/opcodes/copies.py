"""cp.async from global to shared memory, its groups and its waits (PTX ISA, 9.7.9.25.3)."""

import numpy as np

from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import address_of
from tutorlib.simulate.ptx.ports import GlobalPort, SharedPort
from tutorlib.simulate.ptx.state import State, Where, as_index


def copy(instruction: Instruction, site: int, state: State) -> Step:
    """cp.async.ca|cg.shared.global [to], [from], size{, read}: bytes beyond `read` become zeros.

    The fourth operand may be a predicate instead, that the source is to be ignored.
    """
    if instruction.parts[2] not in ("ca", "cg") or "global" not in instruction.parts:
        raise NotSimulated(str(instruction), instruction.line)
    operands = instruction.operands
    size = int(state.source(operands[2], "u32", instruction)[0])
    element = min(size, 8)
    to = SharedPort(state, instruction, site, element, size // element, "copies to")
    of = GlobalPort(state, instruction, site, element, size // element, "copies")
    to_addresses, of_addresses = (
        address_of(operands[0], instruction, state),
        address_of(operands[1], instruction, state),
    )
    read = state.source(operands[3], "u32", instruction) if len(operands) > 3 else np.array([size], np.uint32)
    copies, races = state.copies, state.watch.races

    def step(where: Where) -> None:
        lanes, starts, good = to.admit(where, to_addresses())
        numbers = to.numbered(lanes)
        if good is not None:
            numbers, starts = numbers[good], starts[good]
        to.log(numbers if good is not None else lanes, starts)
        wanted = np.broadcast_to(~read.astype(bool) * size if read.dtype == bool else read, state.geometry.lanes)[
            numbers
        ]
        data = fetch(of, numbers, of_addresses(), wanted, size)
        access = to.access(numbers, starts)
        places = state.shared_row[numbers] + starts
        arriving = state.shared.arriving_rows(1, size)
        races.on_issue(access, lambda: (arriving[places // size] != data).any(1))
        arriving[places // size] = data
        copies.issue(access, data)

    return step


def fetch(port: GlobalPort, lanes: np.ndarray, addresses: np.ndarray, wanted: np.ndarray, size: int) -> np.ndarray:
    """The first `wanted` bytes of each lane's source, then zeros, (lanes, size). Lanes that want none read nothing."""
    data = np.zeros((len(lanes), size), np.uint8)
    reads = wanted > 0
    if reads.any():
        where = np.zeros(port.state.geometry.lanes, bool)
        where[lanes[reads]] = True
        _, rows = port.read(True if where.all() else where, addresses)
        data[reads] = np.ascontiguousarray(rows).view(np.uint8).reshape(-1, size)
        partly = wanted < size
        if partly.any():
            data[partly] *= np.arange(size) < wanted[partly, None]
    return data


MOST_GROUPS = 2**30 - 1  # more than are ever open: a wait for all but a negative number waits for none


def commit(instruction: Instruction, site: int, state: State) -> Step:
    return lambda where: state.copies.commit(as_index(where))


def wait_group(instruction: Instruction, site: int, state: State) -> Step:
    still_open = int(state.source(instruction.operands[0], "s32", instruction)[0] & MOST_GROUPS)

    def step(where: Where) -> None:
        for access in state.copies.wait(as_index(where), still_open):
            state.watch.races.on_arrival(access)

    return step


def wait_all(instruction: Instruction, site: int, state: State) -> Step:
    def step(where: Where) -> None:
        for access in state.copies.wait_all(as_index(where)):
            state.watch.races.on_arrival(access)

    return step


OPCODES: dict[str, Decoder] = {
    "cp.async.ca": copy,
    "cp.async.cg": copy,
    "cp.async.commit_group": commit,
    "cp.async.wait_group": wait_group,
    "cp.async.wait_all": wait_all,
}
