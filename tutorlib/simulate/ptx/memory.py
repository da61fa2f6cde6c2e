"""Generic addresses, one instruction's accesses to memory, and who may count them; global memory; shared memory with
the copies that arrive in it.

Global addresses are those of the host, below 2^47; each other space has a window above (PTX ISA, 6.4.1.1). In the
window of a cluster's shared memory the block of rank r begins at (r + 1) << PEER_BITS, and each block's own also at 0.

In global memory every tensor has a place of its own, with guard ranges between them. Addresses are the machine's own,
of one large reservation, so a pointer inside a struct of parameters means the same to a host function and to the
simulated kernel. What is never touched costs no memory.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

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


@dataclass(frozen=True)
class LaneAccess:
    """One instruction's access to memory, by its active lanes, (n,): `width` bytes each at these starts."""

    site: int
    lanes: np.ndarray
    starts: np.ndarray
    width: int


@dataclass(frozen=True)
class SharedAccess(LaneAccess):
    """starts: addresses. slots: the block in the batch whose memory it is."""

    slots: np.ndarray
    agent: Agent = "thread"

    def only(self, which: np.ndarray) -> "SharedAccess":
        return replace(self, lanes=self.lanes[which], starts=self.starts[which], slots=self.slots[which])


@dataclass(frozen=True)
class GlobalAccess(LaneAccess):
    """starts: places in the arena."""

    instruction: Instruction


@dataclass(frozen=True)
class Touched:
    """Accesses by their pieces: number and lane of each, (accesses · many,). many: pieces of one access."""

    access: LaneAccess
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


# shared memory --------------------------------------------------------------------------------------------------------

ROW_ALIGNMENT = 1024


class SharedMemory:
    """That of the blocks that run together. size: bytes that a block has, static and dynamic. stride: bytes from a
    block's row to the next."""

    def __init__(self, blocks: int, size: int) -> None:
        self.size = size
        self.stride = -(-max(size, 1) // ROW_ALIGNMENT) * ROW_ALIGNMENT
        self.bytes = np.empty(blocks * self.stride, np.uint8)
        self.clear()

    def clear(self) -> None:
        self.bytes.fill(POISON)

    def rows(self, element: int, count: int) -> np.ndarray:
        """All of it as rows of `count` unsigned numbers of `element` bytes each."""
        return self.bytes.view(f"u{element}").reshape(-1, count)


MOST_IN_FLIGHT = 2**28  # bytes


@dataclass
class Copy:
    """One cp.async that its threads have not waited for. group: for each lane, how many groups it had committed before.
    number: of the instruction, among all that were issued."""

    access: SharedAccess
    group: np.ndarray
    number: int

    def part(self, which: np.ndarray) -> "Copy":
        return Copy(self.access.only(which), self.group[which], self.number)


class AsyncCopies:
    """cp.async (PTX ISA, 9.7.9.25): a thread's copies since its last commit form a group; waiting for all but the
    newest N groups makes the older ones arrive. The bytes are in shared memory from the beginning; `SharedShadow`
    knows that they may be read only later.

    committed: how many groups each lane has committed. issued: how many instructions.
    bytes: all that were issued; bytes_in_flight: now.
    """

    def __init__(self, lanes: int, shared: SharedMemory) -> None:
        self.committed = np.zeros(lanes, np.int32)
        self.shared = shared
        self.in_flight: list[Copy] = []
        self.issued = 0
        self.bytes = self.bytes_in_flight = 0

    def restart(self) -> None:
        self.committed.fill(0)
        self.in_flight.clear()
        self.bytes_in_flight = 0

    def issue(self, access: SharedAccess) -> None:
        self.issued += 1
        self.in_flight.append(Copy(access, self.committed[access.lanes], self.issued))
        size = len(access.lanes) * access.width
        self.bytes += size
        self.bytes_in_flight += size
        if self.bytes_in_flight > MOST_IN_FLIGHT:
            raise TooManyRecords(
                f"cp.async has {self.bytes_in_flight:,} bytes in flight that no thread has waited for: choose a size "
                "with fewer steps"
            )

    def commit(self, lanes: np.ndarray | slice) -> None:
        self.committed[lanes] += 1

    def is_committed(self, site: int, lane: int) -> bool:
        """Whether a lane has committed the last copy that it issued at a site."""
        own = [one for one in self.in_flight if one.access.site == site and lane in one.access.lanes]
        return any(self.committed[lane] > one.group[one.access.lanes == lane].max() for one in own[-1:])

    def of_lanes(self, lanes: np.ndarray | slice) -> np.ndarray:
        chosen = np.zeros(len(self.committed), bool)
        chosen[lanes] = True
        return chosen

    def issued_by(self, lanes: np.ndarray) -> list[SharedAccess]:
        """These lanes' copies that are in flight."""
        chosen = self.of_lanes(lanes)
        return [copy.access.only(which) for copy in self.in_flight if (which := chosen[copy.access.lanes]).any()]

    def wait(self, lanes: np.ndarray | slice, open_groups: int) -> list[SharedAccess]:
        """These lanes' groups arrive, but for the newest `open_groups`. Gives the copies that arrived."""
        limit = np.where(self.of_lanes(lanes), self.committed - open_groups, -1)
        return self.arrive(lambda copy: copy.group < limit[copy.access.lanes])

    def finish(self, lanes: np.ndarray | slice, issued: int) -> list[SharedAccess]:
        """These lanes' copies among the first `issued` arrive, committed or not. Gives them."""
        chosen = self.of_lanes(lanes)
        return self.arrive(lambda copy: chosen[copy.access.lanes] & (copy.number <= issued))

    def arrive(self, which: Callable[[Copy], np.ndarray]) -> list[SharedAccess]:
        """which: of a copy's lanes arrive, as booleans."""
        left, arrived = [], []
        for copy in self.in_flight:
            ready = which(copy)
            if not ready.all():
                left.append(copy.part(~ready) if ready.any() else copy)
            if ready.any():
                arrived.append(copy.access.only(ready) if not ready.all() else copy.access)
        self.in_flight = left
        self.bytes_in_flight -= sum(len(access.lanes) * access.width for access in arrived)
        return arrived


# who counts ----------------------------------------------------------------------------------------------------------


class Listener:
    """For callers who count what a launch does beyond what findings need: `with listening(Counts): simulate(…)`.

    piece, pieces: bytes of global memory that are watched together, and how many there are.

    again: of each piece, whether the same warp has read it since it was written, or the same block stored it last.
    owners: the number + 1 of each piece's block that accesses it.
    """

    def __init__(self, running: "Running", copies: AsyncCopies, piece: int, pieces: int) -> None:
        pass

    def restart(self) -> None:
        """Another batch of blocks begins."""

    def on_shared_read(self, access: SharedAccess, again: np.ndarray) -> None:
        pass

    def on_load(self, touched: Touched, owners: np.ndarray) -> None:
        pass

    def on_store(self, touched: Touched, owners: np.ndarray, again: np.ndarray) -> None:
        pass

    def on_bulk_load(self, slot: int, mbarrier: int, phase: int) -> None:
        """Bytes for a block's shared memory, which this phase of an mbarrier counts."""

    def fields(self, kernel: Kernel, runs: Sequence[int], registers: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Of the report. runs: by how many warps each instruction was issued. registers: by name, after the launch."""
        return {}


MakeListener = Callable[["Running", AsyncCopies, int, int], Listener]
MAKE: ContextVar[MakeListener] = ContextVar("listener", default=Listener)


@contextmanager
def listening(make: MakeListener) -> Iterator[None]:
    """One listener for each launch that is simulated meanwhile."""
    token = MAKE.set(make)
    try:
        yield
    finally:
        MAKE.reset(token)
