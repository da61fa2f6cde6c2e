"""tensormap.replace and tensormap.cp_fenceproxy: TMA's descriptors changed by a kernel (PTX ISA, 9.7.9.28 and 9.7.13).

Where a field lies in the 128 bytes is not documented; it is what `memory.tensor_maps` reads.
"""

import numpy as np

from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.memory.tensor_maps import BYTES
from tutorlib.simulate.ptx.opcodes.loads import ports, step_through
from tutorlib.simulate.ptx.operation import OpcodeDecoder, Operation
from tutorlib.simulate.ptx.ports import GlobalPort, Port, SharedPort
from tutorlib.simulate.ptx.state import Step, Where, as_index
from tutorlib.simulate.ptx.types import bits_of

WORD = 8  # bytes, of which a field lies in one
# A field's parts: its first bit, how much further that is for each mode, how many there are; what is subtracted from
# the value, and how many of its lowest bits are left out.
FIELDS = {
    "global_address": [(0, 0, 64, 0, 0)],
    "rank": [(68, 0, 3, 0, 0)],  # given less one
    "elemtype": [(71, 0, 4, 0, 0)],
    "swizzle_mode": [(77, 0, 2, 0, 0)],
    "global_dim": [(256, 32, 32, 1, 0)],
    "global_stride": [(96, 32, 32, 0, 4), (224, 4, 4, 0, 36)],
    "box_dim": [(440, 8, 8, 1, 0)],
}
FIXED = {"element_stride": 1, "interleave_layout": 0, "fill_mode": 0, "swizzle_atomicity": 0}  # what they can be here


def replace(op: Operation) -> Step:
    """tensormap.replace.tile.field{.space}.b1024.type [descriptor], {mode,} value"""
    name, value = op.parts[3], op.source(op.operands[-1], f"u{bits_of(op.kind)}")
    op.need(name in FIELDS or name in FIXED)
    mode = op.immediate(1) if len(op.operands) > 2 else 0

    def through(port: Port, where: Where, given: np.ndarray) -> None:
        new = op.spread(value)[as_index(where)].astype(np.uint64)
        if name in FIXED and (new != FIXED[name]).any():
            raise NotSimulated(f"{op.instruction} to other than {FIXED[name]}", op.instruction.line)
        for start, further, count, less, below in FIELDS.get(name, []):
            word, bit = divmod(start + further * mode, 64)
            at, shift, mask = given + given.dtype.type(word * WORD), np.uint64(bit), np.uint64((1 << count) - 1)
            part = (new - np.uint64(less) >> np.uint64(below) & mask) << shift
            _, words = port.read(where, at)
            port.write(where, at, words & ~(mask << shift) | part[:, None])

    return step_through(op, ports(op, "changes", WORD, spaces="shared global"), op.operands[0], through)


def copy_and_fence(op: Operation) -> Step:
    """tensormap.cp_fenceproxy.global.shared::cta.… [to], [from], 128: by a whole warp, once."""
    of, to = SharedPort(op, WORD, 1, "reads"), GlobalPort(op, WORD, 1, "stores")
    target, source = op.addresses(0), op.addresses(1)

    def copy_for(warps: np.ndarray) -> None:
        first = of.flags(warps * WARP)
        for byte in range(0, BYTES if len(warps) else 0, WORD):
            _, words = of.read(first, source() + source().dtype.type(byte))
            to.write(first, target() + target().dtype.type(byte), words)

    return op.by_warps(copy_for)


OPCODES: dict[str, OpcodeDecoder] = {
    "tensormap.replace": replace,
    "tensormap.cp_fenceproxy": copy_and_fence,
}
