"""tcgen05: tensor memory, and tensor cores that one thread tells to multiply (PTX ISA, 9.7.16).

A multiplication happens when nothing else can, together with the commits that follow it: then its operands are read
from shared memory, its accumulators are in tensor memory, and mbarriers hear of it. Until a thread has waited for such
an mbarrier it cannot know the accumulators. Reads of earlier accumulators must be known to the thread that issues.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from tutorlib.failure import Flaw, Hazard
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.geometry import WARP, Geometry
from tutorlib.simulate.ptx.mbarriers import Mbarriers, MbarrierState
from tutorlib.simulate.ptx.memory.access import SharedAccess
from tutorlib.simulate.ptx.memory.matrix_descriptors import UNIT
from tutorlib.simulate.ptx.races import SharedRaces

LANES, COLUMNS, LEAST = 128, 512, 32
QUARTER = 32  # lanes that a warp may read
POISON = np.float32(np.nan)  # in columns never written
UNAWAITED = np.int32(2**31 - 1)  # in place of a warp's clock: its tcgen05.ld may be in flight
LANE_BITS = 16  # of an address: the column below, the lane above
COLUMNS_OF = Hazard.OUTSIDE(tensor="tensor memory")
READS = "reads tensor memory"
SumProducts = Callable[[Sequence[np.ndarray]], list[np.ndarray]]


def column_of(address: int) -> tuple[int, int]:
    """(lane, column)"""
    return address >> LANE_BITS, address & (1 << LANE_BITS) - 1


@dataclass(frozen=True)
class TensorProduct:
    """One tcgen05.mma. lane: whose thread issued it. slots: the blocks whose tensor memory it adds to, in order.

    column, columns: of the accumulators, in each. adds: whether to what is there. multiply: takes what is there, for
    each block, gives the accumulators. number: among those that add to these blocks' tensor memory.
    """

    site: int
    lane: int
    slots: tuple[int, ...]
    column: int
    columns: int
    adds: bool
    multiply: SumProducts
    number: int


@dataclass(frozen=True)
class TensorCommit:
    """One tcgen05.commit of a lane: the mbarriers that hear when what it issued before is over.

    numbers: of each block, how many multiplications those are. knew: what the thread's warp knew then, in whose order
    the multiplications come.
    """

    site: int
    mbarriers: tuple[MbarrierState, ...]
    numbers: dict[int, int]
    knew: np.ndarray


@dataclass(frozen=True)
class Fragment:
    """Where a tcgen05.ld or .st has what (PTX ISA, 9.7.16.2.3): (threads, registers), from the address on."""

    lanes: np.ndarray
    columns: np.ndarray


@cache
def fragment(shape: str, times: int, second: int = 0) -> Fragment:
    """shape: "32x32b". times: of .xN. second: of 16x32bx2, the column of the upper sixteen threads.

    Raises KeyError for shapes that do not exist.
    """
    across = {"32x32b": 1, "16x32bx2": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4}[shape]  # registers
    thread, register = np.indices((WARP, across * times))
    repeat, number = register // across, register % across
    lanes, columns = {
        "32x32b": (thread, register),
        "16x32bx2": (thread % 16, thread // 16 * second + register),
        "16x64b": (thread % 2 * 8 + thread // 4, thread // 2 % 2 + 2 * repeat),
        "16x128b": (number * 8 + thread // 4, thread % 4 + 4 * repeat),
        "16x256b": (number // 2 * 8 + thread // 4, thread % 4 * 2 + number % 2 + 8 * repeat),
    }[shape]
    return Fragment(lanes, columns)


@dataclass(frozen=True)
class TensorAccess:
    """A warp's tcgen05.ld or, if it stores, .st that it has not waited for. warp: its number in the batch."""

    warp: int
    slot: int
    columns: np.ndarray
    stores: bool


@dataclass
class TensorMemory:
    """first: the place of the batch's first block. used: whether the kernel has tensor memory at all."""

    geometry: Geometry
    races: SharedRaces
    mbarriers: Mbarriers
    findings: Findings
    show: Callable[[int], str]
    first: int = 0
    queue: list[TensorProduct | TensorCommit] = field(default_factory=list)
    open: list[TensorAccess] = field(default_factory=list)
    allocated: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)  # slot → start → (columns, site)

    def __post_init__(self) -> None:
        batch, warps = self.geometry.batch, self.geometry.warps
        self.values = (
            np.full((batch, LANES, COLUMNS), POISON, np.float32) if self.races.clocks.agents.warpgroups else None
        )
        self.issued = np.zeros(batch, np.int32)  # multiplications into each block's tensor memory
        self.by_lane: dict[int, dict[int, int]] = {}  # lane → slot → the number of its last
        self.written = np.zeros((batch, COLUMNS), np.int32)  # the number of the last multiplication into a column
        self.write_site = np.zeros((batch, COLUMNS), np.int32)
        self.used = np.zeros((batch, COLUMNS), np.int32)  # and of the last that takes A from a column
        # Each warp's clock when it had waited for its reads of a column, and for its stores to it.
        self.read, self.stored = (np.zeros((batch, COLUMNS, warps), np.int32) for _ in range(2))
        self.slot, self.thread = self.geometry.slot(), self.geometry.thread()

    def restart(self, first: int) -> None:
        self.first = first
        self.queue.clear()
        self.open.clear()
        self.allocated.clear()
        self.by_lane.clear()
        self.issued.fill(0)
        for record in (self.written, self.used, self.read, self.stored):
            record.fill(0)
        if self.values is not None:
            self.values.fill(POISON)

    def who(self, slot: int, warp: int) -> str:
        return f"warp {warp} of block {self.geometry.show_block(self.first + slot)}"

    # room ---------------------------------------------------------------------------------------------------------

    def allocate(self, site: int, slot: int, warp: int, columns: int) -> int:
        """First of `columns` free columns; 0 and a finding if none are free."""
        mine = self.allocated.setdefault(slot, {})
        if columns not in (32, 64, 128, 256, 512):
            self.findings.notice(
                Hazard.OUTSIDE,
                site,
                lambda: Flaw(
                    f"{self.who(slot, warp)} allocates {columns} columns: a power of two, 32 to 512, can be", COLUMNS_OF
                ),
            )
            return 0
        taken = self.taken(slot)
        for start in range(0, COLUMNS, columns):
            if not taken[start : start + columns].any():
                mine[start] = columns, site
                return start
        self.findings.notice(
            Hazard.DEADLOCK,
            site,
            lambda: f"{self.who(slot, warp)} waits forever: {columns} columns of tensor memory are not left",
        )
        return 0

    def free(self, site: int, slot: int, warp: int, start: int, columns: int) -> None:
        mine = self.allocated.get(slot, {})
        if start not in mine or mine[start][0] != columns:
            self.findings.notice(
                Hazard.OUTSIDE,
                site,
                lambda: Flaw(
                    f"{self.who(slot, warp)} frees {columns} columns from {start} on, which are not what was allocated",
                    COLUMNS_OF,
                ),
            )
            return
        clocks = self.races.clocks
        known = clocks.known[slot, warp]
        late = (
            self.read[slot, start : start + columns].max(0)
            > known[clocks.base[slot] : clocks.base[slot] + self.geometry.warps]
        )
        late[warp] = False
        if late.any():
            other = int(late.argmax())
            self.findings.notice(
                Hazard.RACE,
                site,
                lambda: (
                    f"{self.who(slot, warp)} frees tensor memory that {self.who(slot, other)} may still be reading: no "
                    "barrier lies between"
                ),
            )
        del mine[start]

    def taken(self, slot: int) -> np.ndarray:
        """Which columns of a block are allocated."""
        taken = np.zeros(COLUMNS, bool)
        for start, (count, _) in self.allocated.get(slot, {}).items():
            taken[start : start + count] = True
        return taken

    def holds(self, slot: int, columns: np.ndarray) -> bool:
        return int(columns.max()) < COLUMNS and bool(self.taken(slot)[columns].all())

    # multiplying --------------------------------------------------------------------------------------------------

    def issue(
        self,
        site: int,
        lane: int,
        slots: tuple[int, ...],
        column: int,
        columns: int,
        units: Sequence[np.ndarray],
        multiply: SumProducts,
        adds: bool,
        of_a: np.ndarray,
    ) -> None:
        """A thread tells the tensor cores of these blocks to multiply. units: of each block's shared memory, the
        addresses of the 16 bytes each that they will read. of_a: the columns of tensor memory that A is read from."""
        own, warp = int(self.slot[lane]), int(self.thread[lane]) // WARP
        clocks = self.races.clocks
        number = int(self.issued[list(slots)].max()) + 1
        touched = np.union1d(np.arange(column, column + columns), of_a)
        for slot, of in zip(slots, units, strict=True):
            if not self.holds(slot, touched):
                self.notice_outside(site, own, warp, touched)
                return
            known = clocks.known[own, warp, clocks.base[slot] : clocks.base[slot] + self.geometry.warps]
            late = np.asarray((self.read[slot, column : column + columns] > known).any(0))
            if slot == own:
                late[warp] = False
            if late.any():
                self.notice_overwritten(site, own, warp, slot, int(late.argmax()))
            self.look_for_stores(site, (own, warp), slot, touched, "lets tcgen05.mma use tensor memory")
            self.issued[slot] = number
            self.used[slot, of_a] = number
            self.written[slot, column : column + columns] = number
            self.write_site[slot, column : column + columns] = site
            self.by_lane.setdefault(lane, {})[slot] = number
            count = of.size
            access = SharedAccess(
                site, np.full(count, slot), np.full(count, warp * WARP), of.reshape(-1), UNIT,
                np.full(count, own), agent="tcgen05",
            )  # fmt: skip
            cores = np.full(count, int(clocks.agents.tensor_cores(np.array(0))))
            self.races.on_proxy_read(access, cores, np.full(count, number))
        self.queue.append(TensorProduct(site, lane, slots, column, columns, adds, multiply, number))

    def notice_outside(self, site: int, slot: int, warp: int, columns: np.ndarray) -> None:
        self.findings.notice(
            Hazard.OUTSIDE,
            site,
            lambda: Flaw(
                f"{self.who(slot, warp)} uses columns {columns.min()} to {columns.max()} of tensor memory, which "
                "are not allocated",
                COLUMNS_OF,
            ),
        )

    def look_for_stores(self, site: int, by: tuple[int, int], slot: int, columns: np.ndarray, does: str) -> None:
        """A finding if a block's warps may still be storing to these columns. by: slot and warp that use them."""
        own, warp = by
        clocks = self.races.clocks
        stored = self.stored[slot, columns]
        late = (stored > clocks.known[own, warp, clocks.base[slot] : clocks.base[slot] + self.geometry.warps]).any(0)
        if slot == own:
            late[warp] = (stored[:, warp] == UNAWAITED).any()
            if does == READS:  # its own lanes, which warps of other quarters cannot store to
                late[np.arange(len(late)) % 4 != warp % 4] = False
        if not late.any():
            return
        other = int(late.argmax())
        if (slot, other) == by:
            self.findings.notice(
                Hazard.UNWAITED,
                site,
                lambda: Flaw(
                    f"{self.who(*by)} {does} to which its tcgen05.st may still be storing: no tcgen05.wait::st lies "
                    "between",
                    Hazard.UNWAITED(by="tcgen05"),
                ),
            )
            return
        self.findings.notice(
            Hazard.RACE,
            site,
            lambda: (
                f"{self.who(*by)} {does} to which {self.who(slot, other)} may still be storing: no barrier lies between"
            ),
        )

    def notice_overwritten(self, site: int, slot: int, warp: int, of: int, reader: int) -> None:
        self.findings.notice(
            Hazard.RACE,
            site,
            lambda: (
                f"{self.who(slot, warp)} lets tcgen05.mma write over accumulators that {self.who(of, reader)} may "
                "still be reading: no mbarrier lies between"
            ),
        )

    def commit(self, site: int, lane: int, mbarriers: Sequence[MbarrierState]) -> None:
        knew = self.races.clocks.known[int(self.slot[lane]), int(self.thread[lane]) // WARP].copy()
        self.queue.append(TensorCommit(site, tuple(mbarriers), dict(self.by_lane.get(lane, {})), knew))

    def deliver(self) -> bool:
        """Carry out all multiplications that were issued, and the last commit. Whether there was anything.

        The other commits follow when nothing else can happen: no order is promised among arrivals at different
        mbarriers.
        """
        queue, self.queue = self.queue, []
        commits = [event for event in queue if isinstance(event, TensorCommit)]
        for event in queue:
            if isinstance(event, TensorProduct):
                self.carry_out(event)
        if commits:
            self.queue = list(commits[:-1])
            self.tell(commits[-1])
        return bool(queue)

    def carry_out(self, product: TensorProduct) -> None:
        assert self.values is not None
        where = slice(product.column, product.column + product.columns)
        before = [
            self.values[slot, :, where] if product.adds else np.zeros((LANES, product.columns), np.float32)
            for slot in product.slots
        ]
        for slot, acc in zip(product.slots, product.multiply(before), strict=True):
            self.values[slot, :, where] = acc

    def tell(self, commit: TensorCommit) -> None:
        clocks = self.races.clocks
        cores = int(clocks.agents.tensor_cores(np.array(0)))
        for mbarrier in commit.mbarriers:
            if self.mbarriers.ended[mbarrier.place[0]]:
                self.findings.notice(
                    Hazard.UNWAITED,
                    commit.site,
                    lambda: Flaw(
                        "a commit may arrive at an mbarrier of a block that has ended: no thread waits for it",
                        Hazard.UNWAITED(lacks="end", by="tcgen05"),
                    ),
                )
                continue
            seen = commit.knew.copy()
            for slot, number in commit.numbers.items():
                seen[clocks.base[slot] + cores] = number
            self.mbarriers.arrive_later(commit.site, mbarrier, seen)

    # the warps' own accesses ----------------------------------------------------------------------------------------

    def begin(
        self, site: int, warp: int, addresses: np.ndarray, where: Fragment, stores: bool
    ) -> tuple[int, np.ndarray, np.ndarray] | None:
        """A warp, by its number in the batch, begins to read or store. addresses: its threads', one for all.

        The slot, the lanes and the columns that its threads' registers are for; None and a finding where it cannot.
        """
        slot, number = divmod(warp, self.geometry.warps)
        lane, column = column_of(int(addresses[0]))
        lanes, columns = lane + where.lanes, column + where.columns
        own, does = number % 4 * QUARTER, "stores to" if stores else "reads"
        wrong = ""
        if not (addresses == addresses[0]).all():
            wrong = f"names another address in each thread; tcgen05.{'st' if stores else 'ld'} takes one for the warp"
        elif lane < own or lanes.max() >= own + QUARTER:
            wrong = f"{does} lanes from {lane} on; its own begin at {own}"
        if wrong:
            self.findings.notice(
                Hazard.OUTSIDE,
                site,
                lambda: Flaw(f"{self.who(slot, number)} {wrong}", Hazard.OUTSIDE(tensor="lanes")),
            )
            return None
        touched = np.unique(columns)
        if not self.holds(slot, touched):
            self.notice_outside(site, slot, number, touched)
            return None
        self.look_for_products(site, slot, number, touched, stores)
        if not stores:
            self.look_for_stores(site, (slot, number), slot, touched, READS)
        (self.stored if stores else self.read)[slot, touched, number] = UNAWAITED
        self.open.append(TensorAccess(warp, slot, touched, stores))
        return slot, lanes, columns

    def look_for_products(self, site: int, slot: int, number: int, columns: np.ndarray, stores: bool) -> None:
        """A finding if multiplications may still use columns that a warp reads or stores to."""
        clocks = self.races.clocks
        cores = int(clocks.agents.tensor_cores(np.array(0)))
        over = clocks.known[slot, number, clocks.base[slot] + cores]
        unknown = self.written[slot, columns] > over
        if unknown.any():
            told = int(self.write_site[slot, columns[unknown.argmax()]])
            does = "stores over accumulators" if stores else "reads accumulators"
            self.findings.notice(
                Hazard.UNWAITED,
                site,
                lambda: Flaw(
                    f"{self.who(slot, number)} {does} that the tcgen05.mma at {self.show(told)} may still be adding "
                    "to: it has waited for no mbarrier to which that was committed",
                    Hazard.UNWAITED(lacks="commit", by="tcgen05"),
                ),
                apart=told,
            )
        elif stores and (self.used[slot, columns] > over).any():
            self.findings.notice(
                Hazard.UNWAITED,
                site,
                lambda: Flaw(
                    f"{self.who(slot, number)} stores over an A that a tcgen05.mma may still be reading: it has waited "
                    "for no mbarrier to which that was committed",
                    Hazard.UNWAITED(lacks="commit", by="tcgen05"),
                ),
            )

    def load(
        self, site: int, warp: int, addresses: np.ndarray, registers: Sequence[np.ndarray], where: Fragment
    ) -> None:
        """A warp begins to read. registers: of all lanes of the batch.

        The registers hold the numbers at once, since compilers compute with them before the wait. That the load is over
        only the wait tells.
        """
        if (begun := self.begin(site, warp, addresses, where, False)) is None:
            return
        slot, lanes, columns = begun
        number = warp % self.geometry.warps
        if not (self.written[slot, columns] | self.stored[slot, columns].any(2)).all():
            self.findings.notice(
                Hazard.UNWRITTEN,
                site,
                lambda: f"{self.who(slot, number)} reads tensor memory to which no tcgen05.mma has been issued yet",
            )
        assert self.values is not None
        held = self.values[slot].view(np.uint32)[lanes, columns]
        for at, register in enumerate(registers):
            register[warp * WARP : (warp + 1) * WARP] = held[:, at]

    def store(
        self, site: int, warp: int, addresses: np.ndarray, registers: Sequence[np.ndarray], where: Fragment
    ) -> None:
        """A warp begins to store its part of these registers, which tensor memory has at once."""
        if (begun := self.begin(site, warp, addresses, where, True)) is None:
            return
        slot, lanes, columns = begun
        assert self.values is not None
        mine = slice(warp * WARP, (warp + 1) * WARP)
        held = self.values[slot].view(np.uint32)
        for at, register in enumerate(registers):
            held[lanes[:, at], columns[:, at]] = register[mine]

    def wait(self, warps: np.ndarray, stores: bool) -> None:
        """These warps' loads are over, or their stores."""
        waited, self.open = (
            [one for one in self.open if (one.stores is stores and one.warp in warps) is over] for over in (True, False)
        )
        for one in waited:
            number = one.warp % self.geometry.warps
            record = self.stored if stores else self.read
            record[one.slot, one.columns, number] = self.races.clocks.now[one.slot, number]

    def leave(self, slot: int) -> None:
        """All threads of a block have ended."""
        for start, (columns, site) in self.allocated.get(slot, {}).items():
            self.findings.notice(
                Hazard.UNWAITED,
                site,
                lambda columns=columns: Flaw(  # type: ignore[misc]
                    f"block {self.geometry.show_block(self.first + slot)} ends with {columns} columns of tensor memory "
                    "that were never freed: the next block on its SM waits for them forever",
                    Hazard.UNWAITED(lacks="free", by="tcgen05"),
                ),
                apart=start,
            )
