"""tcgen05: tensor memory, and tensor cores that one thread tells to multiply, or to copy (PTX ISA, 9.7.16).

A multiplication (tcgen05.mma) or a copy out of shared memory (tcgen05.cp) happens when nothing else can, in the order
of issue and together with the commits that follow it: then its operands are read from shared memory, its results are in
tensor memory, and mbarriers hear of it. Until a thread has waited for such an mbarrier it cannot know the results.
Reads of earlier results must be known to the thread that issues.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Literal

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.clocks import Seen
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.geometry import WARP, Geometry
from tutorlib.simulate.ptx.mbarriers import Mbarriers, MbarrierState
from tutorlib.simulate.ptx.memory.access import SharedAccess
from tutorlib.simulate.ptx.memory.matrix_descriptors import UNIT
from tutorlib.simulate.ptx.shared_shadow import SharedShadow

LANES, COLUMNS, LEAST = 128, 512, 32
QUARTER, HALF = 32, 16  # lanes that a warp may read, and half of them
POISON = np.float32(np.nan)  # in columns never written
UNAWAITED = np.int32(2**31 - 1)  # in place of a warp's clock: its tcgen05.ld may be in flight
LANE_BITS = 16  # of an address: the column below, the lane above
COLUMNS_OF = Hazard.OUTSIDE(tensor="tensor memory")
READS = "reads tensor memory"
Products = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]
Unit = Literal["tcgen05.mma", "tcgen05.cp"]


def column_of(address: int) -> tuple[int, int]:
    """(lane, column)"""
    return address >> LANE_BITS, address & (1 << LANE_BITS) - 1


@dataclass(frozen=True)
class Fragment:
    """A place in tensor memory for each element of an array, which has the shape of lanes and columns.

    strips: what of tensor memory that is, in sixteen lanes of each quarter, the lower or the upper: 2 · column + upper.
    """

    lanes: np.ndarray
    columns: np.ndarray
    strips: np.ndarray

    def at(self, lane: int, column: int) -> "Fragment":
        """From there on."""
        return Fragment(self.lanes + lane, self.columns + column, self.strips + 2 * column + lane % QUARTER // HALF)


def fragment_of(lanes: np.ndarray, columns: np.ndarray) -> Fragment:
    return Fragment(lanes, columns, np.unique(2 * columns + lanes % QUARTER // HALF))


def strips_of(start: int, columns: int) -> np.ndarray:
    """Of whole columns."""
    return np.arange(2 * start, 2 * (start + columns))


@cache
def matrix_fragment(rows: int, columns: int, halves: bool) -> Fragment:
    """Where a block's rows of a matrix lie: (rows, columns) in 32 bits each (PTX ISA, 9.7.16.10.5).

    Rows that do not fill the lanes leave room for the other columns beside them: one half of the columns, or one
    quarter. With halves, 64 rows take sixteen lanes of each quarter instead.
    """
    row, column = np.indices((rows, columns))
    if halves:
        return fragment_of(row + row // HALF * HALF, column)
    wide = columns * rows // LANES
    return fragment_of(row + column // wide * rows, column % wide)


@cache
def copy_fragment(shape: str, multicast: str) -> tuple[np.ndarray, Fragment]:
    """What a tcgen05.cp takes where, by the parts of its name: a row of shared memory for each lane that it fills, and
    the places of these rows in 32 bits each (PTX ISA, 9.7.16.8.2)."""
    count, bits = (int(size) for size in shape.removesuffix("b").split("x"))
    rows, lanes = np.arange(count), np.arange(LANES)
    source = {
        "": rows,
        "warpx4": lanes % QUARTER,
        "warpx2::02_13": lanes % (2 * QUARTER),
        "warpx2::01_23": lanes // (2 * QUARTER) * QUARTER + lanes % QUARTER,
    }[multicast]
    lanes = lanes if len(source) == LANES else rows * QUARTER  # of 4 rows each is for a quarter
    return source, fragment_of(*np.broadcast_arrays(lanes[:, None], np.arange(bits // 32)))


@dataclass(frozen=True)
class TensorWork:
    """One tcgen05.mma or tcgen05.cp. slots: the blocks whose tensor memory it fills, in order. into: where, in each.

    adds: whether to what is there. does: takes what is there, of each block, gives what then is.
    """

    slots: tuple[int, ...]
    into: Fragment
    adds: bool
    does: Products


@dataclass(frozen=True)
class TensorCommit:
    """One tcgen05.commit of a lane: the mbarriers that hear when what it issued before is over.

    numbers: of each block, how many multiplications those are. knew: what the thread's warp knew then, in whose order
    the multiplications come.
    """

    site: int
    mbarriers: tuple[MbarrierState, ...]
    numbers: dict[int, int]
    knew: Seen


@cache
def fragment(shape: str, times: int, second: int = 0) -> Fragment:
    """Where a tcgen05.ld or .st has what (PTX ISA, 9.7.16.2.3): (threads, registers). shape: "32x32b".

    times: of .xN. second: of 16x32bx2, the column of the upper sixteen threads. Raises KeyError for shapes that do not
    exist.
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
    return fragment_of(lanes, columns)


@dataclass(frozen=True)
class TensorAccess:
    """A warp's tcgen05.ld or, if it stores, .st that it has not waited for. warp: its number in the batch."""

    warp: int
    slot: int
    strips: np.ndarray
    stores: bool


@dataclass
class TensorMemory:
    """values: what it holds, (slots, lanes, columns); None where the kernel has none."""

    geometry: Geometry
    races: SharedShadow
    mbarriers: Mbarriers
    findings: Findings
    show: Callable[[int], str]
    queue: list[TensorWork | TensorCommit] = field(default_factory=list)
    open: list[TensorAccess] = field(default_factory=list)
    allocated: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)  # slot → start → (columns, site)

    def __post_init__(self) -> None:
        batch, warps = self.geometry.batch, self.geometry.warps
        self.values = (
            np.full((batch, LANES, COLUMNS), POISON, np.float32) if self.races.clocks.agents.warpgroups else None
        )
        self.issued = np.zeros(batch, np.int32)  # multiplications and copies into each block's tensor memory
        self.by_lane: dict[int, dict[int, int]] = {}  # lane → slot → the number of its last
        strips = 2 * COLUMNS
        self.written = np.zeros((batch, strips), np.int32)  # the number of the last that fills a strip
        self.write_site = np.zeros((batch, strips), np.int32)
        self.used = np.zeros((batch, strips), np.int32)  # and of the last that takes A or scales from a strip
        # Each warp's clock when it had waited for its reads of a strip, or ran the fence behind, and for its stores.
        self.read, self.stored = (np.zeros((batch, strips, warps), np.int32) for _ in range(2))
        self.unfenced = np.zeros((batch, strips, warps), bool)  # reads that no fence follows
        self.copies: set[int] = set()  # the sites of tcgen05.cp
        self.slot, self.thread = self.geometry.slot(), self.geometry.thread()
        self.relinquished: set[int] = set()  # slots

    def restart(self) -> None:
        self.relinquished.clear()
        self.queue.clear()
        self.open.clear()
        self.allocated.clear()
        self.by_lane.clear()
        self.issued.fill(0)
        for record in (self.written, self.used, self.read, self.stored, self.unfenced):
            record.fill(0)
        if self.values is not None:
            self.values.fill(POISON)

    def who(self, slot: int, warp: int) -> str:
        return self.geometry.show_warp(slot * self.geometry.warps + warp)

    # room ---------------------------------------------------------------------------------------------------------

    def allocate(self, site: int, slot: int, warp: int, columns: int) -> int:
        """First of `columns` free columns, the last ones: an answer that takes column 0 for granted is found out.

        0 and a finding where the block cannot allocate.
        """
        mine = self.allocated.setdefault(slot, {})
        if columns not in (32, 64, 128, 256, 512):
            self.findings.notice(
                COLUMNS_OF,
                site,
                lambda: f"{self.who(slot, warp)} allocates {columns} columns: a power of two, 32 to 512, can be",
            )
            return 0
        if slot in self.relinquished:
            self.findings.notice(
                COLUMNS_OF,
                site,
                lambda: f"{self.who(slot, warp)} allocates, and its block has given up its right to allocate",
            )
        taken = self.taken(slot)
        for start in reversed(range(0, COLUMNS, columns)):
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
                COLUMNS_OF,
                site,
                lambda: (
                    f"{self.who(slot, warp)} frees {columns} columns from {start} on, which are not what was allocated"
                ),
            )
            return
        late = self.read[slot, strips_of(start, columns)].max(0) > self.over(self.lane_of(slot, warp), slot)
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

    def holds(self, slot: int, strips: np.ndarray) -> bool:
        return int(strips.max()) < 2 * COLUMNS and bool(self.taken(slot)[strips // 2].all())

    # multiplying and copying -----------------------------------------------------------------------------------------

    def issue(
        self,
        site: int,
        lane: int,
        work: TensorWork,
        units: Sequence[np.ndarray],
        uses: np.ndarray,
        by: Unit = "tcgen05.mma",
    ) -> None:
        """A thread tells the tensor cores of these blocks to work. units: of each block's shared memory, the addresses
        of the 16 bytes each that they will read. uses: the strips of tensor memory that A and scales are read from."""
        own, warp = int(self.slot[lane]), int(self.thread[lane]) // WARP
        clocks = self.races.clocks
        number = int(self.issued[list(work.slots)].max()) + 1
        strips = work.into.strips
        touched = np.union1d(strips, uses)
        for slot, of in zip(work.slots, units, strict=True):
            if not self.holds(slot, touched):
                self.notice_outside(site, own, warp, touched)
                return
            unfenced = self.unfenced[slot, strips].any(0)
            late = np.asarray((self.read[slot, strips] > self.over(lane, slot)).any(0)) | unfenced
            if slot == own:
                late[warp] = False
            if late.any():
                reader = int(late.argmax())
                self.notice_overwritten(site, own, warp, slot, reader, by, bool(unfenced[reader]))
            self.look_for_stores(site, lane, slot, touched, f"lets {by} use tensor memory")
            if not self.filled(slot, uses).all():
                self.notice_unwritten(site, own, warp, f"lets {by} read tensor memory that nothing has filled")
            self.issued[slot] = number
            self.used[slot, uses] = number
            self.written[slot, strips] = number
            self.write_site[slot, strips] = site
            self.by_lane.setdefault(lane, {})[slot] = number
            count = of.size
            access = SharedAccess(
                site, np.full(count, lane), of.reshape(-1), UNIT, np.full(count, slot),
                agent="tcgen05.cp" if by == "tcgen05.cp" else "tcgen05",
            )  # fmt: skip
            cores = np.full(count, int(clocks.agents.tensor_cores(np.array(0))))
            self.races.on_proxy_read(access, cores, np.full(count, number))
        if by == "tcgen05.cp":
            self.copies.add(site)
        self.queue.append(work)

    def filled(self, slot: int, strips: np.ndarray) -> np.ndarray:
        """Which strips something has been issued or stored to."""
        return np.asarray(self.written[slot, strips].astype(bool) | self.stored[slot, strips].any(-1))

    def notice_unwritten(self, site: int, slot: int, warp: int, does: str) -> None:
        self.findings.notice(Hazard.UNWRITTEN, site, lambda: f"{self.who(slot, warp)} {does}")

    def notice_outside(self, site: int, slot: int, warp: int, strips: np.ndarray) -> None:
        self.findings.notice(
            COLUMNS_OF,
            site,
            lambda: (
                f"{self.who(slot, warp)} uses columns {strips.min() // 2} to {strips.max() // 2} of tensor memory, "
                "which are not allocated"
            ),
        )

    def over(self, lane: int, slot: int) -> np.ndarray:
        """How many steps of each of a block's warps a thread knows of. tcgen05.ld, .st and their waits are a whole
        warp's, so that one of its threads tells of them all."""
        clocks, warps = self.races.clocks, self.geometry.warps
        known = clocks.known.values[clocks.known.row[lane]][clocks.base[slot] :][: clocks.agents.width]
        by_thread = known[clocks.agents.first_thread :].reshape(warps, WARP).max(1)
        return np.maximum(known[:warps], by_thread)

    def lane_of(self, slot: int, warp: int) -> int:
        """The thread of a warp that knows least."""
        first = (slot * self.geometry.warps + warp) * WARP
        return int(self.races.clocks.least(first + np.arange(WARP)[None])[0])

    def look_for_stores(self, site: int, lane: int, slot: int, strips: np.ndarray, does: str) -> None:
        """A finding if a block's warps may still be storing to these strips, which a lane uses."""
        by = own, warp = int(self.slot[lane]), int(self.thread[lane]) // WARP
        stored = self.stored[slot, strips]
        late = (stored > self.over(lane, slot)).any(0)
        if slot == own:
            late[warp] = (stored[:, warp] == UNAWAITED).any()
            if does == READS:  # its own lanes, which warps of other quarters cannot store to
                late[np.arange(len(late)) % 4 != warp % 4] = False
        if not late.any():
            return
        other = int(late.argmax())
        if (slot, other) == by:
            self.findings.notice(
                Hazard.UNWAITED(by="tcgen05"),
                site,
                lambda: (
                    f"{self.who(*by)} {does} to which its tcgen05.st may still be storing: no tcgen05.wait::st lies "
                    "between"
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

    def notice_overwritten(
        self, site: int, slot: int, warp: int, of: int, reader: int, by: Unit, unfenced: bool
    ) -> None:
        what = "what" if by == "tcgen05.cp" else "accumulators that"
        lacks = "tcgen05.fence::before_thread_sync" if unfenced else "mbarrier"
        self.findings.notice(
            Hazard.RACE,
            site,
            lambda: (
                f"{self.who(slot, warp)} lets {by} write over {what} {self.who(of, reader)} may still be reading: no "
                f"{lacks} lies between"
            ),
        )

    def commit(self, site: int, lane: int, mbarriers: Sequence[MbarrierState]) -> None:
        knew = self.races.clocks.known.values[self.races.clocks.known.row[lane]]
        self.queue.append(TensorCommit(site, tuple(mbarriers), dict(self.by_lane.get(lane, {})), Seen(knew.copy())))

    def deliver(self) -> bool:
        """Carry out all multiplications and copies that were issued, and the last commit. Whether there was anything.

        The other commits follow when nothing else can happen: no order is promised among arrivals at different
        mbarriers.
        """
        queue, self.queue = self.queue, []
        commits = [event for event in queue if isinstance(event, TensorCommit)]
        for event in queue:
            if isinstance(event, TensorWork):
                self.carry_out(event)
        if commits:
            self.queue = list(commits[:-1])
            self.tell(commits[-1])
        return bool(queue)

    def carry_out(self, work: TensorWork) -> None:
        assert self.values is not None
        into = work.into
        before = [
            self.values[slot, into.lanes, into.columns] if work.adds else np.zeros(into.lanes.shape, np.float32)
            for slot in work.slots
        ]
        for slot, results in zip(work.slots, work.does(before), strict=True):
            self.values[slot, into.lanes, into.columns] = results

    def tell(self, commit: TensorCommit) -> None:
        clocks = self.races.clocks
        cores = int(clocks.agents.tensor_cores(np.array(0)))
        for mbarrier in commit.mbarriers:
            if self.mbarriers.ended[mbarrier.place[0]]:
                self.findings.notice(
                    Hazard.UNWAITED(lacks="end", by="tcgen05"),
                    commit.site,
                    lambda: "a commit may arrive at an mbarrier of a block that has ended: no thread waits for it",
                )
                continue
            vector = commit.knew.vector.copy()
            for slot, number in commit.numbers.items():
                vector[clocks.base[slot] + cores] = number
            seen = replace(commit.knew, vector=vector)
            self.mbarriers.arrive_later(commit.site, mbarrier, seen)

    # the warps' own accesses ----------------------------------------------------------------------------------------

    def begin(
        self, site: int, warp: int, addresses: np.ndarray, where: Fragment, stores: bool
    ) -> tuple[int, Fragment] | None:
        """A warp, by its number in the batch, begins to read or store. addresses: its threads', one for all.

        The slot, and where its threads' registers lie; None and a finding where it cannot. A warp that names other
        lanes than its own gets at its own.
        """
        slot, number = divmod(warp, self.geometry.warps)
        lane, column = column_of(int(addresses[0]))
        own, does = number % 4 * QUARTER, "stores to" if stores else "reads"
        wrong = ""
        if not (addresses == addresses[0]).all():
            wrong = f"names another address in each thread; tcgen05.{'st' if stores else 'ld'} takes one for the warp"
        elif lane < own or lane + where.lanes.max() >= own + QUARTER:
            wrong = f"{does} lanes from {lane} on; its own begin at {own}"
            lane = own + min(lane % QUARTER, QUARTER - 1 - int(where.lanes.max()))
        if wrong:
            self.findings.notice(Hazard.OUTSIDE(tensor="lanes"), site, lambda: f"{self.who(slot, number)} {wrong}")
        if not (addresses == addresses[0]).all():
            return None
        there = where.at(lane, column)
        if not self.holds(slot, there.strips):
            self.notice_outside(site, slot, number, there.strips)
            return None
        self.look_for_work(site, slot, number, there.strips, stores)
        if not stores:
            self.look_for_stores(site, self.lane_of(slot, number), slot, there.strips, READS)
        (self.stored if stores else self.read)[slot, there.strips, number] = UNAWAITED
        self.open.append(TensorAccess(warp, slot, there.strips, stores))
        return slot, there

    def look_for_work(self, site: int, slot: int, number: int, strips: np.ndarray, stores: bool) -> None:
        """A finding if multiplications or copies may still use strips that a warp reads or stores to."""
        clocks = self.races.clocks
        cores = int(clocks.agents.tensor_cores(np.array(0)))
        over = clocks.over(np.array([self.lane_of(slot, number)]), clocks.base[slot] + cores)[0]
        unknown = self.written[slot, strips] > over
        if unknown.any():
            told = int(self.write_site[slot, strips[unknown.argmax()]])
            does, copies = "stores over" if stores else "reads", told in self.copies
            what, adds = ("what", "copying") if copies else ("accumulators that", "adding to")
            by = "tcgen05.cp" if copies else "tcgen05.mma"
            self.findings.notice(
                Hazard.UNWAITED(lacks="commit", by="tcgen05"),
                site,
                lambda: (
                    f"{self.who(slot, number)} {does} {what} the {by} at {self.show(told)} may still be {adds}: it has "
                    "waited for no mbarrier to which that was committed"
                ),
                apart=told,
            )
        elif stores and (self.used[slot, strips] > over).any():
            self.findings.notice(
                Hazard.UNWAITED(lacks="commit", by="tcgen05"),
                site,
                lambda: (
                    f"{self.who(slot, number)} stores over an A that a tcgen05.mma may still be reading: it has waited "
                    "for no mbarrier to which that was committed"
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
        slot, there = begun
        if not self.filled(slot, there.strips).all():
            what = "reads tensor memory to which no tcgen05.mma has been issued yet"
            self.notice_unwritten(site, slot, warp % self.geometry.warps, what)
        assert self.values is not None
        held = self.values[slot].view(np.uint32)[there.lanes, there.columns]
        for at, register in enumerate(registers):
            register[warp * WARP : (warp + 1) * WARP] = held[:, at]

    def store(
        self, site: int, warp: int, addresses: np.ndarray, registers: Sequence[np.ndarray], where: Fragment
    ) -> None:
        """A warp begins to store its part of these registers, which tensor memory has at once."""
        if (begun := self.begin(site, warp, addresses, where, True)) is None:
            return
        slot, there = begun
        assert self.values is not None
        mine = slice(warp * WARP, (warp + 1) * WARP)
        held = self.values[slot].view(np.uint32)
        for at, register in enumerate(registers):
            held[there.lanes[:, at], there.columns[:, at]] = register[mine]

    def wait(self, warps: np.ndarray, stores: bool) -> None:
        """These warps' loads are over, or their stores."""
        waited, self.open = (
            [one for one in self.open if (one.stores is stores and one.warp in warps) is over] for over in (True, False)
        )
        for one in waited:
            record = self.stored if stores else self.read
            at = one.slot, one.strips, one.warp % self.geometry.warps
            record[at] = self.races.clocks.now[one.warp]
            self.unfenced[at] |= not stores

    def fence(self, warps: np.ndarray) -> None:
        """tcgen05.fence::before_thread_sync of these warps, without which no barrier orders what they have read before
        what others let the tensor cores write (PTX ISA, 9.7.16.6.4)."""
        slots, numbers = np.divmod(warps, self.geometry.warps)
        held, now = self.read[slots, :, numbers], self.races.clocks.now[warps, None]  # (warps, strips)
        self.read[slots, :, numbers] = np.where(self.unfenced[slots, :, numbers], now, held)
        self.unfenced[slots, :, numbers] = False

    def leave(self, slot: int) -> None:
        """All threads of a block have ended."""
        for start, (columns, site) in self.allocated.get(slot, {}).items():
            says = (
                f"block {self.geometry.show_slot(slot)} ends with {columns} columns of tensor memory that were never "
                "freed: the next block on its SM waits for them forever"
            )
            self.findings.notice(Hazard.UNWAITED(lacks="free", by="tcgen05"), site, partial(str, says), apart=start)
