"""Which accesses to memory happen before which: vector clocks, with a component for each thread and each other agent.

A barrier, or an arrival on one and the wait for it, orders what comes before it in one thread and behind it in another
(PTX ISA, 8.9: the memory consistency model calls this synchronizing). The threads of a warp are no exception: only
bar.warp.sync and the block's barriers order them; that they converge orders nothing, and shfl, vote and elect promise
nothing about memory (PTX ISA, 9.7.9). One thing is taken as ordered all the same, since no GPU lets a warp's load be
overtaken by what the warp issues later: where all threads of a warp elect a leader, what they have read of shared
memory is over for the leader. Each warp counts its steps; an access carries the count of its moment.

What works beside the threads is an agent of its own (`Agents`): its operations are counted, and a thread that waits for
them learns how many are over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tutorlib.simulate.ptx.geometry import WARP, Geometry

KNOWN = -1  # in place of a distance: what a fence has made known
CTA, CLUSTER, DEVICE = range(3)  # scopes; as a distance, that of a block's own threads, of its cluster's and of others
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
    def first_thread(self) -> int:
        return self.launch_before + 1

    @property
    def launch_before(self) -> int:
        return self.readers + self.mbarriers

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

    vector: (components,) of their cluster's blocks. far: what flags told them (`flags`), of any cluster.
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


class Rows:
    """What each thread knows: rows of components. All threads of a warp have one row until they learn apart.

    values: (warps + lanes, components), of which a lane's own row is used only then. row: of each lane.
    apart: of each warp, whether its threads have different rows.
    """

    def __init__(self, lanes: int, width: int) -> None:
        self.warps = lanes // WARP
        self.values = np.empty((self.warps + lanes, width), np.int32)
        self.row = np.empty(lanes, np.int64)
        self.apart = np.empty(self.warps, bool)
        self.restart()

    def restart(self) -> None:
        self.values[: self.warps] = 0
        self.row[:] = np.arange(len(self.row)) // WARP
        self.apart.fill(False)

    def separate(self, lanes: np.ndarray) -> None:
        """Give each of these lanes a row of its own."""
        shared = lanes[self.row[lanes] < self.warps]
        self.values[self.warps + shared] = self.values[self.row[shared]]
        self.row[shared] = self.warps + shared
        self.apart[shared // WARP] = True

    def join(self, warps: np.ndarray) -> None:
        """Give all threads of each of these warps one row again."""
        lanes = (warps[:, None] * WARP + np.arange(WARP)).reshape(-1)
        self.row[lanes] = lanes // WARP
        self.apart[warps] = False


@dataclass(frozen=True)
class Parts:
    """Lanes by their warps. first: of each warp, the place among the lanes; counts: how many. whole: whether all its
    living threads are among them."""

    warps: np.ndarray
    first: np.ndarray
    counts: np.ndarray
    whole: np.ndarray


class LaneClocks:
    """now: the count of each warp of the batch. What a thread did at count c is over for another thread whose knowledge
    of it is at least c.

    Components are counted over a cluster, those of the block with rank 0 first: own: of each lane; of_warp: of each
    warp; base: of each block, where they begin. bit: of each lane, among its warp's. alive: the lanes whose thread has
    not ended.
    fenced: by scope, what each thread knew at its last fence, all that a relaxed operation releases; fenced_at: its
    count then.
    far: by row, what flags told, and no clock of the cluster has. waited: whether a thread waited for the launch
    before.
    """

    def __init__(self, geometry: Geometry, agents: Agents, alive: np.ndarray) -> None:
        self.geometry, self.agents, self.alive = geometry, agents, alive
        lanes, slots = np.arange(geometry.lanes), np.arange(geometry.batch)
        self.width = agents.width * geometry.cluster_size
        self.base = slots % geometry.cluster_size * agents.width
        self.own = np.repeat(self.base, geometry.of_block) + agents.first_thread + geometry.thread()
        self.of_warp = np.repeat(self.base, geometry.warps) + np.tile(np.arange(geometry.warps), geometry.batch)
        self.bit = np.uint32(1) << (lanes % WARP).astype(np.uint32)
        self.now = np.empty(len(lanes) // WARP, np.int32)
        self.known = Rows(len(lanes), self.width)
        self.fenced: dict[int, Rows] = {}
        self.fenced_at = np.empty((DEVICE + 1, len(lanes)), np.int32)
        self.far: dict[int, Far] = {}
        self.waited = False
        self.restart()

    def restart(self) -> None:
        self.now.fill(1)
        self.fenced_at.fill(0)
        self.far.clear()
        for rows in (self.known, *self.fenced.values()):
            rows.restart()

    def nothing(self) -> Seen:
        return Seen(np.zeros(self.width, np.int32))

    def parts(self, lanes: np.ndarray) -> Parts:
        """lanes: in order."""
        numbers = lanes // WARP
        new = np.ones(len(lanes) + 1, bool)  # and where the last warp ends
        np.not_equal(numbers[1:], numbers[:-1], out=new[1:-1])
        edges = np.flatnonzero(new)
        first, warps = edges[:-1], numbers[edges[:-1]]
        living = np.count_nonzero(self.alive.reshape(-1, WARP)[warps], axis=1)
        return Parts(warps, first, edges[1:] - first, edges[1:] - first >= living)

    def cluster_of(self, lanes: np.ndarray) -> np.ndarray:
        """The number in the grid of each of these lanes' clusters."""
        slots = lanes // self.geometry.of_block
        return np.asarray((self.geometry.first + slots) // self.geometry.cluster_size)

    # releasing and acquiring ------------------------------------------------------------------------------------------

    def release(self, lanes: np.ndarray) -> Seen:
        """What these threads of one cluster have done and know. They begin a new step."""
        parts = self.parts(lanes)
        rows = self.rows_of(lanes, parts)
        vector = self.known.values[rows].max(0)
        vector[self.own[lanes]] = self.now[lanes // WARP]
        whole = parts.warps[parts.whole]
        vector[self.of_warp[whole]] = self.now[whole]
        self.now[parts.warps] += 1
        return Seen(vector, self.far_of(rows))

    def far_of(self, rows: np.ndarray) -> Far:
        far: Far = {}
        for row in rows.tolist() if self.far else ():
            far = merged(far, self.far.get(row, {}))
        return far

    def rows_of(self, lanes: np.ndarray, parts: Parts) -> np.ndarray:
        return np.unique(self.known.row[lanes]) if self.known.apart[parts.warps].any() else parts.warps

    def rows_to_change(self, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of these threads, which no others have then; and for each row the place of one of its lanes."""
        parts = self.parts(lanes)
        if not parts.whole.all():
            alone = lanes[~np.repeat(parts.whole, parts.counts)]
            rows = self.known.row[alone]
            self.known.separate(alone)
            for row, own in zip(rows.tolist(), self.known.row[alone].tolist(), strict=True) if self.far else ():
                self.far[own] = self.far.get(row, {})
        if self.known.apart[parts.warps].any():
            return np.unique(self.known.row[lanes], return_index=True)
        return parts.warps, parts.first

    def acquire(self, lanes: np.ndarray, seen: Seen) -> None:
        """These threads learn what others knew when they released."""
        rows, _ = self.rows_to_change(lanes)
        self.known.values[rows] = np.maximum(self.known.values[rows], seen.vector)
        if seen.far:
            for row in rows.tolist():
                self.far[row] = merged(self.far.get(row, {}), seen.far)

    def learn(self, lanes: np.ndarray, components: np.ndarray | int, counts: np.ndarray | int) -> None:
        """These threads learn that this many of an agent's operations have completed."""
        rows, at = self.rows_to_change(lanes)
        components, counts = (np.broadcast_to(x, len(lanes))[at] for x in (components, counts))
        self.known.values[rows, components] = np.maximum(self.known.values[rows, components], counts)

    def meet(self, lanes: np.ndarray, before: Seen | None = None) -> None:
        """A barrier of these threads of a block: each learns what all did, and what was seen `before`."""
        parts, seen = self.parts(lanes), self.release(lanes)
        seen = seen | before if before else seen
        if not parts.whole.all():
            self.acquire(lanes, seen)
        whole = parts.warps[parts.whole]
        self.known.values[whole] = seen.vector
        self.known.join(whole)
        if self.far or seen.far:
            for warp in whole.tolist():
                self.far[warp] = seen.far

    def meet_by_warp(self, lanes: np.ndarray) -> None:
        """bar.warp.sync of all of these threads."""
        parts = self.parts(lanes)
        easy = parts.whole & ~self.known.apart[parts.warps]
        warps = parts.warps[easy]
        threads = self.own.reshape(-1, WARP)[warps]
        self.known.values[warps[:, None], threads] = self.now[warps, None]
        self.known.values[warps, self.of_warp[warps]] = self.now[warps]
        self.now[warps] += 1
        for warp in parts.warps[~easy].tolist():
            self.meet(lanes[lanes // WARP == warp])

    def has_read(self, lanes: np.ndarray) -> None:
        """elect.sync: what all threads of a warp have read by then is over for what the leader issues next."""
        parts = self.parts(lanes)
        lanes = lanes[np.repeat(parts.whole, parts.counts)]
        self.learn(lanes, self.of_warp[lanes // WARP], self.now[lanes // WARP])
        self.now[parts.warps[parts.whole]] += 1

    def meet_by_block(self, slots: np.ndarray) -> None:
        """A barrier of all threads of each of these blocks."""
        warps = slots[:, None] * self.geometry.warps + np.arange(self.geometry.warps)
        if self.far or self.known.apart[warps].any():
            for slot in slots.tolist():
                lanes = slot * self.geometry.of_block + np.arange(self.geometry.of_block)
                self.meet(lanes[self.alive[lanes]])
            return
        seen = self.known.values[warps].max(1)
        threads = self.own.reshape(self.geometry.batch, -1)[slots]
        np.put_along_axis(seen, threads, np.repeat(self.now[warps], WARP, axis=1), 1)
        np.put_along_axis(seen, self.of_warp[warps], self.now[warps], 1)
        self.known.values[warps] = seen[:, None, :]
        self.now[warps] += 1

    def wait_for_launch_before(self, lanes: np.ndarray) -> None:
        """griddepcontrol.wait: these threads learn that the launch before is over."""
        self.waited = True
        self.learn(lanes, self.base[lanes // self.geometry.of_block] + self.agents.launch_before, 1)

    # asking -----------------------------------------------------------------------------------------------------------

    def knows(self, lane: int, seen: Seen) -> bool:
        """Whether a thread knows all steps of other threads that were seen."""
        missing = seen.vector > self.known.values[self.known.row[lane]]
        missing[np.arange(self.width) % self.agents.width < self.agents.first_thread] = False
        missing[self.own[lane]] = False
        return not missing.any()

    def over(self, lanes: np.ndarray, components: np.ndarray) -> np.ndarray:
        """For each of these threads, how many steps of an agent it knows of."""
        return self.known.values.reshape(-1).take(self.known.row[lanes] * self.width + components)

    def over_readers(self, lanes: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """The same for all that read a block's shared memory, (n, readers)."""
        rows = self.known.row[lanes]
        if self.geometry.cluster_size == 1:
            return np.asarray(self.known.values[rows, : self.agents.readers])
        return np.asarray(self.known.values[rows[:, None], self.base[slots][:, None] + np.arange(self.agents.readers)])

    def least(self, lanes: np.ndarray) -> np.ndarray:
        """Of each group of lanes of whole warps, (groups, n), one that knows least."""
        if not self.known.apart[lanes // WARP].any():
            lanes = lanes[:, ::WARP]
        known = self.known.values[self.known.row[lanes]].sum(2)
        return np.asarray(np.take_along_axis(lanes, known.argmin(1)[:, None], 1)[:, 0])

    def misses_one(self, lanes: np.ndarray, warps: np.ndarray, masks: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """For each of these threads: whether it misses a step that a thread of another warp made, or another thread of
        its own. warps: their components. masks: a bit for each thread that made one, at this count at the latest."""
        of_block, warp = warps // self.agents.width * self.agents.width, warps % self.agents.width
        threads = (of_block + self.agents.first_thread + warp * WARP)[:, None] + np.arange(WARP)
        known = self.known.values[self.known.row[lanes][:, None], threads]
        made = (masks[:, None] >> np.arange(WARP, dtype=np.uint32) & 1).astype(bool)
        return np.asarray((made & (threads != self.own[lanes][:, None]) & (known < counts[:, None])).any(1))

    def lanes_of(self, slots: np.ndarray, components: np.ndarray) -> np.ndarray:
        """The lane of each component that is a thread's, -1 of others. slots: a block of its cluster."""
        rank, number = np.divmod(components.astype(np.int64), self.agents.width)
        first = slots - slots % self.geometry.cluster_size
        lanes = (first + rank) * self.geometry.of_block + number - self.agents.first_thread
        return np.where(number >= self.agents.first_thread, lanes, -1)

    # fences -----------------------------------------------------------------------------------------------------------

    def fence(self, lanes: np.ndarray, scope: int) -> None:
        """What a fence of these threads makes known to them, and what their relaxed operations release from now on."""
        self.learn_far(lanes, scope)
        parts = self.parts(lanes)
        for level in range(scope + 1):
            if level not in self.fenced:
                self.fenced[level] = Rows(len(self.own), self.width)
            copy_rows(self.known, self.fenced[level], lanes, parts)
            self.fenced_at[level, lanes] = self.now[lanes // WARP]
        self.now[parts.warps] += 1

    def learn_far(self, lanes: np.ndarray, scope: int) -> None:
        """What flags told these threads, as far as the scope of their fence reaches, counts as known."""
        if not self.far:
            return
        for row in np.unique(self.known.row[lanes]).tolist():
            told = self.far.get(row, {})
            learned = {(cluster, KNOWN): told[cluster, at] for cluster, at in told if KNOWN < at <= scope}
            if learned:
                left = {key: what for key, what in told.items() if not KNOWN < key[1] <= scope}
                some = lanes[self.known.row[lanes] == row]
                rows, _ = self.rows_to_change(some)
                for one in rows.tolist():
                    self.far[one] = left
                self.tell(some, learned)

    def tell(self, lanes: np.ndarray, far: Far) -> None:
        """These threads of one block learn what flags say, of their own cluster and of others."""
        own = int(self.cluster_of(lanes[:1])[0])
        vector = far.get((own, KNOWN), np.zeros(self.width, np.int32))
        self.acquire(lanes, Seen(vector, {key: what for key, what in far.items() if key != (own, KNOWN)}))

    def relaxed(self, lanes: np.ndarray, scope: int) -> Seen:
        """What a relaxed operation of these threads releases to others in this scope: what they knew when they ran a
        fence, and what threads did before fences of theirs that these know of."""
        if scope not in self.fenced:
            return self.nothing()
        rows = self.fenced[scope]
        vector = rows.values[np.unique(rows.row[lanes])].max(0)
        at = self.fenced_at[scope]
        of_cluster = self.geometry.cluster_size * self.geometry.of_block  # lanes
        cluster = int(lanes[0]) // of_cluster * of_cluster + np.arange(of_cluster)
        fences = np.zeros(self.width, np.int32)
        fences[self.own[cluster]] = at[cluster]
        by_warp = np.where(self.alive[cluster], at[cluster], np.iinfo(np.int32).max).reshape(-1, WARP).min(1)
        fences[self.of_warp[np.unique(cluster // WARP)]] = by_warp
        of_lanes = np.unique(self.known.row[lanes])
        known = self.known.values[of_lanes].max(0)
        known[self.own[lanes]] = self.now[lanes // WARP]
        return Seen(np.maximum(vector, np.minimum(known, fences)), self.far_of(of_lanes))


def copy_rows(of: Rows, to: Rows, lanes: np.ndarray, parts: Parts) -> None:
    """These lanes' rows as they are now."""
    easy = parts.whole & ~of.apart[parts.warps]
    warps = parts.warps[easy]
    to.values[warps] = of.values[warps]
    to.join(warps)
    alone = lanes[~np.repeat(easy, parts.counts)]
    to.separate(alone)
    to.values[to.row[alone]] = of.values[of.row[alone]]
