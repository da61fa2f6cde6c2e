"""A launch that another process recorded, on tensors at other addresses.

That process never learns the addresses of the judge's tensors: it records the launch on tensors at made-up ones. A word
that points into one of them is a pointer: a parameter, a member of a struct, or the first word of a TMA descriptor.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tutorlib.compiling.errors import CompileFailed
from tutorlib.simulate.ptx.memory import descriptors
from tutorlib.simulate.ptx.simulation import Launch

WORD = struct.Struct("<Q")
FIRST = 2**45  # the made-up address of the first tensor, and the distance to the next
APART = 2**36
ELSEWHERE = "a pointer of its launch leads out of its tensors"


def made_up_addresses(tensors: int) -> list[int]:
    return [FIRST + n * APART for n in range(tensors)]


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


def relocatable(launch: Launch, sizes: Sequence[int]) -> Relocatable:
    """The launch that was recorded at the `made_up_addresses` of tensors of these sizes in bytes.

    Raises CompileFailed where a pointer leads out of the tensors.
    """
    pointers = []
    for at in range(0, len(launch.parameters) - WORD.size + 1, WORD.size):
        tensor, offset = divmod(WORD.unpack_from(launch.parameters, at)[0] - FIRST, APART)
        if 0 <= tensor < len(sizes):
            if offset >= sizes[tensor]:
                raise CompileFailed(ELSEWHERE)
            pointers.append(Pointer(at, tensor, offset))
    placed = {pointer.at for pointer in pointers}
    for parameter in launch.kernel.parameters:
        if parameter.kind == "b8" and parameter.size == descriptors.BYTES and parameter.offset not in placed:
            raise CompileFailed(ELSEWHERE)
    offsets = tuple(parameter.offset for parameter in launch.kernel.parameters)
    return Relocatable(launch, offsets, tuple(pointers))
