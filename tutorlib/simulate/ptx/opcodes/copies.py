"""cp.async from global to shared memory, its groups and its waits (PTX ISA, 9.7.9.25.3)."""

import numpy as np

from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.ports import GlobalPort, SharedPort
from tutorlib.simulate.ptx.state import Step, Where, as_index

MOST_GROUPS = 2**30 - 1  # more than are ever open: a wait for all but a negative number waits for none


def copy(op: Operation) -> Step:
    """cp.async.ca|cg.shared.global [to], [from], size{, read}: bytes beyond `read` become zeros.

    The fourth operand may be a predicate instead, that the source is to be ignored.
    """
    op.need("global" in op.parts)
    size = int(op.source(2, "u32")[0])
    element = min(size, 8)
    to = SharedPort(op, element, size // element, "copies to")
    of = GlobalPort(op, element, size // element, "copies")
    to_addresses, of_addresses = op.addresses(0), op.addresses(1)
    read = op.source(3, "u32") if len(op.operands) > 3 else np.array([size], np.uint32)
    state = op.state

    def step(where: Where) -> None:
        _, access, _ = to.reach(where, to_addresses())
        lanes = access.lanes
        op.need((access.slots == state.slot[lanes]).all())  # another block's shared memory is not simulated
        wanted = op.spread(~read.astype(bool) * size if read.dtype == bool else read)[lanes]
        data = fetch(of, lanes, of_addresses(), wanted)
        places = state.shared_row[lanes] + access.starts
        arriving = state.shared.arriving_rows(1, size)
        state.watch.races.on_issue(access, lambda: (arriving[places // size] != data).any(1))
        arriving[places // size] = data
        state.copies.issue(access, data)

    return step


def fetch(port: GlobalPort, lanes: np.ndarray, addresses: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The first `wanted` bytes of each lane's source, then zeros, (lanes, size). Lanes that want none read nothing."""
    data = np.zeros((len(lanes), port.width), np.uint8)
    reads = wanted > 0
    if reads.any():
        where = port.flags(lanes[reads])
        _, rows = port.read(True if where.all() else where, addresses)
        data[reads] = np.ascontiguousarray(rows).view(np.uint8)
        partly = wanted < port.width
        if partly.any():
            data[partly] *= np.arange(port.width) < wanted[partly, None]
    return data


def commit(op: Operation) -> Step:
    return lambda where: op.state.copies.commit(as_index(where))


def wait(op: Operation) -> Step:
    """cp.async.wait_group n, and wait_all, which waits for copies that were not committed too."""
    still_open = int(op.source(0, "s32")[0] & MOST_GROUPS) if op.operands else None
    copies, races = op.state.copies, op.state.watch.races

    def step(where: Where) -> None:
        lanes = as_index(where)
        for access in copies.wait_all(lanes) if still_open is None else copies.wait(lanes, still_open):
            races.on_arrival(access)

    return step


OPCODES: dict[str, OpcodeDecoder] = {
    "cp.async.ca": copy,
    "cp.async.cg": copy,
    "cp.async.commit_group": commit,
    "cp.async.wait_group": wait,
    "cp.async.wait_all": wait,
}
