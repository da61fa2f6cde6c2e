"""A launch that another process recorded, on tensors at other addresses.

That process never learns the addresses of the judge's tensors. It records the launch twice, on tensors at made-up
addresses. A word that differs as the addresses do is a pointer: a parameter, a member of a struct, or the first word of
a TMA descriptor. A byte that differs otherwise was never set: the end of a descriptor, a gap in a struct.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tutorlib.compiling.errors import CompileFailed
from tutorlib.simulate.ptx.memory import descriptors
from tutorlib.simulate.ptx.simulation import Launch

WORD = struct.Struct("<Q")
FIRST = 2**45  # the made-up address of the first tensor, and the distance to the next
APART = 2**36
STEP = 2**20  # in the second recording tensor n is moved by n + 1 of these
BY_ADDRESS = "its launches depend on the addresses of its tensors"
ELSEWHERE = "a pointer of its launch leads out of its tensors"


def made_up_addresses(tensors: int) -> tuple[list[int], list[int]]:
    """The addresses for the first and the second recording."""
    first = [FIRST + n * APART for n in range(tensors)]
    return first, [address + (n + 1) * STEP for n, address in enumerate(first)]


@dataclass(frozen=True)
class Pointer:
    """at: its offset among the parameters, in bytes. It points `offset` bytes into the tensor of this number."""

    at: int
    tensor: int
    offset: int


@dataclass(frozen=True)
class Relocatable:
    """A launch without its tensors. offsets: of its parameters."""

    launch: Launch
    offsets: tuple[int, ...]
    pointers: tuple[Pointer, ...]

    def parameters(self, addresses: Sequence[int]) -> bytes:
        """The kernel's parameters for tensors at these addresses."""
        raw = bytearray(self.launch.parameters)
        for pointer in self.pointers:
            WORD.pack_into(raw, pointer.at, addresses[pointer.tensor] + pointer.offset)
        return bytes(raw)


def relocatable(first: Launch, second: Launch, sizes: Sequence[int]) -> Relocatable:
    """The launch that was recorded twice, at the `made_up_addresses` of tensors of these sizes in bytes.

    Raises CompileFailed if the two are not one launch, or a pointer leads out of the tensors.
    """
    if first.kernel.name != second.kernel.name or first.config != second.config:
        raise CompileFailed(BY_ADDRESS)
    raw, pointers = bytearray(first.parameters), []
    for at in range(0, len(raw) - WORD.size + 1, WORD.size):
        (one,), (other,) = (WORD.unpack_from(each.parameters, at) for each in (first, second))
        tensor, offset = divmod(one - FIRST, APART)
        if one == other:
            continue
        if other - one != (tensor + 1) * STEP or not 0 <= tensor < len(sizes):
            for place in range(at, at + WORD.size):  # half of the word may be a size, and the other half a gap
                if first.parameters[place] != second.parameters[place]:
                    raw[place] = 0
            continue
        if offset >= sizes[tensor]:
            raise CompileFailed(ELSEWHERE)
        pointers.append(Pointer(at, tensor, offset))
    placed = {pointer.at for pointer in pointers}
    for parameter in first.kernel.parameters:
        if parameter.kind == "b8" and parameter.size == descriptors.BYTES and parameter.offset not in placed:
            raise CompileFailed(ELSEWHERE)
    offsets = tuple(parameter.offset for parameter in first.kernel.parameters)
    return Relocatable(replace(first, parameters=bytes(raw)), offsets, tuple(pointers))
