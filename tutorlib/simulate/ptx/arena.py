"""Global memory: every tensor in a place of its own, with guard ranges between them.

Addresses are the machine's own, of one large reservation, so a pointer inside a struct of parameters means the same to
a host function and to the simulated kernel. What is never touched costs no memory.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

GUARD = 2**20  # bytes between tensors: an index that is off by some rows lands in no tensor
ALIGNMENT = 512  # of what cudaMalloc and torch's allocator give
POISON = 0xEB  # what an access outside of every tensor reads
HOST_ALIGNMENT = 64  # of fresh memory on the host: an address that keeps to it stands for one of the GPU's


@dataclass(frozen=True)
class Allocation:
    """A tensor, or a variable of the module.

    start: its place in the arena; size: bytes. shape, strides: in elements of `width` bytes.
    """

    name: str
    start: int
    size: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    width: int

    @property
    def end(self) -> int:
        return self.start + self.size

    def element(self, offset: int) -> str:
        """The element `offset` bytes from the start, as the reader indexes it; beyond the end the first index grows."""
        if self.width == 0:
            return f"byte {offset} of {self.name}"
        rest = offset // self.width
        index = [0] * len(self.shape)
        by_stride = sorted((n for n in range(len(self.shape)) if self.strides[n]), key=lambda n: -self.strides[n])
        for n in by_stride:
            index[n], rest = divmod(rest, self.strides[n])
        return f"{self.name}[{', '.join(map(str, index))}]"


@dataclass(frozen=True)
class Before:
    """The launch before, which this one overlaps with. by: its kernel. bytes: for each byte of the arena, whether it
    may still be storing to it."""

    by: str
    bytes: np.ndarray


class Arena:
    """Room for this many bytes in this many allocations, each between guards.

    bytes: all of it, the first of which are poison. address: of its first byte. before: the launch before. late: gives,
    after a launch, for each byte of an allocation whether it may still be stored to.
    """

    def __init__(self, sizes: list[int]) -> None:
        room = sum(-(-size // ALIGNMENT) * ALIGNMENT + 2 * ALIGNMENT + GUARD for size in sizes) + 2 * GUARD
        reserved = np.empty(room, np.uint8)
        skip = -reserved.ctypes.data % ALIGNMENT
        self.bytes = reserved[skip : skip + (room - ALIGNMENT) // ALIGNMENT * ALIGNMENT]
        self.bytes[:ALIGNMENT] = POISON
        self.address = self.bytes.ctypes.data
        self.free = GUARD
        self.before: Before | None = None
        self.late: Callable[[Allocation], np.ndarray] = lambda one: np.zeros(one.size, bool)
        self.allocations: list[Allocation] = []
        self.starts: list[int] = []

    def allocate(
        self,
        name: str,
        size: int,
        shape: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
        width: int = 0,
        skew: int = 0,
    ) -> Allocation:
        """skew: how far its address is from a multiple of ALIGNMENT."""
        allocation = Allocation(name, self.free + skew, size, shape, strides, width)
        self.allocations.append(allocation)
        self.starts.append(allocation.start)
        self.free = -(-allocation.end // ALIGNMENT) * ALIGNMENT + GUARD
        return allocation

    def contents(self, allocation: Allocation) -> np.ndarray:
        return self.bytes[allocation.start : allocation.end]

    def address_of(self, allocation: Allocation) -> int:
        return self.address + allocation.start

    def rows(self, element: int, count: int) -> np.ndarray:
        """All of it as rows of `count` unsigned numbers of `element` bytes each."""
        return self.bytes.view(f"u{element}").reshape(-1, count)

    def holds(self, low: int, high: int) -> bool:
        """Whether the bytes low … high - 1 of the arena lie in one allocation."""
        at = bisect_right(self.starts, low) - 1
        return at >= 0 and high <= self.allocations[at].end

    def inside(self, starts: np.ndarray, width: int) -> np.ndarray:
        """For each access of `width` bytes at these places in the arena: whether it lies in one allocation."""
        if not self.allocations:
            return np.zeros(len(starts), bool)
        at = np.searchsorted(self.starts, starts, side="right") - 1
        ends = np.array([a.end for a in self.allocations])
        return (at >= 0) & (starts + width <= ends[at])

    def nearest(self, place: int) -> Allocation | None:
        """The allocation that holds this place, or the one that is least far away."""

        def distance(allocation: Allocation) -> int:
            return max(allocation.start - place, place - allocation.end + 1, 0)

        return min(self.allocations, key=distance, default=None)

    def __iter__(self) -> Iterator[Allocation]:
        return iter(self.allocations)
