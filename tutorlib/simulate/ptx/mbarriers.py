"""mbarriers: objects in shared memory that count arrivals and bytes, phase by phase (PTX ISA, 9.7.13.15).

A phase is over when as many have arrived as the mbarrier was made for, and as many bytes have come as were announced.
Who waits for it then knows what those knew who arrived, and that the bytes are there.
"""

from dataclasses import dataclass, field

import numpy as np

from tutorlib.dsl.failure import Flaw, Hazard
from tutorlib.simulate.ptx.clocks import ASYNC_PROXY, CTA, MBARRIER_INIT, Seen
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.meetings import Meeting, Waiting, by_key, lanes_of
from tutorlib.simulate.ptx.types import Array

MOST = 64  # of a block
IMPATIENT = 2  # times that all threads who wait give up in vain, before they count as stuck
SharedPlace = tuple[int, int]  # a block in the batch, and the address in its shared memory


@dataclass
class MbarrierState:
    """phase: how many are over. pending: arrivals that the next one lacks; missing: bytes.

    number: among the block's mbarriers. site, maker, made: where it was made, by which lane, at what clock.
    announced: the bytes of this phase, and where the last of them were announced.
    seen: what those know who have arrived; over: what they knew when the last phase was over.
    covers: the blocks whose shared memory got the bytes that it counted.
    asynchronous: whether what is no thread ever arrives: bytes, a product's commit.
    arrived: the phase in which each lane arrived last.
    """

    place: SharedPlace
    number: int
    expected: int
    site: int
    maker: int
    made: int
    seen: Seen
    over: Seen
    pending: int = 0
    missing: int = 0
    phase: int = 0
    announced: int = 0
    announced_at: int = -1
    covers: set[int] = field(default_factory=set)
    arrived: dict[int, int] = field(default_factory=dict)
    asynchronous: bool = False


@dataclass(frozen=True)
class WaitingForPhase(Waiting):
    """By the mbarrier's place and the phase's parity. passed: the lanes' register that tells whether it is over."""

    mbarrier: MbarrierState
    passed: np.ndarray

    @property
    def parity(self) -> int:
        return self.key[2]


class Mbarriers(Meeting[WaitingForPhase]):
    """made: those that there are. count: of each block. ended: the blocks all of whose threads have ended.

    refused: tries that failed though the phase may be over: site, mbarrier, how many phases were.
    """

    def restart(self) -> None:
        super().restart()
        self.slot = self.geometry.slot()
        self.clusters = [slot // self.geometry.cluster_size for slot in range(self.geometry.batch)]
        self.made: dict[SharedPlace, MbarrierState] = {}
        self.count = [0] * self.geometry.batch
        self.ended = np.zeros(self.geometry.batch, bool)
        self.gave_up = 0
        self.refused: set[tuple[int, SharedPlace, int]] = set()

    # what threads do ---------------------------------------------------------------------------------------------

    def make(self, site: int, lane: int, place: SharedPlace, expected: int) -> None:
        """mbarrier.init. Another thread may initialize an mbarrier again only behind a barrier."""
        old, who = self.made.get(place), self.geometry.show_thread
        if old and not self.clocks.knows_step(lane, old.maker, old.made):
            says = f"{who(lane)} initializes the mbarrier at {self.where(place, lane)} that {who(old.maker)} "
            says += "initializes, too: one thread does it for all"
            self.notice(Hazard.MBARRIER(lacks="one thread"), site, says)
        number = old.number if old else self.count[place[0]]
        if number >= MOST:
            raise NotSimulated(f"a block with more than {MOST} mbarriers")
        self.count[place[0]] += old is None
        nothing, now = self.clocks.nothing(), int(self.clocks.now[lane])
        phase = old.phase + old.phase % 2 if old else 0  # it begins in an even one again
        made = MbarrierState(place, number, expected, site, lane, now, nothing, nothing, expected, phase=phase)
        self.made[place] = made

    def component(self, mbarrier: MbarrierState | None, slot: int) -> int:
        """Of the clocks, that counts an mbarrier's phases, or those of a block's that has the same number."""
        return int(self.clocks.base[slot]) + self.clocks.agents.readers + (mbarrier.number if mbarrier else 0)

    def forget(self, place: SharedPlace) -> None:
        """mbarrier.inval"""
        if self.made.pop(place, None):
            self.count[place[0]] -= 1

    def at(self, site: int, lane: int, place: SharedPlace, does: str) -> MbarrierState | None:
        """The mbarrier that a thread uses; None, and a finding, where there is none that it can know of.

        does: "waits for", "arrives on".
        """
        found, who = self.made.get(place), self.geometry.show_thread
        if found is None:
            says = f"{who(lane)} {does} the mbarrier at {self.where(place, lane)}, which was never initialized"
            self.notice(Hazard.MBARRIER(lacks="init"), site, says)
        elif not self.clocks.knows_step(lane, found.maker, found.made):
            says = f"{who(lane)} {does} the mbarrier at {self.where(place, lane)} that {who(found.maker)} makes at "
            says += f"{self.show(found.site)}, with no barrier between"
            self.notice(Hazard.RACE(earlier="init"), site, says, apart=found.site)
        return found

    def counting(self, site: int, lane: int, place: SharedPlace) -> MbarrierState | None:
        """The mbarrier on which TMA counts a thread's bytes, as `at`; a finding unless a fence has shown it to TMA."""
        found = self.at(site, lane, place, "has TMA count on")
        fences = ASYNC_PROXY, MBARRIER_INIT
        if found and not any(self.clocks.knows_step(lane, found.maker, found.made, fence) for fence in fences):
            who = self.geometry.show_thread
            says = f"TMA, for {who(lane)}, may not see that {who(found.maker)} has initialized the mbarrier at "
            says += f"{self.where(place, lane)}, at {self.show(found.site)}: that thread ran no mbarrier_init_fence()"
            self.notice(Hazard.MBARRIER(lacks="fence"), site, says, apart=found.site)
        return found

    def announce(self, site: int, mbarrier: MbarrierState, count: int) -> None:
        """expect_tx: this phase waits for further bytes."""
        mbarrier.missing += count
        mbarrier.announced += count
        mbarrier.announced_at = site
        mbarrier.asynchronous = True

    def arrive(self, site: int, mbarrier: MbarrierState, lanes: np.ndarray, count: int, relaxed: bool) -> None:
        """So many arrivals of these threads. One that has arrived before must know that this phase is another one."""
        last = np.array([mbarrier.arrived.get(lane, mbarrier.phase) for lane in lanes.tolist()])
        known = self.clocks.over(lanes, self.component(mbarrier, mbarrier.place[0]))
        for lane in lanes[(last < mbarrier.phase) & (known <= last)].tolist():
            if not self.clocks.knows(lane, mbarrier.over):
                who, where = self.geometry.show_thread(lane), self.where(mbarrier.place, lane)
                says = f"{who} arrives on the mbarrier at {where} again and cannot know that the phase is over in "
                says += "which it arrived last: it may be counted twice in one, in place of another thread"
                self.notice(Hazard.MBARRIER(lacks="phase"), site, says)
        mbarrier.arrived |= dict.fromkeys(lanes.tolist(), mbarrier.phase)
        seen = self.clocks.relaxed(lanes, CTA) if relaxed else self.clocks.release(lanes)
        self.count_off(site, mbarrier, seen, count)

    def arrive_later(self, site: int, mbarrier: MbarrierState, seen: Seen, count: int = 1) -> None:
        """Arrivals that no thread makes itself."""
        mbarrier.asynchronous = True
        self.count_off(site, mbarrier, seen, count)

    def count_off(self, site: int, mbarrier: MbarrierState, seen: Seen, count: int) -> None:
        """So many arrivals. seen: the knowledge that they pass on to the threads that wait."""
        mbarrier.seen |= seen
        mbarrier.pending -= count
        if mbarrier.pending < 0:
            says = f"more threads arrive on the mbarrier at {self.where(mbarrier.place)} than the {mbarrier.expected} "
            self.notice(Hazard.MBARRIER, site, says + f"that it was made for at {self.show(mbarrier.site)}")
            mbarrier.pending = 0
        self.settle(mbarrier)

    def settle(self, mbarrier: MbarrierState) -> None:
        """Whether the phase is over now."""
        if mbarrier.pending == 0 and mbarrier.missing == 0:
            mbarrier.phase += 1
            mbarrier.pending, mbarrier.announced = mbarrier.expected, 0
            mbarrier.over = mbarrier.seen
            self.gave_up = 0

    def complete(self, site: int, mbarrier: MbarrierState, count: int, lane: int) -> None:
        """So many bytes have come, which TMA was told to bring at a site, by a lane: the arrivals of threads for which
        that lane has waited are over, too."""
        cluster, seen = self.clusters[mbarrier.place[0]], self.clocks.nothing()
        quiet = (one for one in self.made.values() if self.clusters[one.place[0]] == cluster and not one.asynchronous)
        waited = [self.component(one, one.place[0]) for one in quiet]
        seen.vector[waited] = self.clocks.known(lane)[waited]
        mbarrier.seen |= seen
        missing = mbarrier.missing
        mbarrier.missing -= count
        if mbarrier.pending == 0 and 0 <= missing < count:
            says = f"{mbarrier.announced:,} bytes are announced to the mbarrier at {self.where(mbarrier.place)}, and "
            says += f"{self.show(site)} delivers more: its phase may be over before all of them have arrived"
            at = mbarrier.announced_at if mbarrier.announced_at >= 0 else site
            self.notice(Hazard.MBARRIER(lacks="bytes"), at, says)
            mbarrier.missing = 0
        self.settle(mbarrier)

    # waiting ------------------------------------------------------------------------------------------------------

    def wait(self, lanes: np.ndarray, groups: list[WaitingForPhase], retries: bool) -> np.ndarray:
        """try_wait of these lanes, in groups. Those for which the phase is over go on; the others wait.

        retries: whether the kernel tries again until it succeeds. Elsewhere the first try of a phase fails.
        """
        tries = []
        for group in groups:
            if not retries and self.refuses(group):
                group.passed[group.lanes] = False
            else:
                tries.append(group)
        return np.setdiff1d(lanes, np.setdiff1d(lanes_of(tries), self.come(tries)))

    def test(self, groups: list[WaitingForPhase]) -> list[WaitingForPhase]:
        """test_wait of these lanes: whether the phase is over. Gives those for which it is not, or may not be."""
        left = []
        for group in groups:
            if not self.refuses(group) and self.is_over(group):
                self.go_on(group)
            else:
                group.passed[group.lanes] = False
                left.append(group)
        return left

    def groups(
        self, site: int, lanes: Array, places: list[SharedPlace], parities: Array, passed: Array, then: int | None
    ) -> list[WaitingForPhase]:
        """These lanes by what they wait for. Those that name no mbarrier have nothing to wait for."""
        passed[lanes], found = True, []
        for (slot, start, parity), which in by_key(*np.array(places).T, parities).items():
            place, some = (slot, start), lanes[which]
            rows = np.flatnonzero(np.diff(self.clocks.row[some], prepend=-1, append=-1))
            for at in np.unique(np.r_[rows[:-1], rows[1:] - 1]).tolist():  # of those who know the same two, lest one
                mbarrier = self.at(site, int(some[at]), place, "waits for")  # has made it
            if mbarrier:
                found.append(WaitingForPhase(site, some, then, (*place, parity), mbarrier, passed))
        return found

    def refuses(self, group: WaitingForPhase) -> bool:
        """Whether this is an instruction's first try in a phase, for which the phase is not over in some order of the
        threads: unless these lanes know of all arrivals, as of their own, and no copy or product arrives."""
        mbarrier = group.mbarrier
        if (key := (group.site, mbarrier.place, mbarrier.phase)) in self.refused:
            return False
        self.refused.add(key)
        known = self.is_over(group) and not mbarrier.asynchronous
        return not (known and all(self.clocks.knows(lane, mbarrier.over) for lane in group.lanes.tolist()))

    def is_over(self, group: WaitingForPhase) -> bool:
        return group.mbarrier.phase & 1 != group.parity

    def go_on(self, group: WaitingForPhase) -> None:
        mbarrier, group.passed[group.lanes] = group.mbarrier, True
        self.clocks.acquire(group.lanes, mbarrier.over)
        for slot in {mbarrier.place[0], *mbarrier.covers}:
            self.clocks.learn(group.lanes, self.component(mbarrier, slot), mbarrier.phase)

    def give_up(self) -> list[WaitingForPhase]:
        """Nothing else can happen: every try_wait returns false. () where that has not helped before."""
        if self.gave_up >= IMPATIENT:
            return []
        self.gave_up += 1
        free, self.waiting = self.waiting, []
        for group in free:
            group.passed[group.lanes] = False
        return free

    def report_deadlock(self) -> None:
        """First of those who wait for phases of which a part has come."""

        def untouched(mbarrier: MbarrierState) -> bool:
            return mbarrier.pending == mbarrier.expected and not mbarrier.missing

        self.waiting.sort(key=lambda group: (untouched(group.mbarrier), group.site))
        super().report_deadlock()

    def lacking(self, group: WaitingForPhase) -> Flaw:
        mbarrier, lacks = group.mbarrier, {}
        if mbarrier.pending:
            lacks["arrivals"] = f"{mbarrier.pending} of {mbarrier.expected} arrivals"
        if mbarrier.missing > 0:
            more = f" of {mbarrier.announced:,}" if mbarrier.announced else ""
            lacks["bytes"] = f"{mbarrier.missing:,}{more} bytes"
        if mbarrier.missing < 0:
            lacks["announcement"] = f"an announcement of {-mbarrier.missing:,} bytes that have come"
        return Flaw(
            f"{self.geometry.show_warp(group.lanes[0] // WARP)} waits forever: phase {mbarrier.phase} (parity "
            f"{group.parity}) of the mbarrier at {self.where(mbarrier.place)}, made at {self.show(mbarrier.site)}, "
            f"lacks {' and '.join(lacks.values())}, and no running thread can supply them",
            *(Hazard.DEADLOCK(lacks=what) for what in lacks),
        )

    def leave(self, slot: int) -> None:
        """All threads of a block have ended. Others of its cluster may not arrive on its mbarriers any more."""
        self.ended[slot] = True
        if self.geometry.cluster_size == 1:
            return
        first = slot - slot % self.geometry.cluster_size
        known = self.clocks.known_in(slot)
        block = self.geometry.show_slot
        for mbarrier in self.made.values():
            for peer in range(first, first + self.geometry.cluster_size) if mbarrier.place[0] == slot else ():
                threads = self.clocks.own[self.slot == peer]
                if peer != slot and (mbarrier.seen.vector[threads] > known[threads]).any():
                    says = f"block {block(slot)} may end before block {block(peer)} of its cluster has arrived on its "
                    says += f"mbarrier at {self.where(mbarrier.place)}: it must wait for that"
                    self.notice(Hazard.MBARRIER, mbarrier.site, says, apart="end")

    def where(self, place: SharedPlace, lane: int | None = None) -> str:
        """ "byte 1,024", and whose, where it is another block's than this lane's."""
        slot, address = place
        own = lane is None or self.slot[lane] == slot
        return self.findings.mbarrier(address) + ("" if own else f" of block {self.geometry.show_slot(slot)}")
