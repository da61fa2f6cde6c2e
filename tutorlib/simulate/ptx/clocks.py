"""Which accesses to memory happen before which: vector clocks, with a component for each thread and each other agent.

A barrier, or an arrival on one and the wait for it, orders what comes before it in one thread and behind it in another
(PTX ISA, 8.9: the memory consistency model calls this synchronizing). The threads of a warp are no exception: only
bar.warp.sync and the block's barriers order them; that they converge orders nothing, and shfl, vote and elect promise
nothing about memory (PTX ISA, 9.7.9). One thing is taken as ordered all the same, since no GPU lets a warp's load be
overtaken by what the warp issues later: where all threads of a warp elect a leader, what they have read of shared
memory is over for the leader. Each warp counts its steps; an access carries the count of its moment.

What works beside the threads is an agent of its own (`Agents`): its operations are counted, and a thread that waits for
them learns how many are over. A fence has a section of each thread's knowledge to itself: what was known to the thread
that ran it, and has been passed on since as all other knowledge is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tutorlib.simulate.ptx.geometry import WARP, Geometry

KNOWN = -1  # in place of a distance: what a fence has made known
CTA, CLUSTER, DEVICE = range(3)  # scopes; as a distance, that of a block's own threads, of its cluster's and of others
ASYNC_PROXY, MBARRIER_INIT = "async proxy", "mbarrier_init"  # fences that show TMA what threads wrote, or initialized
Fence = int | str  # a fence's scope, or one of these
Far = Mapping[tuple[int, int], np.ndarray]  # (cluster, distance) → components of that cluster's blocks


@dataclass(frozen=True)
class Agents:
    """The agents that use a block's memory, each with a component of the clocks. First those that read shared memory:
    its warps, then TMA for each warp, the tensor cores for each warpgroup. Then TMA's writes for each mbarrier, the
    launch before this one, and the block's threads. A warp's component is what all of its threads have done.

    stores: whether TMA reads. warpgroups: whose tensor cores read. mbarriers: as many as there may be.
    """

    warps: int
    stores: bool = False
    warpgroups: int = 0
    mbarriers: int = 0

    @property
    def readers(self) -> int:
        return self.warps * (1 + self.stores) + self.warpgroups

    @property
    def launch_before(self) -> int:
        return self.readers + self.mbarriers

    @property
    def first_thread(self) -> int:
        return self.launch_before + 1

    @property
    def width(self) -> int:
        return self.first_thread + self.warps * WARP

    def tma(self, warps: np.ndarray) -> np.ndarray:
        return self.warps + warps

    def tensor_cores(self, warpgroups: np.ndarray) -> np.ndarray:
        return self.readers - self.warpgroups + warpgroups

    def show(self, reader: int) -> str:
        """ "warp 3", "TMA"."""
        if reader < self.warps:
            return f"warp {reader}"
        first = self.readers - self.warpgroups
        return "TMA" if reader < first else f"the wgmma of warpgroup {reader - first}"


@dataclass(frozen=True)
class Seen:
    """What threads pass on when they release: all that they have done and know.

    vector: (sections · components,) of their cluster's blocks. far: what flags told them (`flags`), of any cluster.
    """

    vector: np.ndarray
    far: Far = field(default_factory=dict)

    def __or__(self, other: "Seen") -> "Seen":
        return Seen(np.maximum(self.vector, other.vector), merged(self.far, other.far))


def merged(far: Far, more: Far) -> Far:
    if not (far and more):
        return far or more
    both = {key: np.maximum(far[key], more[key]) for key in far.keys() & more.keys()}
    return {**far, **more, **both}


class LaneClocks:
    """counts: of each lane, (sections, lanes): how many steps its warp has begun, and at which it ran its latest fence
    of each kind. What a thread did at count c is over for another thread whose knowledge of it is at least c.

    values: what each thread knows, a row of components for each section: (warps + lanes, sections · width). All threads
    of a warp have one row until they learn apart; only then a lane has its own. row: of each lane. apart: of each warp,
    whether its threads have different rows.
    Components are counted over a cluster, those of the block with rank 0 first: own: of each lane; of_warp: of each
    warp; base: of each block, where they begin. bit: of each lane, among its warp's. alive: the lanes whose thread has
    not ended. section: of each kind of fence that the kernel has.
    far: by row, what flags told, and no clock of the cluster has. waited: whether a thread waited for the launch
    before.
    """

    def __init__(self, geometry: Geometry, agents: Agents, alive: np.ndarray, fences: Sequence[Fence] = ()) -> None:
        self.geometry, self.agents, self.alive = geometry, agents, alive
        lanes, slots = np.arange(geometry.lanes), np.arange(geometry.batch)
        self.width, self.warps = agents.width * geometry.cluster_size, len(lanes) // WARP
        self.section = {fence: number for number, fence in enumerate(fences, 1)}
        self.base = slots % geometry.cluster_size * agents.width
        self.own = np.repeat(self.base, geometry.of_block) + agents.first_thread + geometry.thread()
        self.columns = self.own + self.width * np.arange(1 + len(fences))[:, None]
        self.of_warp = np.repeat(self.base, geometry.warps) + np.tile(np.arange(geometry.warps), geometry.batch)
        self.bit = np.uint32(1) << (lanes % WARP).astype(np.uint32)
        self.counts = np.empty((1 + len(fences), len(lanes)), np.int32)
        self.values = np.empty((self.warps + len(lanes), self.width * (1 + len(fences))), np.int32)
        self.row = np.empty(len(lanes), np.int64)
        self.apart = np.empty(self.warps, bool)
        self.far: dict[int, Far] = {}
        self.waited = False
        self.restart()

    def restart(self) -> None:
        self.counts.fill(0)
        self.now.fill(1)
        self.values[: self.warps] = 0
        self.row[:] = np.arange(len(self.row)) // WARP
        self.apart.fill(False)
        self.far.clear()

    @property
    def now(self) -> np.ndarray:
        """The count of each lane's warp."""
        return self.counts[0]

    def nothing(self) -> Seen:
        return Seen(np.zeros(self.values.shape[1], np.int32))

    def warps_of(self, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The warps of these lanes, and for each whether all its living threads are among them."""
        counts = np.bincount(lanes // WARP, minlength=self.warps)
        warps = np.flatnonzero(counts)
        return warps, counts[warps] >= np.count_nonzero(self.alive.reshape(-1, WARP)[warps], axis=1)

    def step(self, warps: np.ndarray) -> None:
        """These warps begin a new step."""
        self.now.reshape(-1, WARP)[warps] += 1

    # releasing and acquiring ------------------------------------------------------------------------------------------

    def release(self, lanes: np.ndarray) -> Seen:
        """What these threads of one cluster have done and know. They begin a new step."""
        seen, (warps, all_there) = self.seen_by(lanes), self.warps_of(lanes)
        whole = warps[all_there]
        seen.vector[self.of_warp[whole]] = self.now[whole * WARP]
        self.step(warps)
        return seen

    def seen_by(self, lanes: np.ndarray) -> Seen:
        """The same, and they stay in their step."""
        far: Far = {}
        rows = np.unique(self.row[lanes])
        vector = self.values[rows].max(0)
        vector[self.columns[:, lanes]] = self.counts[:, lanes]
        for row in rows.tolist() if self.far else ():
            far = merged(far, self.far.get(row, {}))
        return Seen(vector, far)

    def relaxed(self, lanes: np.ndarray, scope: int) -> Seen:
        """What a relaxed operation of these threads releases to others in this scope: what they knew when they ran a
        fence, and what threads did before fences of theirs that these know of."""
        wide = [fence for fence in self.section if isinstance(fence, int) and fence >= scope]
        if not wide:
            return self.nothing()
        seen = self.seen_by(lanes)
        seen.vector[: self.width] = self.of_section(seen.vector, min(wide))
        return seen

    def of_section(self, vector: np.ndarray, fence: Fence) -> np.ndarray:
        return vector[..., self.section[fence] * self.width :][..., : self.width]

    def rows_to_change(self, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of these threads, which no others have then; and for each row the place of one of its lanes.

        lanes: in order.
        """
        warps, whole = self.warps_of(lanes)
        if not whole.all():
            self.separate(lanes[np.isin(lanes // WARP, warps[~whole])])
        if self.apart[warps].any():
            return np.unique(self.row[lanes], return_index=True)
        return warps, np.searchsorted(lanes, warps * WARP)

    def separate(self, lanes: np.ndarray) -> None:
        """Give each of these lanes a row of its own."""
        shared = lanes[self.row[lanes] < self.warps]
        rows = self.row[shared]
        self.row[shared] = self.warps + shared
        self.values[self.warps + shared] = self.values[rows]
        self.apart[shared // WARP] = True
        for row, lane in zip(rows.tolist(), shared.tolist(), strict=True) if self.far else ():
            self.far[self.warps + lane] = self.far.get(row, {})

    def acquire(self, lanes: np.ndarray, seen: Seen) -> None:
        """These threads learn what others knew when they released."""
        rows, _ = self.rows_to_change(lanes)
        self.values[rows] = np.maximum(self.values[rows], seen.vector)
        if seen.far:
            for row in rows.tolist():
                self.far[row] = merged(self.far.get(row, {}), seen.far)

    def learn(self, lanes: np.ndarray, components: np.ndarray | int, counts: np.ndarray | int) -> None:
        """These threads learn that this many of an agent's operations have completed."""
        rows, at = self.rows_to_change(lanes)
        components, counts = (np.broadcast_to(x, len(lanes))[at] for x in (components, counts))
        self.values[rows, components] = np.maximum(self.values[rows, components], counts)

    def meet(self, lanes: np.ndarray, before: Seen | None = None) -> None:
        """A barrier of these threads of a block: each learns what all did, and what was seen `before`."""
        (warps, all_there), seen = self.warps_of(lanes), self.release(lanes)
        seen = seen | before if before else seen
        if not all_there.all():
            self.acquire(lanes, seen)
        whole = warps[all_there]
        self.values[whole] = seen.vector
        self.row.reshape(-1, WARP)[whole] = whole[:, None]  # all threads of each have one row again
        self.apart[whole] = False
        if self.far or seen.far:
            for warp in whole.tolist():
                self.far[warp] = seen.far

    def meet_by_warp(self, lanes: np.ndarray) -> None:
        """bar.warp.sync of all of these threads."""
        warps, whole = self.warps_of(lanes)
        self.meet_by(warps[whole][:, None])
        for warp in warps[~whole].tolist():
            self.meet(lanes[lanes // WARP == warp])

    def meet_by(self, warps: np.ndarray) -> None:
        """Barriers of whole warps, (barriers, warps)."""
        apart = self.apart[warps].any(1) | bool(self.far)
        for group in warps[apart]:
            lanes = (group[:, None] * WARP + np.arange(WARP)).reshape(-1)
            self.meet(lanes[self.alive[lanes]])
        warps = warps[~apart]
        lanes = (warps[..., None] * WARP + np.arange(WARP)).reshape(len(warps), warps.shape[1] * WARP)
        seen, rows = self.values[warps].max(1), np.arange(len(warps))[:, None]
        seen[rows, self.columns[:, lanes]] = self.counts[:, lanes]
        seen[rows, self.of_warp[warps]] = self.now[warps * WARP]
        self.values[warps] = seen[:, None, :]
        self.step(warps)

    def has_read(self, lanes: np.ndarray) -> None:
        """elect.sync: what all threads of a warp have read by then is over for what the leader issues next."""
        warps, whole = self.warps_of(lanes)
        lanes = lanes[np.isin(lanes // WARP, warps[whole])]
        self.learn(lanes, self.of_warp[lanes // WARP], self.now[lanes])
        self.step(warps[whole])

    def wait_for_launch_before(self, lanes: np.ndarray) -> None:
        """griddepcontrol.wait: these threads learn that the launch before is over."""
        self.waited = True
        self.learn(lanes, self.agents.launch_before, 1)

    # asking -----------------------------------------------------------------------------------------------------------

    def known(self, lane: int) -> np.ndarray:
        """Of each component, how many steps a thread knows of."""
        return self.values[self.row[lane], : self.width]

    def known_in(self, slot: int) -> np.ndarray:
        """The same of all threads of a block together."""
        rows = np.unique(self.row.reshape(self.geometry.batch, -1)[slot])
        return np.asarray(self.values[rows, : self.width].max(0))

    def knows_step(self, lane: int, other: int, count: int, fence: Fence | None = None) -> bool:
        """Whether a thread knows what another did at a count; with a fence, whether one lies behind that."""
        section = self.section.get(fence, -1) if fence is not None else 0
        if section < 0:
            return False
        if other == lane:
            return section == 0 or bool(self.counts[section, lane] >= count)
        return bool(self.values[self.row[lane], self.columns[section, other]] >= count)

    def knows(self, lane: int, seen: Seen) -> bool:
        """Whether a thread knows all steps of other threads that were seen."""
        missing = seen.vector[: self.width] > self.known(lane)
        missing[np.arange(self.width) % self.agents.width < self.agents.first_thread] = False
        missing[self.own[lane]] = False
        return not missing.any()

    def over(self, lanes: np.ndarray, components: np.ndarray | int) -> np.ndarray:
        """For each of these threads, how many steps of an agent it knows of."""
        return self.values.reshape(-1).take(self.row[lanes] * self.values.shape[1] + components)

    def shown(self, lanes: np.ndarray, components: np.ndarray) -> np.ndarray:
        """As `over`, of those steps behind which a proxy fence lies."""
        section = self.section.get(ASYNC_PROXY)
        if section is None:
            return np.zeros(len(lanes), np.int32)
        own = components == self.own[lanes]
        return np.where(own, self.counts[section, lanes], self.over(lanes, components + section * self.width))

    def over_readers(self, lanes: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """The same as `over` for all that read a block's shared memory, (n, readers)."""
        rows = self.row[lanes]
        if self.geometry.cluster_size == 1:
            return np.asarray(self.values[rows, : self.agents.readers])
        return np.asarray(self.values[rows[:, None], self.base[slots][:, None] + np.arange(self.agents.readers)])

    def least(self, lanes: np.ndarray) -> np.ndarray:
        """Of each group of lanes of whole warps, (groups, n), one that knows least."""
        if not self.apart[lanes // WARP].any():
            lanes = lanes[:, ::WARP]
        known = self.values[self.row[lanes], : self.width].sum(2)
        return np.asarray(np.take_along_axis(lanes, known.argmin(1)[:, None], 1)[:, 0])

    def misses_one(self, lanes: np.ndarray, warps: np.ndarray, masks: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """For each of these threads: whether it misses a step that a thread of another warp made, or another thread of
        its own. warps: their components. masks: a bit for each thread that made one, at this count at the latest."""
        of_block, warp = warps // self.agents.width * self.agents.width, warps % self.agents.width
        threads = (of_block + self.agents.first_thread + warp * WARP)[:, None] + np.arange(WARP)
        known = self.values[self.row[lanes][:, None], threads]
        made = (masks[:, None] >> np.arange(WARP, dtype=np.uint32) & 1).astype(bool)
        return np.asarray((made & (threads != self.own[lanes][:, None]) & (known < counts[:, None])).any(1))

    def lanes_of(self, slots: np.ndarray, components: np.ndarray) -> np.ndarray:
        """The lane of each component that is a thread's, -1 of others. slots: a block of its cluster."""
        rank, number = np.divmod(components.astype(np.int64), self.agents.width)
        first = slots - slots % self.geometry.cluster_size
        lanes = (first + rank) * self.geometry.of_block + number - self.agents.first_thread
        return np.where(number >= self.agents.first_thread, lanes, -1)

    # fences -----------------------------------------------------------------------------------------------------------

    def fence(self, lanes: np.ndarray, *kinds: Fence) -> None:
        """A fence of these threads: a scope covers all smaller ones. What it makes known to them of what flags told,
        and what others may count on from now on that learn of it."""
        scope = max((kind for kind in kinds if isinstance(kind, int)), default=KNOWN)
        for row in np.unique(self.row[lanes]).tolist() if self.far else ():
            told, some = self.far.get(row, {}), lanes[self.row[lanes] == row]
            if learned := {(cluster, KNOWN): told[cluster, at] for cluster, at in told if KNOWN < at <= scope}:
                left = {key: what for key, what in told.items() if not KNOWN < key[1] <= scope}
                rows, _ = self.rows_to_change(some)
                self.far.update(dict.fromkeys(rows.tolist(), left))
                self.tell(some, learned)
        rows, _ = self.rows_to_change(lanes)
        for fence, section in self.section.items():
            if fence in kinds or (isinstance(fence, int) and fence < scope):
                if fence != MBARRIER_INIT:  # which covers nothing but the thread's own
                    self.of_section(self.values, fence)[rows] = self.values[rows, : self.width]
                self.counts[section, lanes] = self.now[lanes]
        self.step(np.unique(lanes // WARP))

    def tell(self, lanes: np.ndarray, far: Far) -> None:
        """These threads of one block learn what flags say, of their own cluster and of others."""
        own = self.geometry.place(lanes[0]) // self.geometry.cluster_size, KNOWN
        vector = far[own] if own in far else self.nothing().vector
        self.acquire(lanes, Seen(vector, {key: what for key, what in far.items() if key != own}))
