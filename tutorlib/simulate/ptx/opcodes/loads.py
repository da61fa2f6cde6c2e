"""ld, st, cp.async, atom and red, and what only hints at them (PTX ISA, 9.7.9.8 to 9.7.9.16, 9.7.9.25.3, 9.7.13.5).

An atomic reads, changes and writes, one lane after another.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tutorlib.simulate.ptx.ir import Address, Operand, Symbol
from tutorlib.simulate.ptx.memory import WINDOW, rows_of
from tutorlib.simulate.ptx.operation import Addresses, OpcodeDecoder, Operation
from tutorlib.simulate.ptx.ports import GlobalPort, LocalPort, ParameterPort, Port, SharedPort
from tutorlib.simulate.ptx.state import Step, Where, as_index
from tutorlib.simulate.ptx.types import bits_of, from_bits, numpy_type, to_bits

PORTS: dict[str, type[Port]] = {
    "global": GlobalPort,
    "const": GlobalPort,
    "shared": SharedPort,
    "local": LocalPort,
    "param": ParameterPort,
}
SPACES = " ".join(PORTS)
GENERIC = "global shared local param"
HINTS = "weak volatile relaxed acquire release nc ca cg cs lu cv wb wt cta gpu sys cluster L1 L2 unified mmio v2 v4 v8"
Through = Callable[[Port, Where, np.ndarray], None]


def shape_of(op: Operation) -> tuple[str, int]:
    """The type of an element, at most 64 bits, and how many there are in a vector."""
    op.need(bits_of(op.kind) <= 64)
    return op.kind, next((int(part[1:]) for part in op.parts if part in ("v2", "v4", "v8")), 1)


def ports(op: Operation, does: str, width: int, count: int = 1, spaces: str = GENERIC) -> dict[str, Port]:
    """A port to each space that the instruction may reach: the space that it names, or those of generic addresses."""
    named = [word for word in op.words if word in PORTS]
    return {name: PORTS[name](op, width, count, does) for name in named or spaces.split()}


def move(op: Operation) -> Step:
    """ld and st, from and to memory or the parameters of a function that is called."""
    op.need_known(f"{HINTS} {SPACES}")
    (kind, count), stores = shape_of(op), op.parts[0] == "st"
    at, width, in_shared = op.operands[0 if stores else 1], bits_of(kind) // 8, "shared" in op.words
    does = ("writes" if in_shared else "stores") if stores else "reads" if in_shared else "loads"
    if isinstance(at, Address) and isinstance(at.base, Symbol) and at.base.name in op.state.call_space:
        to: dict[str, Port] = {"param": LocalPort(op, width, count, does, at.base.name)}
    else:
        to = ports(op, does, width, count)
    held = op.sources(1, kind) if stores else op.targets(0, kind)
    dtype = numpy_type(f"u{bits_of(kind)}" if stores else kind)

    def load(port: Port, where: Where, given: np.ndarray) -> None:
        lanes, data = port.read(where, given)
        for n, out in enumerate(held):
            out[lanes] = data[:, n].view(dtype)

    def store(port: Port, where: Where, given: np.ndarray) -> None:
        lanes = as_index(where)
        size = op.state.geometry.lanes if where is True else len(lanes)  # type: ignore[arg-type]
        data = np.empty((size, count), dtype)
        for n, values in enumerate(held):
            data[:, n] = (values[lanes] if values.size > 1 else values).view(dtype)
        port.write(where, given, data)

    return step_through(op, to, at, store if stores else load)


def step_through(op: Operation, to: dict[str, Port], address: Operand | Addresses, through: Through) -> Step:
    """Through the only port, or for generic addresses through the port of the window that each lies in."""
    addresses = address if callable(address) else op.addresses(address)
    if len(to) == 1:
        (port,) = to.values()
        return lambda where: through(port, where, addresses())

    def step(where: Where) -> None:
        given = op.spread(addresses())
        window = given >> np.uint64(56)
        elsewhere = np.isin(window, [WINDOW[space] >> 56 for space in to if space in WINDOW], invert=True)
        for space, port in to.items():
            base = WINDOW.get(space, 0)
            here = window == base >> 56 if base else elsewhere
            if where is not True:
                here &= where
            if here.any():
                through(port, True if here.all() else here, given - np.uint64(base))

    return step


def no_effect(op: Operation) -> Step:
    return lambda where: None


# cp.async ------------------------------------------------------------------------------------------------------

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
        rows, places = rows_of(state.shared.bytes, 1, size), (state.shared_row[lanes] + access.starts) // size
        state.races.on_copy(access, lambda: (rows[places] != data).any(1))
        rows[places] = data
        state.copies.issue(access)

    return step


def fetch(port: GlobalPort, lanes: np.ndarray, addresses: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The first `wanted` bytes of each lane's source, then zeros, (lanes, size). Lanes that want none read nothing."""
    data = np.zeros((len(lanes), port.width), np.uint8)
    reads = wanted > 0
    if reads.any():
        where = port.state.geometry.flags(lanes[reads])
        _, rows = port.read(True if where.all() else where, addresses)
        data[reads] = np.ascontiguousarray(rows).view(np.uint8)
        partly = wanted < port.width
        if partly.any():
            data[partly] *= np.arange(port.width) < wanted[partly, None]
    return data


def wait(op: Operation) -> Step:
    """cp.async.wait_group n, and wait_all, which waits for copies that were not committed too."""
    still_open = op.immediate(0) & MOST_GROUPS if op.operands else 0
    copies, races = op.state.copies, op.state.races

    def step(where: Where) -> None:
        lanes, issued = as_index(where), copies.groups.issued
        for access in copies.wait(lanes, still_open) if op.operands else copies.finish(lanes, issued):
            races.note_write(races.touched(access))  # now the bytes count as written by their threads

    return step


# atomics -------------------------------------------------------------------------------------------------------

Combine = Callable[..., Any]  # old value, operand(s) → new value
ATOMIC_HINTS = "relaxed acquire release acq_rel cta gpu sys cluster noftz global shared"
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
    op.need_known(f"{ATOMIC_HINTS} {names}")
    returns, operation, kind = op.parts[0] == "atom", op.one_of(names), op.kind
    op.need(not kind.startswith("bf16") or operation == "add")
    bits = f"b{bits_of(kind)}"
    out = op.target(0, bits) if returns else None
    address, *by = op.operands[1:] if returns else op.operands
    given = [op.source(operand, bits) for operand in by[: 2 if operation == "cas" else 1]]

    def through(port: Port, where: Where, at: np.ndarray) -> None:
        assert isinstance(port, GlobalPort | SharedPort)
        _, access, _ = port.reach(where, at)
        port.shadow.on_atomic(access)
        operands = [op.spread(v)[access.lanes] for v in given]
        rows, places = port.rows, port.row_of(access)
        before = np.zeros(len(places), rows.dtype)
        for lanes in turns(places):
            before[lanes] = rows[places[lanes], 0]
            values = (from_bits(np.ascontiguousarray(v[lanes]), kind) for v in (before, *operands))
            rows[places[lanes], 0] = to_bits(COMBINE[operation](*values), kind).view(rows.dtype)
        if out is not None:
            out[access.lanes] = before

    return step_through(op, ports(op, "changes", bits_of(kind) // 8, spaces="global shared"), address, through)


def turns(places: np.ndarray) -> Iterator[np.ndarray]:
    """The numbers of these places in groups: every turn takes the first of each place that has some left."""
    left = np.arange(len(places))
    while len(left):
        _, first = np.unique(places[left], return_index=True)
        yield left[first]
        left = np.delete(left, first)


OPCODES: dict[str, OpcodeDecoder] = {
    **dict.fromkeys(("ld", "st"), move),
    **dict.fromkeys(("prefetch", "prefetchu", "applypriority", "discard", "createpolicy"), no_effect),
    "cp.async.ca": copy,
    "cp.async.cg": copy,
    "cp.async.commit_group": lambda op: lambda where: op.state.copies.groups.commit(as_index(where)),
    "cp.async.wait_group": wait,
    "cp.async.wait_all": wait,
    "atom": atomic,
    "red": atomic,
}
