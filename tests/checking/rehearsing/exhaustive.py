"""All interleavings of small loops over mbarriers, as a second judge of what the rehearsal finds in a few.

Nobody knows anything here: a state is what has happened, and a hazard is one that happens in some state.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tutorlib.checking.plain_python import as_written
from tutorlib.checking.rehearsing.barrier_calls import BarrierPointer, MBarrierCalls
from tutorlib.checking.rehearsing.hopper_block import hopper_steps
from tutorlib.checking.rehearsing.hopper_warps import WarpgroupWarps
from tutorlib.checking.rehearsing.instruction_sets import HOPPER, without_compiler
from tutorlib.checking.rehearsing.machine import LANES, PARTS
from tutorlib.checking.rehearsing.unsafe import Unsafe

CONSUMERS = 8
MOST = 400  # instructions of a loop; one with more does not end


class Fault(Exception):
    """What happens in some interleaving."""


@dataclass
class Recorder(MBarrierCalls):
    """Records a loop's instructions; every wait is over at once. Barriers are ("full", stage) and ("empty", stage)."""

    k_tiles: int
    stages: int
    warps: int
    consumers: int = CONSUMERS
    stage_bytes: int = sum(PARTS)
    elected: bool = False
    issued: list[tuple] = field(default_factory=list)

    def pointers(self, of: str) -> dict[str, BarrierPointer]:
        kinds = ("full", "empty")
        return {kind: BarrierPointer([[Named(kind, at) for at in range(self.stages)]], 0, of) for kind in kinds}

    def say(self, *instruction: Any) -> None:
        self.issued.append(instruction)
        if len(self.issued) > MOST:
            raise Fault("no end")

    def stage(self, number: Any) -> int:
        if not 0 <= int(number) < self.stages:
            raise Fault("no such stage")
        return int(number)

    @property
    def lanes(self) -> int:
        return self.warps * (1 if self.elected else LANES)

    def load(self, k_tile: Any, stage: Any) -> None:
        if self.elected or not 0 <= int(k_tile) < self.k_tiles:
            raise Fault("no such load")
        self.say("load", int(k_tile), self.stage(stage))

    def lane_idx(self) -> int:
        """Asked by no loop here."""
        raise NotImplementedError

    thread_idx = warp_idx = lane_idx

    def unrolling(self, *args: Any) -> range:
        return range(*map(int, args))

    def multiply(self, stage: Any, first: Any) -> None:
        if self.elected:
            raise Fault("one thread multiplies")
        self.say("multiply", self.stage(stage), bool(first))

    def wait(self, barrier: "Named", phase: Any) -> None:
        if int(phase) not in (0, 1):
            raise Fault("no parity")
        self.say("wait", barrier, int(phase))

    def try_wait(self, barrier: "Named", phase: Any) -> bool:
        self.wait(barrier, phase)
        return True

    def arrive(self, barrier: "Named", times: Any = 1, expected: Any = None) -> None:
        self.say("arrive", barrier, self.lanes, int(times), int(expected or 0))

    def expect(self, barrier: "Named", number: Any) -> None:
        self.say("expect", barrier, self.lanes * int(number))

    @contextmanager
    def elect_one(self) -> Iterator[None]:
        outer, self.elected = self.elected, True
        yield
        self.elected = outer

    def fence(self) -> None:
        self.say("fence")

    def commit(self) -> None:
        self.say("commit")

    def retire(self, pending: Any) -> None:
        self.say("retire", int(pending))

    def meet(self) -> None:
        raise NotImplementedError


class Named(NamedTuple):
    kind: str
    stage: int

    @property
    def name(self) -> str:
        return f"{self.kind}[{self.stage}]"


def record(role: WarpgroupWarps, k_tiles: int, stages: int) -> list[tuple]:
    recorder = Recorder(k_tiles, stages, role.warps)
    try:
        with without_compiler(recorder, HOPPER, role.function):
            as_written(role.function)(hopper_steps(recorder, role.loads))
    except Unsafe as unsafe:
        raise Fault("no such mbarrier") from unsafe
    return recorder.issued


class Actor(NamedTuple):
    """What one role has done. issued: K tiles. groups: how many there were at each commit."""

    place: int = 0
    fenced: bool = False
    issued: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    retired: int = 0


class Barrier(NamedTuple):
    complete: int
    pending: int
    bytes: int

    def settled(self, awaited: int) -> "Barrier":
        return Barrier(self.complete + 1, awaited, 0) if (self.pending, self.bytes) == (0, 0) else self


class State(NamedTuple):
    """stages: the K tile that was sent to each last, and how many bytes of it have landed. flying: K tile, bytes."""

    actors: tuple[Actor, ...]
    full: tuple[Barrier, ...]
    empty: tuple[Barrier, ...]
    stages: tuple[tuple[int, int], ...]
    flying: tuple[tuple[int, int, int], ...] = ()  # stage, K tile, part
    sent: tuple[int, ...] = ()


def put(values: tuple, at: int, value: Any) -> tuple:
    return (*values[:at], value, *values[at + 1 :])


@dataclass
class Search:
    roles: Sequence[WarpgroupWarps]
    k_tiles: int
    stages: int

    def explore(self) -> int:
        """How many states there are. Raises Fault."""
        self.issued = [record(role, self.k_tiles, self.stages) for role in self.roles]
        start = State(
            tuple(Actor() for _ in self.roles),
            (Barrier(0, 1, 0),) * self.stages,
            (Barrier(0, CONSUMERS, 0),) * self.stages,
            ((-1, 0),) * self.stages,
        )
        seen, todo = {start}, [start]
        while todo:
            state = todo.pop()
            following = list(self.steps(state))
            if not following:
                self.check_end(state)
            for after in following:
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
        return len(seen)

    def steps(self, state: State) -> Iterator[State]:
        for number, actor in enumerate(state.actors):
            if actor.place < len(self.issued[number]):
                after = self.act(state, number, self.issued[number][actor.place])
                if after is not None:
                    yield after
        for flight in state.flying:
            yield self.land(state, flight)

    def group(self, number: int) -> int | None:
        return self.roles[number].group

    def is_reading(self, state: State, tile: int) -> bool:
        """Whether wgmmas that were issued may read the tile: nobody in their warpgroup has waited for them."""
        groups = {self.group(number) for number in range(len(self.roles))} - {None}
        for group in groups:
            mine = [actor for number, actor in enumerate(state.actors) if self.group(number) == group]
            over = {tile for actor in mine for tile in actor.issued[: actor.retired]}
            if any(tile in actor.issued for actor in mine) and tile not in over:
                return True
        return False

    def act(self, state: State, number: int, instruction: tuple) -> State | None:
        actor, role = state.actors[number], self.roles[number]
        done = actor._replace(place=actor.place + 1)
        match instruction:
            case "wait", barrier, parity:
                now = getattr(state, barrier.kind)[barrier.stage]
                return self.with_actor(state, number, done) if now.complete % 2 != parity else None
            case ("fence",):
                return self.with_actor(state, number, done._replace(fenced=True))
            case ("commit",):
                return self.with_actor(state, number, done._replace(groups=(*actor.groups, len(actor.issued))))
            case "retire", pending:
                groups = actor.groups[: max(0, len(actor.groups) - pending)]
                until = max(actor.retired, groups[-1] if groups else 0)
                others = [other for at, other in enumerate(state.actors) if self.group(at) == role.group]
                if any(len(other.issued) < until for other in others):
                    return None
                return self.with_actor(state, number, done._replace(retired=until))
            case "load", tile, stage:
                before, landed = state.stages[stage]
                if not role.loads or tile in state.sent:
                    raise Fault("loads what it should not")
                if before >= 0 and (landed < len(PARTS) or self.is_reading(state, before)):
                    raise Fault(f"overwrites {before}")
                state = state._replace(stages=put(state.stages, stage, (tile, 0)), sent=(*state.sent, tile))
                flying = tuple(sorted((*state.flying, *((stage, tile, part) for part in range(len(PARTS))))))
                return self.with_actor(state._replace(flying=flying), number, done)
            case "multiply", stage, first:
                tile, landed = state.stages[stage]
                if role.group is None or not actor.fenced or first != (not actor.issued):
                    raise Fault("multiplies where it should not")
                if tile < 0 or landed < len(PARTS) or tile in actor.issued:
                    raise Fault(f"reads {tile}, of which {landed} parts are there")
                return self.with_actor(state, number, done._replace(issued=(*actor.issued, tile)))
            case "expect", barrier, count:
                return self.with_actor(self.change(state, barrier, 0, count), number, done)
            case "arrive", barrier, lanes, times, expected:
                if (barrier.kind == "full" and not role.loads) or lanes >= LANES:
                    raise Fault("arrives where it should not")
                for _ in range(lanes):
                    if getattr(state, barrier.kind)[barrier.stage].pending < times:
                        raise Fault("too many arrivals")
                    state = self.change(state, barrier, times, expected)
                return self.with_actor(state, number, done)
        raise ValueError(instruction)

    def with_actor(self, state: State, number: int, actor: Actor) -> State:
        return state._replace(actors=put(state.actors, number, actor))

    def change(self, state: State, barrier: Named, arrivals: int, count: int) -> State:
        barriers = getattr(state, barrier.kind)
        old = barriers[barrier.stage]
        new = old._replace(pending=old.pending - arrivals, bytes=old.bytes + count)
        if arrivals or count < 0:
            new = new.settled(1 if barrier.kind == "full" else CONSUMERS)
        return state._replace(**{barrier.kind: put(barriers, barrier.stage, new)})

    def land(self, state: State, flight: tuple[int, int, int]) -> State:
        """A part lands; where fewer bytes are expected, the phase is complete before the last of them is there."""
        stage, tile, part = flight
        barrier, count = Named("full", stage), PARTS[part]
        now = state.full[stage]
        if now.pending == 0 and 0 < now.bytes < count:
            state, count = self.change(state, barrier, 0, -now.bytes), count - now.bytes
        flying = list(state.flying)
        flying.remove(flight)
        at, landed = state.stages[stage]
        state = state._replace(flying=tuple(flying), stages=put(state.stages, stage, (at, landed + (at == tile))))
        return self.change(state, barrier, 0, -count)

    def check_end(self, state: State) -> None:
        if any(actor.place < len(issued) for actor, issued in zip(state.actors, self.issued, strict=True)):
            raise Fault("deadlock")
        for role, actor in zip(self.roles, state.actors, strict=True):
            if role.group is not None and (
                actor.retired < len(actor.issued) or sorted(actor.issued) != list(range(self.k_tiles))
            ):
                raise Fault("the product is not complete")
