"""ld and st of all state spaces, and what only hints at them (PTX ISA, 9.7.9.8 to 9.7.9.16)."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Address, Immediate, Instruction, Operand, Register, Symbol, Vector
from tutorlib.simulate.ptx.memory.windows import LOCAL, PARAM, SHARED
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.ports import GlobalPort, LocalPort, ParameterPort, Port, SharedPort
from tutorlib.simulate.ptx.state import State, Where, as_index
from tutorlib.simulate.ptx.types import bits_of, is_type, numpy_type

PORTS: dict[str, type[Port]] = {
    "global": GlobalPort,
    "const": GlobalPort,
    "shared": SharedPort,
    "local": LocalPort,
    "param": ParameterPort,
}
HINTS = {"weak", "volatile", "relaxed", "acquire", "release", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "cta",
         "gpu", "sys", "cluster", "L1", "L2", "unified", "mmio", "v2", "v4", "v8"}  # fmt: skip
Addresses = Callable[[], np.ndarray]


def address_of(operand: Operand, instruction: Instruction, state: State) -> Addresses:
    """[base + offset] for all lanes, or for one where it is the same for all; 64 bits."""
    if not isinstance(operand, Address):
        raise NotSimulated(f"the address {operand} of {instruction}", instruction.line)
    base, offset = operand.base, np.array([operand.offset % 2**64], np.uint64)
    if isinstance(base, Register) and state.storage(base).itemsize == 4 and not state.is_special(base.name):
        narrow, values = np.array([operand.offset % 2**32], np.uint32), state.storage(base)
        return lambda: values + narrow
    if isinstance(base, Symbol | Immediate | Register):
        wide = state.source(base, "u64", instruction)
        return lambda: wide + offset
    raise NotSimulated(f"the address {operand} of {instruction}", instruction.line)


def shape_of(instruction: Instruction) -> tuple[str, int]:
    """The type of an element, and how many there are in a vector."""
    count = next((int(part[1:]) for part in instruction.parts if part in ("v2", "v4", "v8")), 1)
    return instruction.parts[-1], count


def space_of(instruction: Instruction) -> str:
    """ "" for a generic address."""
    for part in instruction.parts[1:-1]:
        space = part.split("::")[0]
        if space in PORTS:
            return space
        if space not in HINTS:
            raise NotSimulated(str(instruction), instruction.line)
    return ""


def ports(instruction: Instruction, site: int, state: State, does: str) -> tuple[str, int, dict[str, Port]]:
    """The type, how many of it, and a port to each space that the instruction may reach."""
    kind, count = shape_of(instruction)
    if not is_type(kind) or bits_of(kind) > 64:
        raise NotSimulated(str(instruction), instruction.line)
    space = space_of(instruction)
    spaces = [space] if space else ["global", "shared", "local", "param"]
    made = {name: PORTS[name](state, instruction, site, bits_of(kind) // 8, count, does) for name in spaces}
    return kind, count, made


def items_of(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def load(instruction: Instruction, site: int, state: State) -> Step:
    address = instruction.operands[1]
    if isinstance(address, Address) and isinstance(address.base, Symbol) and address.base.name in state.call_space:
        return load_call_space(instruction, state, address)
    kind, _, to = ports(instruction, site, state, "loads" if space_of(instruction) != "shared" else "reads")
    outs = [state.target(item, kind, instruction) for item in items_of(instruction.operands[0])]
    addresses = address_of(address, instruction, state)
    dtype = numpy_type(kind)

    def through(port: Port, where: Where, given: np.ndarray) -> None:
        lanes, data = port.read(where, given)
        for n, out in enumerate(outs):
            out[lanes] = data[:, n].view(dtype)

    return step_through(to, addresses, through, state)


def store(instruction: Instruction, site: int, state: State) -> Step:
    address = instruction.operands[0]
    if isinstance(address, Address) and isinstance(address.base, Symbol) and address.base.name in state.call_space:
        return store_call_space(instruction, state, address)
    kind, count, to = ports(instruction, site, state, "stores" if space_of(instruction) != "shared" else "writes")
    unsigned = f"u{bits_of(kind)}"
    given = [state.source(item, kind, instruction) for item in items_of(instruction.operands[1])]
    addresses = address_of(address, instruction, state)

    def through(port: Port, where: Where, at: np.ndarray) -> None:
        lanes = as_index(where)
        size = state.geometry.lanes if where is True else len(lanes)  # type: ignore[arg-type]
        data = np.empty((size, count), numpy_type(unsigned))
        for n, values in enumerate(given):
            data[:, n] = (values[lanes] if values.size > 1 else values).view(data.dtype)
        port.write(where, at, data)

    return step_through(to, addresses, through, state)


Through = Callable[[Port, Where, np.ndarray], None]


def step_through(to: dict[str, Port], addresses: Addresses, through: Through, state: State) -> Step:
    """Through the one port, or for generic addresses through the port of the window that each lies in."""
    if len(to) == 1:
        (port,) = to.values()
        return lambda where: through(port, where, addresses())

    def step(where: Where) -> None:
        given = np.broadcast_to(addresses(), state.geometry.lanes)
        window = given >> np.uint64(56)
        for space, base in (("global", 0), ("shared", SHARED), ("local", LOCAL), ("param", PARAM)):
            here = window == base >> 56
            if where is not True:
                here &= where
            if here.all():
                through(to[space], True, given - np.uint64(base))
            elif here.any():
                through(to[space], here, given - np.uint64(base))

    return step


def load_call_space(instruction: Instruction, state: State, address: Address) -> Step:
    """ld.param of what a called function returned."""
    kind, _ = shape_of(instruction)
    width = bits_of(kind) // 8
    memory = state.call_space[address.base.name]  # type: ignore[union-attr]
    outs = [state.target(item, kind, instruction) for item in items_of(instruction.operands[0])]

    def step(where: Where) -> None:
        for n, out in enumerate(outs):
            start = address.offset + n * width
            values = np.ascontiguousarray(memory[:, start : start + width]).view(numpy_type(kind))[:, 0]
            np.copyto(out, values, where=where, casting="unsafe")

    return step


def store_call_space(instruction: Instruction, state: State, address: Address) -> Step:
    """st.param of a called function's argument."""
    kind, _ = shape_of(instruction)
    width = bits_of(kind) // 8
    memory = state.call_space[address.base.name]  # type: ignore[union-attr]
    given = [state.source(item, kind, instruction) for item in items_of(instruction.operands[1])]

    def step(where: Where) -> None:
        lanes = as_index(where)
        for n, values in enumerate(given):
            start = address.offset + n * width
            all_lanes = np.ascontiguousarray(np.broadcast_to(values, state.geometry.lanes))
            memory[lanes, start : start + width] = all_lanes.view(np.uint8).reshape(-1, width)[lanes]

    return step


def no_effect(instruction: Instruction, site: int, state: State) -> Step:
    return lambda where: None


def uniform_load(instruction: Instruction, site: int, state: State) -> Step:
    """ldu is ld.global for data that is the same in a warp."""
    return load(replace(instruction, opcode=instruction.opcode.replace("ldu", "ld")), site, state)


OPCODES: dict[str, Decoder] = {
    "ld": load,
    "ldu": uniform_load,
    "st": store,
    "prefetch": no_effect,
    "prefetchu": no_effect,
    "applypriority": no_effect,
    "discard": no_effect,
    "createpolicy": no_effect,
}
