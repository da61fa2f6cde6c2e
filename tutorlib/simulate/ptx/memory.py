"""Generic addresses, and one instruction's accesses to memory; global memory; shared memory with the copies that arrive
in it; and what listens to a launch.

Global addresses are those of the host, below 2^47; each other space has a window above (PTX ISA, 6.4.1.1). In the
window of a cluster's shared memory the block of rank r begins at (r + 1) << PEER_BITS, and each block's own also at 0.

In global memory every tensor has a place of its own, with guard ranges between them. Addresses are the machine's own,
of one large reservation, so a pointer inside a struct of parameters means the same to a host function and to the
simulated kernel. What is never touched costs no memory.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from tutorlib.simulate.ptx.findings import TooManyRecords
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Instruction, Kernel

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.meetings import Running

SHARED = 1 << 56
LOCAL = 1 << 57
PARAM = 1 << 58
WINDOW = {"shared": SHARED, "local": LOCAL, "param": PARAM}
PEER_BITS = 24


Agent = Literal["thread", "wgmma", "tcgen05", "tcgen05.cp", "TMA"]  # who does it, for the threads that ask for it
Carrier = Literal["TMA", "st.async", "cp.async"]  # what brings bytes that an mbarrier counts


NO_SLOTS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Access:
    """One instruction's access to memory, by its active lanes, (n,): `width` bytes each at these starts.

    starts: addresses in shared memory, of the blocks in these slots of the batch; or places in the arena, without
    slots.
    """

    site: int
    lanes: np.ndarray
    starts: np.ndarray
    width: int
    slots: np.ndarray = field(default_factory=lambda: NO_SLOTS)
    agent: Agent = "thread"

    def only(self, which: np.ndarray) -> "Access":
        slots = self.slots[which] if self.slots.size else self.slots
        return replace(self, lanes=self.lanes[which], starts=self.starts[which], slots=slots)


@dataclass(frozen=True)
class Touched:
    """Accesses by their pieces: number and lane of each, (accesses · many,). many: pieces of one access."""

    access: Access
    many: int
    pieces: np.ndarray
    lanes: np.ndarray

    @cached_property
    def warps(self) -> np.ndarray:
        """Of the batch."""
        return self.lanes // WARP

    def by_piece(self, by_access: np.ndarray) -> np.ndarray:
        return np.repeat(by_access, self.many)

    def any_piece(self, by_piece: np.ndarray) -> np.ndarray:
        return np.asarray(by_piece.reshape(-1, self.many).any(1))


POISON = 0xEB  # bytes never written, or outside of every tensor: as bf16 a huge negative number, which no sum hides


def rows_of(memory: np.ndarray, element: int, count: int) -> np.ndarray:
    """All of it as rows of `count` unsigned numbers of `element` bytes each."""
    return memory.view(f"u{element}").reshape(-1, count)


# global memory --------------------------------------------------------------------------------------------------------

GUARD = 2**20  # bytes between tensors: an index that is off by some rows lands in no tensor
ALIGNMENT = 512  # of what cudaMalloc and torch's allocator give
HOST_ALIGNMENT = 64  # of fresh memory on the host: an address that keeps to it stands for one of the GPU's


@dataclass(frozen=True)
class Allocation:
    """A tensor, or a variable of the module.

    start: its place in the arena; size: bytes. shape, strides: in elements of `width` bytes.
    """

    name: str
    start: int
    size: int
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    width: int = 0

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


class Arena:
    """Room for this many bytes in this many allocations, each between guards.

    bytes: all of it, the first of which are poison. address: of its first byte. before: the kernel of the launch
    before, if this one overlaps with it. late: for each byte, whether that may still be storing to it; after a launch,
    whether this one may.
    """

    def __init__(self, sizes: list[int]) -> None:
        room = sum(-(-size // ALIGNMENT) * ALIGNMENT + 2 * ALIGNMENT + GUARD for size in sizes) + 2 * GUARD
        reserved = np.empty(room, np.uint8)
        skip = -reserved.ctypes.data % ALIGNMENT
        self.bytes = reserved[skip : skip + (room - ALIGNMENT) // ALIGNMENT * ALIGNMENT]
        self.bytes[:ALIGNMENT] = POISON
        self.address = self.bytes.ctypes.data
        self.free = GUARD
        self.before, self.late = "", np.zeros(len(self.bytes), bool)
        self.allocations: list[Allocation] = []
        self.starts: list[int] = []

    def allocate(self, name: str, size: int, *layout: Any, skew: int = 0) -> Allocation:
        """layout: shape, strides and width. skew: how far its address is from a multiple of ALIGNMENT."""
        allocation = Allocation(name, self.free + skew, size, *layout)
        self.allocations.append(allocation)
        self.starts.append(allocation.start)
        self.free = -(-allocation.end // ALIGNMENT) * ALIGNMENT + GUARD
        return allocation

    def contents(self, allocation: Allocation) -> np.ndarray:
        return self.bytes[allocation.start : allocation.end]

    def address_of(self, allocation: Allocation) -> int:
        return self.address + allocation.start

    def holds(self, low: int, high: int) -> bool:
        """Whether the bytes low … high - 1 of the arena lie in one allocation."""
        at = bisect_right(self.starts, low) - 1
        return at >= 0 and high <= self.allocations[at].end

    def inside(self, starts: np.ndarray, width: int) -> np.ndarray:
        """For each access of `width` bytes at these places in the arena: whether it lies in one allocation."""
        if not self.allocations:
            return np.zeros(len(starts), bool)
        at = np.searchsorted(self.starts, starts, side="right") - 1
        return (at >= 0) & (starts + width <= np.array([a.end for a in self.allocations])[at])

    def nearest(self, place: int) -> Allocation | None:
        """The allocation that holds this place, or the one that is least far away."""

        def distance(allocation: Allocation) -> int:
            return max(allocation.start - place, place - allocation.end + 1, 0)

        return min(self.allocations, key=distance, default=None)

    def show(self, place: int) -> str:
        """The element at or near this place, "a[1, 2]"; "" where the arena holds nothing."""
        found = self.nearest(place)
        return found.element(place - found.start) if found else ""


# shared memory --------------------------------------------------------------------------------------------------------

ROW_ALIGNMENT = 1024


class SharedMemory:
    """That of the blocks that run together. size: bytes that a block has, static and dynamic. stride: bytes from a
    block's row to the next."""

    def __init__(self, blocks: int, size: int) -> None:
        self.size = size
        self.stride = -(-max(size, 1) // ROW_ALIGNMENT) * ROW_ALIGNMENT
        self.bytes = np.empty(blocks * self.stride, np.uint8)


MOST_IN_FLIGHT = 2**28  # bytes


T = TypeVar("T")


@dataclass(frozen=True)
class InFlight(Generic[T]):
    """what: was issued by several lanes. lanes: those that have not waited for it, at these places among all.

    groups: of each, how many it had committed before. number: among all that were issued.
    """

    what: T
    lanes: np.ndarray
    at: np.ndarray
    groups: np.ndarray
    number: int

    def only(self, which: np.ndarray) -> "InFlight[T]":
        return replace(self, lanes=self.lanes[which], at=self.at[which], groups=self.groups[which])


class Groups(Generic[T]):
    """What lanes, or warps, have issued and not waited for. All that a lane issues up to a commit is a group; waiting
    for all but the newest N groups ends the older ones.

    committed: how many groups each lane has committed. issued: how many operations.
    """

    def __init__(self, lanes: int) -> None:
        self.committed = np.zeros(lanes, np.int32)
        self.in_flight: list[InFlight[T]] = []
        self.issued = 0

    def issue(self, what: T, lanes: np.ndarray) -> None:
        self.issued += 1
        self.in_flight.append(InFlight(what, lanes, np.arange(len(lanes)), self.committed[lanes], self.issued))

    def commit(self, lanes: np.ndarray | slice) -> None:
        self.committed[lanes] += 1

    def wait(self, lanes: np.ndarray | slice, open_groups: int) -> list[InFlight[T]]:
        """These lanes' groups end, but for the newest `open_groups`. Gives what did."""
        limit = np.full(len(self.committed), -1, np.int32)
        limit[lanes] = self.committed[lanes] - open_groups
        return self.end(lambda one: one.groups < limit[one.lanes])

    def end(self, which: Callable[[InFlight[T]], np.ndarray]) -> list[InFlight[T]]:
        """which: for which of its lanes an operation ends, as booleans. Gives these parts."""
        ended, left = [], []
        for one in self.in_flight:
            ends = which(one)
            if not ends.all():
                left.append(one.only(~ends) if ends.any() else one)
            if ends.any():
                ended.append(one if ends.all() else one.only(ends))
        self.in_flight = left
        return ended


class AsyncCopies:
    """cp.async (PTX ISA, 9.7.9.25). The bytes are in shared memory from the beginning; `SharedShadow` knows that they
    may be read only later.

    bytes: all that were issued; bytes_in_flight: now.
    """

    def __init__(self, lanes: int, shared: SharedMemory) -> None:
        self.lanes, self.shared, self.bytes = lanes, shared, 0
        self.restart()

    def restart(self) -> None:
        self.groups = Groups[Access](self.lanes)
        self.bytes_in_flight = 0

    def issue(self, access: Access) -> None:
        self.groups.issue(access, access.lanes)
        size = len(access.lanes) * access.width
        self.bytes += size
        self.bytes_in_flight += size
        if self.bytes_in_flight > MOST_IN_FLIGHT:
            says = f"cp.async has {self.bytes_in_flight:,} bytes in flight that no thread has waited for"
            raise TooManyRecords(f"{says}: choose a size with fewer steps")

    def is_committed(self, site: int, lane: int) -> bool:
        """Whether a lane has committed the last copy that it issued at a site."""
        own = [one for one in self.groups.in_flight if one.what.site == site and lane in one.lanes]
        return any(self.groups.committed[lane] > one.groups[one.lanes == lane].max() for one in own[-1:])

    def issued_by(self, lanes: np.ndarray) -> list[Access]:
        """These lanes' copies that are in flight."""
        each = ((one.what, one.at[np.isin(one.lanes, lanes)]) for one in self.groups.in_flight)
        return [access.only(at) for access, at in each if len(at)]

    def wait(self, lanes: np.ndarray | slice, open_groups: int) -> list[Access]:
        """These lanes' groups arrive, but for the newest `open_groups`. Gives the copies that arrived."""
        return self.arrived(self.groups.wait(lanes, open_groups))

    def finish(self, lanes: np.ndarray | slice, issued: int) -> list[Access]:
        """These lanes' copies among the first `issued` arrive, committed or not. Gives them."""
        chosen = np.zeros(self.lanes, bool)
        chosen[lanes] = True
        return self.arrived(self.groups.end(lambda one: chosen[one.lanes] & (one.number <= issued)))

    def arrived(self, ended: list[InFlight[Access]]) -> list[Access]:
        self.bytes_in_flight -= sum(len(one.lanes) * one.what.width for one in ended)
        return [one.what.only(one.at) for one in ended]


# who listens ---------------------------------------------------------------------------------------------------------


class Listener:
    """Hears what a launch does, beyond what findings need; this one does nothing with it.

    follows: whether it wants to hear of every instruction.
    """

    follows = False

    def __init__(self, running: "Running", copies: AsyncCopies, piece: int, pieces: int) -> None:
        """piece: the bytes of global memory that are watched together. pieces: how many of these there are."""
        self.geometry, self.copies, self.piece = running.geometry, copies, piece

    def restart(self) -> None:
        """Another batch of blocks begins."""

    def on_instruction(
        self, site: int, instruction: Instruction, lanes: np.ndarray, latest: dict[Any, tuple[np.ndarray, int]]
    ) -> None:
        """lanes: that have run it, as booleans. latest: addresses and width of its accesses, by space, to be taken."""

    def on_shared_read(self, access: Access, again: np.ndarray) -> None:
        """again: of each piece, whether the same warp has read it since it was written."""

    def on_bulk_load(self, slot: int, mbarrier: int, phase: int, starts: np.ndarray) -> None:
        """Bytes for a block's shared memory, at these addresses, which this phase of an mbarrier counts."""

    def on_bulk_arrival(self, slot: int, mbarrier: int, phase: int) -> None:
        """These bytes are there."""

    def on_proxy_read(self, access: Access) -> None:
        """TMA or the tensor cores are told to read shared memory."""

    def on_load(self, touched: Touched, owners: np.ndarray) -> None:
        """owners: the number + 1 of each piece's block that accesses global memory."""

    def on_store(self, touched: Touched, owners: np.ndarray, again: np.ndarray) -> None:
        """again: of each piece, whether the same block stored it last."""

    def result(self, kernel: Kernel, runs: Sequence[int]) -> Any:
        """For the report. runs: by how many warps each instruction was issued."""


MAKE: ContextVar[Callable[["Running", AsyncCopies, int, int], Listener]] = ContextVar("listener", default=Listener)


@contextmanager
def listening(make: type[Listener]) -> Iterator[None]:
    """`with listening(Counts): simulate(…)` makes a listener for each launch that is simulated meanwhile."""
    token = MAKE.set(make)
    try:
        yield
    finally:
        MAKE.reset(token)
