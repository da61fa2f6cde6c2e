"""tensormap.replace and tensormap.cp_fenceproxy: TMA's descriptors changed by a kernel (PTX ISA, 9.7.9.28 and 9.7.13).

Where a field lies in the 128 bytes is not documented; it is what `memory.tensor_maps` reads.
"""

from collections.abc import Callable

import numpy as np

from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Immediate, Instruction
from tutorlib.simulate.ptx.memory.tensor_maps import BYTES
from tutorlib.simulate.ptx.opcodes.elementwise import Decoder, Step
from tutorlib.simulate.ptx.opcodes.loads import address_of, step_through
from tutorlib.simulate.ptx.opcodes.matrices import whole_warps
from tutorlib.simulate.ptx.ports import GlobalPort, Port, SharedPort
from tutorlib.simulate.ptx.state import State, Where, as_index
from tutorlib.simulate.ptx.types import bits_of

WORD = 8  # bytes, of which a field lies in one
Bits = tuple[int, int, Callable[[np.ndarray], np.ndarray]]  # the first bit, how many, and what the value becomes

UNCHANGED: Callable[[np.ndarray], np.ndarray] = lambda value: value  # noqa: E731
LESS_ONE: Callable[[np.ndarray], np.ndarray] = lambda value: value - np.uint64(1)  # noqa: E731
SIXTEENS: Callable[[np.ndarray], np.ndarray] = lambda value: value >> np.uint64(4)  # noqa: E731
HIGHEST: Callable[[np.ndarray], np.ndarray] = lambda value: value >> np.uint64(36)  # noqa: E731

FIELDS: dict[str, list[Bits]] = {
    "global_address": [(0, 64, UNCHANGED)],
    "rank": [(68, 3, UNCHANGED)],  # given less one
    "elemtype": [(71, 4, UNCHANGED)],
    "swizzle_mode": [(77, 2, UNCHANGED)],
}
ORDERED: dict[str, Callable[[int], list[Bits]]] = {
    "global_dim": lambda mode: [(256 + 32 * mode, 32, LESS_ONE)],
    "global_stride": lambda mode: [(96 + 32 * mode, 32, SIXTEENS), (224 + 4 * mode, 4, HIGHEST)],
    "box_dim": lambda mode: [(440 + 8 * mode, 8, LESS_ONE)],
}
FIXED = {"element_stride": 1, "interleave_layout": 0, "fill_mode": 0, "swizzle_atomicity": 0}  # what they can be here


def fields_of(instruction: Instruction) -> list[Bits]:
    name, operands = instruction.parts[3], instruction.operands
    if name in FIELDS:
        return FIELDS[name]
    if name in ORDERED and isinstance(operands[1], Immediate):
        return ORDERED[name](int(operands[1].text, 0))
    if name in FIXED:
        return []
    raise NotSimulated(str(instruction), instruction.line)


def replace(instruction: Instruction, site: int, state: State) -> Step:
    """tensormap.replace.tile.field{.space}.b1024.type [descriptor], {mode,} value"""
    spaces: dict[str, type[Port]] = {"shared": SharedPort, "global": GlobalPort}
    named = {part.split("::")[0] for part in instruction.parts} & spaces.keys()
    to = {name: spaces[name](state, instruction, site, WORD, 1, "changes") for name in named or spaces}
    addresses = address_of(instruction.operands[0], instruction, state)
    kind = f"u{bits_of(instruction.parts[-1])}"
    value, fields = state.source(instruction.operands[-1], kind, instruction), fields_of(instruction)
    fixed = FIXED.get(instruction.parts[3])

    def through(port: Port, where: Where, given: np.ndarray) -> None:
        new = np.broadcast_to(value, state.geometry.lanes)[as_index(where)].astype(np.uint64)
        if fixed is not None and (new != fixed).any():
            raise NotSimulated(f"{instruction} to other than {fixed}", instruction.line)
        for first, count, change in fields:
            at = given + given.dtype.type(first // 64 * WORD)
            _, words = port.read(where, at)
            shift, mask = np.uint64(first % 64), np.uint64((1 << count) - 1)
            port.write(where, at, words & ~(mask << shift) | ((change(new) & mask) << shift)[:, None])

    return step_through(to, addresses, through, state)


def copy_and_fence(instruction: Instruction, site: int, state: State) -> Step:
    """tensormap.cp_fenceproxy.global.shared::cta.… [to], [from], 128: by a whole warp, once."""
    of = SharedPort(state, instruction, site, WORD, 1, "reads")
    to = GlobalPort(state, instruction, site, WORD, 1, "stores")
    target, source = (address_of(operand, instruction, state) for operand in instruction.operands[:2])

    def step(where: Where) -> None:
        first = np.zeros(state.geometry.lanes, bool)
        first[whole_warps(where, instruction, site, state) * WARP] = True
        if first.any():
            for byte in range(0, BYTES, WORD):
                _, words = of.read(first, source() + source().dtype.type(byte))
                to.write(first, target() + target().dtype.type(byte), words)

    return step


OPCODES: dict[str, Decoder] = {
    "tensormap.replace": replace,
    "tensormap.cp_fenceproxy": copy_and_fence,
}
