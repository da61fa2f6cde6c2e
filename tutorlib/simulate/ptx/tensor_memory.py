"""tcgen05: tensor memory, and tensor cores that one thread tells to multiply (PTX ISA, 9.7.16).

A multiplication happens when nothing else can, together with the commits that follow it: then its operands are read
from shared memory, its accumulators are in tensor memory, and mbarriers hear of it. Until a thread has waited for such
an mbarrier it cannot know the accumulators. Reads of earlier accumulators must be known to the thread that issues.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

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
class TensorLoad:
    """A warp's tcgen05.ld that it has not waited for. warp: its number in the batch."""

    warp: int
    slot: int
    column: int
    columns: int


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
    loads: list[TensorLoad] = field(default_factory=list)
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
        self.read = np.zeros((batch, COLUMNS, warps), np.int32)  # each warp's clock when it had waited for its reads
        self.slot, self.thread = self.geometry.slot(), self.geometry.thread()

    def restart(self, first: int) -> None:
        self.first = first
        self.queue.clear()
        self.loads.clear()
        self.allocated.clear()
        self.by_lane.clear()
        self.issued.fill(0)
        self.written.fill(0)
        self.read.fill(0)
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
        taken = np.zeros(COLUMNS, bool)
        for start, (count, _) in mine.items():
            taken[start : start + count] = True
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

    def holds(self, slot: int, column: int, columns: int) -> bool:
        return any(
            start <= column and column + columns <= start + count
            for start, (count, _) in self.allocated.get(slot, {}).items()
        )

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
    ) -> None:
        """A thread tells the tensor cores of these blocks to multiply. units: of each block's shared memory, the
        addresses of the 16 bytes each that they will read."""
        own, warp = int(self.slot[lane]), int(self.thread[lane]) // WARP
        clocks = self.races.clocks
        number = int(self.issued[list(slots)].max()) + 1
        for slot, of in zip(slots, units, strict=True):
            if not self.holds(slot, column, columns):
                self.notice_outside(site, own, warp, column, columns)
                return
            known = clocks.known[own, warp, clocks.base[slot] : clocks.base[slot] + self.geometry.warps]
            late = np.asarray((self.read[slot, column : column + columns] > known).any(0))
            if slot == own:
                late[warp] = False
            if late.any():
                self.notice_overwritten(site, own, warp, slot, int(late.argmax()))
            self.issued[slot] = number
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

    def notice_outside(self, site: int, slot: int, warp: int, column: int, columns: int) -> None:
        self.findings.notice(
            Hazard.OUTSIDE,
            site,
            lambda: Flaw(
                f"{self.who(slot, warp)} uses columns {column} to {column + columns - 1} of tensor memory, which "
                "are not allocated",
                COLUMNS_OF,
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

    # reading ------------------------------------------------------------------------------------------------------

    def load(self, site: int, warp: int, addresses: np.ndarray, registers: tuple[np.ndarray, ...]) -> None:
        """A warp, by its number in the batch, begins to read its 32 lanes. addresses: its threads', one for all.

        The registers hold the numbers at once, since compilers compute with them before the wait. That the load is over
        only the wait tells.
        """
        slot, number = divmod(warp, self.geometry.warps)
        lane, column = column_of(int(addresses[0]))
        if wrong := self.wrong_lanes(lane, number % 4 * QUARTER, bool((addresses == addresses[0]).all())):
            self.findings.notice(
                Hazard.OUTSIDE,
                site,
                lambda: Flaw(f"{self.who(slot, number)} {wrong}", Hazard.OUTSIDE(tensor="lanes")),
            )
            return
        if not self.holds(slot, column, len(registers)):
            self.notice_outside(site, slot, number, column, len(registers))
            return
        clocks = self.races.clocks
        where = slice(column, column + len(registers))
        cores = int(clocks.agents.tensor_cores(np.array(0)))
        unknown = self.written[slot, where] > clocks.known[slot, number, clocks.base[slot] + cores]
        if unknown.any():
            told = int(self.write_site[slot, column + int(unknown.argmax())])
            self.findings.notice(
                Hazard.UNWAITED,
                site,
                lambda: Flaw(
                    f"{self.who(slot, number)} reads accumulators that the tcgen05.mma at {self.show(told)} may "
                    "still be adding to: it has waited for no mbarrier to which that was committed",
                    Hazard.UNWAITED(lacks="commit", by="tcgen05"),
                ),
                apart=told,
            )
        if not self.written[slot, where].all():
            self.findings.notice(
                Hazard.UNWRITTEN,
                site,
                lambda: f"{self.who(slot, number)} reads tensor memory to which no tcgen05.mma has been issued yet",
            )
        self.read[slot, where, number] = UNAWAITED
        assert self.values is not None
        held = self.values[slot, lane : lane + QUARTER].view(np.uint32)
        for at, register in enumerate(registers, column):
            register[warp * WARP : (warp + 1) * WARP] = held[:, at]
        self.loads.append(TensorLoad(warp, slot, column, len(registers)))

    def wrong_lanes(self, lane: int, own: int, alike: bool) -> str:
        """Why a warp whose own lanes begin at `own` cannot read from `lane` on. alike: its threads name one address."""
        if not alike:
            return "names another address in each thread; tcgen05.ld takes one for the warp"
        return f"reads lanes from {lane} on; its own begin at {own}" if lane != own else ""

    def wait(self, warps: np.ndarray) -> None:
        """These warps' loads are over."""
        waited, self.loads = ([load for load in self.loads if (load.warp in warps) is over] for over in (True, False))
        for load in waited:
            number = load.warp % self.geometry.warps
            self.read[load.slot, load.column : load.column + load.columns, number] = self.races.clocks.now[
                load.slot, number
            ]

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
