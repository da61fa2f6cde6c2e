"""Units, the parts of the simulator that follow a batch's threads, and meetings, the units at which threads wait.

Two of the meetings are here: the barrier of a cluster, and wgmma, which a whole warpgroup executes. So is the unit of
setmaxnreg, by which warps take the registers that others of their block give back.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar, Generic, TypeVar

import numpy as np

from tutorlib.dsl.failure import Hazard
from tutorlib.simulate.ptx.clocks import CLUSTER, LaneClocks, Seen
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.geometry import WARP, WARPGROUP, Geometry


@dataclass(frozen=True)
class Running:
    """A launch that runs. units: all that start anew with a batch, in the order in which they tell of a deadlock."""

    geometry: Geometry
    clocks: LaneClocks
    findings: Findings
    units: "list[Unit]" = field(default_factory=list)


@dataclass
class Unit:
    """Works beside the threads, or follows what they do. Its records are of one batch."""

    running: Running

    def __post_init__(self) -> None:
        self.geometry, self.clocks, self.findings = self.running.geometry, self.running.clocks, self.running.findings
        self.notice, self.show = self.findings.notice, self.findings.show
        self.running.units.append(self)
        self.restart()

    def restart(self) -> None:
        """Make ready for another batch."""

    def report_deadlock(self) -> None:
        """No warp runs any longer."""


@dataclass(frozen=True)
class Waiting:
    """Lanes that came to one instruction and wait for the same. key: that. then: the block of the program where they go
    on; None where it ends."""

    site: int
    lanes: np.ndarray
    then: int | None
    key: tuple[int, ...]


def by_key(*columns: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    """For each row of these columns, of which most are the same as the one before, the numbers at which it stands."""
    table = np.column_stack(columns)
    starts = np.flatnonzero(np.append(True, (table[1:] != table[:-1]).any(1))[: len(table)])
    together: dict[tuple[int, ...], list[np.ndarray]] = {}
    for start, end in pairwise([*starts.tolist(), len(table)]):
        together.setdefault(tuple(table[start].tolist()), []).append(np.arange(start, end))
    return {key: np.concatenate(parts) for key, parts in together.items()}


def waiting_groups(site: int, lanes: np.ndarray, then: int | None, *keys: np.ndarray) -> list[Waiting]:
    """These lanes by their keys, in order."""
    return [Waiting(site, lanes[which], then, key) for key, which in by_key(*keys).items()]


def lanes_of(groups: Iterable[Waiting]) -> np.ndarray:
    return np.concatenate([np.empty(0, np.int64), *(group.lanes for group in groups)])


Group = TypeVar("Group", bound=Waiting)


class Meeting(Unit, ABC, Generic[Group]):
    """A place at which threads wait for others. waiting: in the order of their arrival. hazard: waiting forever."""

    hazard: ClassVar[Hazard] = Hazard.DEADLOCK

    def restart(self) -> None:
        self.waiting: list[Group] = []

    def is_over(self, group: Group) -> bool:
        """Whether what a group waits for has happened, where no other group decides that."""
        raise NotImplementedError

    def go_on(self, group: Group) -> None:
        """A group learns what it has waited for."""

    def come(self, groups: Sequence[Group]) -> np.ndarray:
        """The lanes of these groups that may go on; the others wait."""
        return lanes_of(self.freed(groups))

    def open(self) -> Sequence[Group]:
        """Those who wait no longer."""
        waiting, self.waiting = self.waiting, []
        return self.freed(waiting)

    def freed(self, groups: Sequence[Group]) -> list[Group]:
        free: list[Group] = []
        for group in groups:
            (free if self.is_over(group) else self.waiting).append(group)
        for group in free:
            self.go_on(group)
        return free

    @abstractmethod
    def lacking(self, group: Group) -> str:
        """Why a group waits forever: a sentence."""

    def report_deadlock(self) -> None:
        """These still wait."""
        for group in self.waiting:
            self.notice(self.hazard, group.site, self.lacking(group), len(group.lanes))


class ClusterBarriers(Meeting[Waiting]):
    """barrier.cluster: all threads of a cluster's blocks arrive, and later wait for each other (PTX ISA, 9.7.13.4).

    arrived: threads of each cluster. passed: how often its barrier was. turn: which passing each lane waits for.
    seen: what those know who have arrived; over: what they knew when the barrier was passed. A group waits by its
    cluster and its turn.
    """

    def restart(self) -> None:
        super().restart()
        of_cluster = self.geometry.of_block * self.geometry.cluster_size
        self.cluster = np.arange(self.geometry.lanes) // of_cluster
        clusters = self.geometry.batch // self.geometry.cluster_size
        self.arrived, self.passed = np.zeros((2, clusters), np.int64)
        self.turn = np.zeros(self.geometry.lanes, np.int64)
        self.seen, self.over = dict[int, Seen](), dict[int, Seen]()

    def arrive(self, lanes: np.ndarray, relaxed: bool) -> None:
        clusters = self.cluster[lanes]
        self.turn[lanes] = self.passed[clusters] + 1
        np.add.at(self.arrived, clusters, 1)
        for cluster in np.unique(clusters).tolist():
            some = lanes[clusters == cluster]
            seen = self.clocks.relaxed(some, CLUSTER) if relaxed else self.clocks.release(some)
            self.seen[cluster] = self.seen[cluster] | seen if cluster in self.seen else seen
        self.settle()

    def settle(self) -> None:
        """Complete the phase of each cluster whose threads have all arrived or ended."""
        wanted = self.clocks.alive.reshape(len(self.passed), -1).sum(1)
        complete = (self.arrived > 0) & (self.arrived >= wanted)
        self.passed[complete] += 1
        self.arrived[complete] = 0
        for cluster in np.flatnonzero(complete).tolist():
            self.over[cluster] = self.seen.pop(cluster)

    def wait(self, site: int, lanes: np.ndarray, then: int | None) -> np.ndarray:
        """Those of these lanes that may go on; the others wait."""
        return self.come(waiting_groups(site, lanes, then, self.cluster[lanes], self.turn[lanes]))

    def is_over(self, group: Waiting) -> bool:
        cluster, turn = group.key
        return bool(self.passed[cluster] >= turn)

    def go_on(self, group: Waiting) -> None:
        if group.key[0] in self.over:
            self.clocks.acquire(group.lanes, self.over[group.key[0]])

    def lacking(self, group: Waiting) -> str:
        who = self.geometry.show_warp(int(group.lanes[0]) // WARP)
        return f"{who} waits forever for its cluster: some threads of its blocks never arrive at the cluster's barrier"


class WarpgroupMeeting(Meeting[Waiting]):
    """Warps of one warpgroup that come to a wgmma apart. A group waits by the instruction and its warpgroup."""

    def wait(self, site: int, lanes: np.ndarray, then: int | None) -> np.ndarray:
        """The lanes of whole warpgroups, of these and of those who waited, that go on."""
        slots, threads = np.divmod(lanes, self.geometry.of_block)
        groups = waiting_groups(site, lanes, then, np.full(len(lanes), site), slots, threads // (WARPGROUP * WARP))
        for n, group in enumerate(groups):
            early = [one for one in self.waiting if one.key == group.key]
            self.waiting = [one for one in self.waiting if one.key != group.key]
            groups[n] = replace(group, lanes=np.concatenate([group.lanes, *(one.lanes for one in early)]))
        return np.sort(self.come(groups))

    def is_over(self, group: Waiting) -> bool:
        return len(group.lanes) == WARPGROUP * WARP

    def lacking(self, group: Waiting) -> str:
        who = self.geometry.show_warp(int(group.lanes[0]) // WARP)
        return f"{who} waits forever: wgmma is for all four warps of a warpgroup, and the others never come"


OF_A_MULTIPROCESSOR = 65_536
MOST_REGISTERS = 255  # of a thread


@dataclass
class RegisterPool(Unit):
    """setmaxnreg (PTX ISA, 9.7.19.5). That an increase waits for what others give back is not followed: it is for ever
    where in the end a block's warps have more than it began with.

    blocks: that an SM is to hold. held: registers of a thread of each warp. taken: where, by which warp and how many, a
    block first took more.
    """

    blocks: int

    def restart(self) -> None:
        self.start = min(OF_A_MULTIPROCESSOR // (self.geometry.of_block * self.blocks) // 8 * 8, MOST_REGISTERS)
        self.held = np.full((self.geometry.batch, self.geometry.warps), self.start)
        self.taken: dict[int, tuple[int, int, int]] = {}

    def give(self, lanes: np.ndarray, count: int) -> None:
        """setmaxnreg.dec"""
        slots, warps = self.geometry.warps_of(lanes)
        self.held[slots, warps] = np.minimum(self.held[slots, warps], count)

    def take(self, site: int, lanes: np.ndarray, count: int) -> None:
        """setmaxnreg.inc"""
        slots, warps = self.geometry.warps_of(lanes)
        self.held[slots, warps] = np.maximum(self.held[slots, warps], count)
        for slot, warp in zip(slots.tolist(), warps.tolist(), strict=True):
            self.taken.setdefault(slot, (site, warp, count))

    def report_deadlock(self) -> None:
        """For registers that no warp can give back."""
        for slot, (site, warp, count) in self.taken.items():
            if (missing := int(self.held[slot].sum()) - self.start * self.geometry.warps) > 0:
                says = f"{self.geometry.show_warp(slot * self.geometry.warps + warp)} waits forever for {count} "
                says += f"registers a thread: the block began with {self.start} for each of its threads, and for all "
                says += f"that its warps ask for {missing * WARP:,} are missing"
                self.notice(Hazard.DEADLOCK, site, says)

    def need(self, site: int, slots: np.ndarray, warps: np.ndarray, count: int) -> None:
        """An instruction reserves this many registers of a thread for its results."""
        held = self.held[slots, warps]
        if (few := held < count).any():
            at = int(few.argmax())
            who = self.geometry.show_warp(int(slots[at] * self.geometry.warps + warps[at]))
            says = f"{who} keeps {count} accumulators in a thread's registers, of which setmaxnreg has left it "
            self.notice(Hazard.REGISTERS, site, says + str(held[at]), int(few.sum()))
