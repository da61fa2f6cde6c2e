"""ld and st of all state spaces, and what only hints at them (PTX ISA, 9.7.9.8 to 9.7.9.16)."""

from collections.abc import Callable

import numpy as np

from tutorlib.simulate.ptx.ir import Address, Operand, Symbol
from tutorlib.simulate.ptx.memory.access import WINDOW
from tutorlib.simulate.ptx.operation import Addresses, OpcodeDecoder, Operation
from tutorlib.simulate.ptx.ports import GlobalPort, LocalPort, ParameterPort, Port, SharedPort
from tutorlib.simulate.ptx.state import Step, Where, as_index
from tutorlib.simulate.ptx.types import bits_of, numpy_type

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
    """A port to each space that the instruction may reach: the one that it names, or those of generic addresses."""
    named = [word for word in op.words if word in PORTS]
    return {name: PORTS[name](op, width, count, does) for name in named or spaces.split()}


def ports_of_move(op: Operation, address: int, does: str) -> dict[str, Port]:
    """Of ld and st, to memory or to the parameters of a function that is called."""
    op.need_known(f"{HINTS} {SPACES}")
    kind, count = shape_of(op)
    at, width = op.operands[address], bits_of(kind) // 8
    if isinstance(at, Address) and isinstance(at.base, Symbol) and at.base.name in op.state.call_space:
        return {"param": LocalPort(op, width, count, does, at.base.name)}
    return ports(op, does, width, count)


def load(op: Operation) -> Step:
    kind, _ = shape_of(op)
    to = ports_of_move(op, 1, "reads" if "shared" in op.words else "loads")
    outs, dtype = op.targets(0, kind), numpy_type(kind)

    def through(port: Port, where: Where, given: np.ndarray) -> None:
        lanes, data = port.read(where, given)
        for n, out in enumerate(outs):
            out[lanes] = data[:, n].view(dtype)

    return step_through(op, to, op.operands[1], through)


def store(op: Operation) -> Step:
    kind, count = shape_of(op)
    to = ports_of_move(op, 0, "writes" if "shared" in op.words else "stores")
    given, dtype = op.sources(1, kind), numpy_type(f"u{bits_of(kind)}")

    def through(port: Port, where: Where, at: np.ndarray) -> None:
        lanes = as_index(where)
        size = op.state.geometry.lanes if where is True else len(lanes)  # type: ignore[arg-type]
        data = np.empty((size, count), dtype)
        for n, values in enumerate(given):
            data[:, n] = (values[lanes] if values.size > 1 else values).view(dtype)
        port.write(where, at, data)

    return step_through(op, to, op.operands[0], through)


def step_through(op: Operation, to: dict[str, Port], address: Operand | Addresses, through: Through) -> Step:
    """Through the one port, or for generic addresses through the port of the window that each lies in."""
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


OPCODES: dict[str, OpcodeDecoder] = {
    "ld": load,
    "st": store,
    **dict.fromkeys(("prefetch", "prefetchu", "applypriority", "discard", "createpolicy"), no_effect),
}
