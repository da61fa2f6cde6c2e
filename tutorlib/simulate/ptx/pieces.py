"""Simulating a launch on pieces of memory whose addresses its parameters hold, and perhaps other pieces."""

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from tutorlib.simulate.ptx.memory.arena import ALIGNMENT, HOST_ALIGNMENT, Arena, Stored
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch, module_sizes, simulate

if TYPE_CHECKING:
    from torch import Tensor


POINTER_BYTES = 8


def pointer_words(data: np.ndarray) -> np.ndarray:
    return data[: len(data) // POINTER_BYTES * POINTER_BYTES].view(np.uint64)


def relocate(data: np.ndarray, moves: list[tuple[int, int, int]]) -> None:
    """Move pointers in place. moves: start, size and new start of each piece of memory."""
    words = pointer_words(data)
    before = words.copy()
    for start, size, new in moves:
        hit = (before >= start) & (before < start + size)
        words[hit] = before[hit] - np.uint64(start) + np.uint64(new)


@dataclass(frozen=True)
class Piece:
    """A tensor's memory. start: the address by which pointers know it. shape, strides: in elements of `width` bytes.

    floats: whether its elements are floating-point. bytes: its contents, which the launch changes.
    """

    name: str
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    width: int
    floats: bool
    bytes: np.ndarray

    @property
    def pointers(self) -> bool:
        """Whether addresses of pieces may stand in it."""
        return not self.floats and len(self.bytes) >= POINTER_BYTES


def is_memory(value: Any) -> "TypeGuard[Tensor | np.ndarray]":
    """Whether it is a torch tensor or a NumPy array, which `piece_of` takes."""
    return isinstance(value, np.ndarray) or hasattr(value, "data_ptr")


def piece_of(name: str, tensor: "Tensor | np.ndarray") -> Piece:
    """A tensor's memory, from its first to its last element. It shows what the tensor holds, as long as that lives."""
    if isinstance(tensor, np.ndarray):
        start, width, floats = tensor.ctypes.data, tensor.itemsize, tensor.dtype.kind == "f"
        strides = tuple(stride // width for stride in tensor.strides)
    else:
        start, width, floats = tensor.data_ptr(), tensor.element_size(), tensor.dtype.is_floating_point
        strides = tuple(tensor.stride())
    shape = tuple(tensor.shape)
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return Piece(name, start, shape, strides, width, floats, bytes_at(start, 0 if 0 in shape else (last + 1) * width))


def bytes_at(start: int, size: int) -> np.ndarray:
    """This process's own memory."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start)) if size else np.empty(0, np.uint8)


def fresh_memory(size: int) -> np.ndarray:
    """So many bytes at an address such as a GPU's allocator gives."""
    room = np.empty(size + ALIGNMENT, np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    return room[first : first + size]


def distinct(pieces: Iterable[Piece]) -> list[Piece]:
    """In the order of their addresses, the largest of those that start at one: a pointer is to the last that has it."""
    ordered = sorted(pieces, key=lambda one: (one.start, len(one.bytes)))
    return list({one.start: one for one in ordered}.values())


@dataclass
class LaunchBefore:
    """What the launch before has stored in its arena, and where each piece was there, by its address."""

    stored: Stored | None = None
    starts: dict[int, int] = field(default_factory=dict)


def simulate_pieces(
    launch: Launch, pieces: Sequence[Piece], traced: bool = False, before: LaunchBefore | None = None, **options: Any
) -> Report:
    """As `simulate`, whose options it takes, with the pieces in an arena of their own meanwhile.

    before: afterwards, this launch.
    """
    before = before or LaunchBefore()
    arena = Arena([len(one.bytes) for one in pieces] + module_sizes(launch.module))
    names = [one.name for one in pieces]
    placed = [
        (one, arena.allocate(name, len(one.bytes), one.shape, one.strides, one.width, one.start % HOST_ALIGNMENT))
        for one, name in zip(pieces, unique(names), strict=True)
    ]
    there = [(one.start, where.size, arena.address_of(where)) for one, where in placed]
    parameters = np.frombuffer(bytearray(launch.parameters), np.uint8)
    relocate(parameters, there)
    for one, where in placed:
        arena.contents(where)[:] = one.bytes
        if one.pointers:
            relocate(arena.contents(where), there)
    if before.stored:
        both = [(before.starts[one.start], where) for one, where in placed if one.start in before.starts]
        arena.stored = before.stored.moved(((old, new.start, new.size) for old, new in both), len(arena.bytes))
    report = simulate(replace(launch, parameters=parameters.tobytes()), arena, traced, **options)
    before.stored, before.starts = arena.stored, {one.start: where.start for one, where in placed}
    for one, where in placed:
        if one.pointers:
            relocate(arena.contents(where), [(new, size, start) for start, size, new in there])
        one.bytes[:] = arena.contents(where)
    return report


def unique(names: list[str]) -> list[str]:
    """Each name once; later ones with a number."""
    return [name if names.index(name) == n else f"{name}{n}" for n, name in enumerate(names)]
