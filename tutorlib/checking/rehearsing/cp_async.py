"""A main loop over cp.async, run on the CPU without data, to see whether it is safe.

A GPU shows a missing wait or barrier now and then; this stage shows it always. It takes a main loop's instructions
(load, fetch, multiply and the real cute.arch calls) and assumes the worst that they allow: a copy arrives when a thread
waits for its group and no sooner, and the other warps are one step behind until there is a barrier.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tutorlib.checking.rehearsing.call_site import CallSite, calling_line, existing
from tutorlib.checking.rehearsing.recorded_steps import MATRICES, RecordedSteps, compare_threads
from tutorlib.checking.rehearsing.unsafe import LoopFlaw, Unsafe
from tutorlib.failure import Flaw
from tutorlib.problems.wrong import count

NOTHING = -1  # in place of a K tile


@dataclass
class Buffer:
    """The state of one matrix's part of one buffer in shared memory.

    tile: the K tile last loaded there, or NOTHING; line: of that load.
    group: the number of its commit group; None before the commit.
    waited: this thread waited for the group. visible: a barrier followed, so all threads' copies have arrived.
    read: fetched from since the last barrier. fetched: the K blocks that were fetched.
    """

    tile: int = NOTHING
    line: CallSite | None = None
    group: int | None = None
    waited: bool = False
    visible: bool = False
    read: bool = False
    fetched: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Fetched:
    """A K block in registers: its tile, its buffer, the line that fetched it, and why it is not usable, or ""."""

    tile: int
    buffer: int
    line: CallSite
    why_not: str


@dataclass
class Stage(RecordedSteps):
    """Stands in for kernels.ampere.thread_share.Steps: the same attributes and methods, without data.

    in_flight: for each K tile, at each of its multiplications, the tiles of A and those of B in shared memory: whether
        each is in flight.
    prefetched: whether at each multiplication but the last the next one's registers had been fetched before.
    again: the lines that load or fetch what was loaded or fetched before. seen: what was.
    live: the most K blocks that were in registers at a multiplication, multiplied then or later.
    unrolled: the most K tiles that were multiplied in one loop of the compiler's.
    """

    buffers: dict[str, list[Buffer]] = field(init=False)
    registers: dict[int, Fetched] = field(default_factory=dict)  # by K block
    done: list[tuple[int, int]] = field(default_factory=list)  # (K tile, K block) in the order of multiplication
    in_flight: dict[int, list[tuple[dict[int, bool], dict[int, bool]]]] = field(default_factory=dict)
    prefetched: bool = True
    again: dict[str, list[CallSite]] = field(default_factory=lambda: {"load": [], "fetch": []})
    seen: set[tuple[str | int, ...]] = field(default_factory=set)
    live: int = 0
    unrolled: int = 0
    groups: int = 0

    def __post_init__(self) -> None:
        self.buffers = {matrix: [Buffer() for _ in range(self.stages)] for matrix in MATRICES}
        self.open_loops: list[set[int]] = []

    @property
    def all_buffers(self) -> list[Buffer]:
        return [buffer for matrix in MATRICES for buffer in self.buffers[matrix]]

    def send(self, matrix: str, call: str, k_tile: Any, buffer: Any) -> None:
        super().send(matrix, call, k_tile, buffer)
        line = calling_line()
        tile, at = int(k_tile), self.number(buffer, f"{line}: {call}({k_tile}, {buffer})")
        says = f"{line}: {call}({tile}, {at})"
        existing(tile, self.k_tiles, says, f"{self.k_tiles} K tiles")
        old = self.buffers[matrix][at]
        if old.read:
            what = f"{says} overwrites buffer {at}, which was fetched from with no barrier since: "
            what += "another warp may still be reading it."
            raise Unsafe(what, LoopFlaw.OVERWRITTEN(what="being read"))
        if old.tile == tile and not old.fetched:
            what = f"{says}: K tile {tile} is in flight into buffer {at} already, by {old.line}."
            raise Unsafe(what, LoopFlaw.OVERWRITTEN(what="loading"))
        if self.is_lost(matrix, old):
            what = f"{says} overwrites K tile {old.tile}, which has not been fetched from buffer {at} yet."
            raise Unsafe(what, LoopFlaw.OVERWRITTEN(what="needed"))
        self.buffers[matrix][at] = Buffer(tile, line)
        self.note_again("load", line, matrix, tile)

    def note_again(self, call: str, line: CallSite, *part: str | int) -> None:
        if (call, *part) in self.seen:
            self.again[call].append(line)
        self.seen.add((call, *part))

    def is_lost(self, matrix: str, old: Buffer) -> bool:
        """Whether a buffer holds the only copy of a K tile that is still needed."""
        others = [buffer.tile for buffer in self.buffers[matrix] if buffer is not old]
        needed = any((old.tile, block) not in self.done for block in set(range(self.k_blocks)) - old.fetched)
        return old.tile != NOTHING and old.tile not in others and needed

    def fetch(self, k_block: int, buffer: Any) -> None:
        super().fetch(k_block, buffer)
        line = calling_line()
        at, block = self.number(buffer, f"{line}: fetch({k_block}, {buffer})"), int(k_block)
        existing(block, self.k_blocks, f"{line}: fetch({block}, {at})", f"{self.k_blocks} K blocks")
        sources = [self.buffers[matrix][at] for matrix in MATRICES]
        self.note_again("fetch", line, sources[0].tile, block)
        self.registers[block] = Fetched(sources[0].tile, at, line, self.why_not(at))
        for source in sources:
            source.read = True
            source.fetched.add(block)

    def is_live(self, block: int) -> bool:
        """Whether this K block is in registers, and not multiplied yet."""
        held = self.registers.get(block)
        return held is not None and not held.why_not and (held.tile, block) not in self.done

    def multiply(self, k_block: int) -> None:
        super().multiply(k_block)
        line, block = calling_line(), int(k_block)
        if block not in self.registers:
            what = f"{line}: multiply({block}): this K block has not been fetched."
            raise Unsafe(what, LoopFlaw.NOT_FETCHED)
        held = self.registers[block]
        if held.why_not:
            what = f"{line}: multiply({block}) uses what is not there: "
            raise Unsafe(what + held.why_not + f". It was fetched by {held.line}.")
        if (held.tile, block) in self.done:
            raise Unsafe(self.why_twice(line, block, held), LoopFlaw.TWICE)
        self.live = max(self.live, sum(map(self.is_live, self.registers)))
        self.done.append((held.tile, block))
        self.note(held.tile, block)

    def note(self, tile: int, block: int) -> None:
        """Note how much is in flight and prefetched at this multiplication."""
        a, b = (
            {buffer.tile: not buffer.waited for buffer in self.buffers[matrix] if buffer.tile != NOTHING}
            for matrix in MATRICES
        )
        self.in_flight.setdefault(tile, []).append((a, b))
        following = (tile, block + 1) if block + 1 < self.k_blocks else (tile + 1, 0)
        if following[0] < self.k_tiles:
            held = self.registers.get(following[1])
            self.prefetched &= held is not None and held.tile == following[0] and not held.why_not
        for tiles in self.open_loops:
            tiles.add(tile)
            self.unrolled = max(self.unrolled, len(tiles))

    def commit(self) -> None:
        super().commit()
        for buffer in self.all_buffers:
            if buffer.tile != NOTHING and buffer.group is None:
                buffer.group = self.groups
        self.groups += 1

    def wait(self, open_groups: Any) -> None:
        """All groups but the newest `open_groups` have arrived."""
        super().wait(open_groups)
        for buffer in self.all_buffers:
            if buffer.group is not None and buffer.group < self.groups - int(open_groups):
                buffer.waited = True

    def barrier(self, barrier_id: Any = None, number_of_threads: Any = None) -> None:
        super().barrier(barrier_id, number_of_threads)
        if self.is_skipped:
            return
        for buffer in self.all_buffers:
            buffer.visible, buffer.read = buffer.waited, False

    def why_not(self, number: int) -> str:
        """Why a buffer cannot be read yet, or ""."""
        a, b = (self.buffers[matrix][number] for matrix in MATRICES)
        for matrix, buffer in zip(MATRICES, (a, b), strict=True):
            if buffer.tile == NOTHING:
                of = "" if a.tile == b.tile else f" of {matrix}: steps.load loads both matrices"
                return Flaw(f"nothing was loaded into buffer {number}{of}", LoopFlaw.EMPTY)
        if a.tile != b.tile:
            return Flaw(f"buffer {number} has K tile {a.tile} of A and K tile {b.tile} of B", LoopFlaw.MIXED)
        copies = f"the copies of tile {a.tile} into buffer {number}"
        if a.group is None or b.group is None:
            return Flaw(f"{copies} are not committed, so no wait covers them", LoopFlaw.UNCOMMITTED)
        if not (a.waited and b.waited):
            return Flaw(f"{copies} may be in flight: no wait covers their group", LoopFlaw.UNWAITED)
        if not (a.visible and b.visible):
            return Flaw(
                f"no barrier after the wait for tile {a.tile} in buffer {number}: "
                "each thread waits for its own copies only",
                LoopFlaw.UNSEEN,
            )
        return ""

    def why_twice(self, line: CallSite, block: int, held: Fetched) -> str:
        says = f"{line}: multiply({block}): K block {block} of tile {held.tile} is multiplied twice. "
        says += f"Its registers were filled last by {held.line}, from buffer {held.buffer}"
        tiles = [buffer.tile for buffer in self.buffers[MATRICES[0]]]
        if held.tile + 1 in tiles:
            says += f"; tile {held.tile + 1} lies in buffer {tiles.index(held.tile + 1)}"
        return f"{says}."

    def number(self, buffer: Any, call: str) -> int:
        return existing(buffer, self.stages, call, count(self.stages, "buffer"))

    def unrolling(self, *args: Any) -> Iterator[int]:
        tiles: set[int] = set()
        self.open_loops.append(tiles)
        yield from range(*map(int, args))
        self.open_loops = [others for others in self.open_loops if others is not tiles]

    def finish(self) -> None:
        """Raises Unsafe if a part of the product is missing."""
        wanted = {(tile, block) for tile in range(self.k_tiles) for block in range(self.k_blocks)}
        if missing := sorted(wanted - set(self.done)):
            tile, block = missing[0]
            what = (
                f"K block {block} of tile {tile} is never multiplied; {count(self.k_tiles, 'K tile')} must be summed."
            )
            raise Unsafe(what, LoopFlaw.MISSING)


def rehearse(
    main_loop: Callable[..., None], k_tiles: int, k_blocks: int, stages: int, skipped: CallSite | None = None
) -> Stage:
    """Run a @cute.jit main loop on a Stage, once for each kind of thread where it asks which thread it is.

    skipped: the line of a barrier that is left out. Raises Unsafe, DifferentThreads, and what the loop itself raises.
    """

    def play(thread: int) -> Stage:
        stage = Stage(k_tiles, k_blocks, stages, thread, skipped).run(main_loop)
        stage.finish()
        return stage

    return compare_threads(main_loop, RecordedSteps(k_tiles, k_blocks, stages, skipped=skipped), play)
