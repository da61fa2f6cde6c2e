"""Which of a block's stores to global memory another block may rely on: fences, and a flag between them.

PTX orders two threads by a release pattern and an acquire pattern (PTX ISA, 8.9.1 and 8.9.2): one thread runs a fence,
then writes a flag with a strong operation; the other reads the flag with a strong operation, then runs a fence. What
the first thread knew before its fence, the barriers of its block included, is over for the second behind its own.
Warps count their steps as in `clocks`, and a warp counts as one thread.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from tutorlib.simulate.ptx.clocks import WarpClocks
from tutorlib.simulate.ptx.geometry import Geometry
from tutorlib.simulate.ptx.ir import Instruction

Seen = dict[int, np.ndarray]  # block → for each of its warps, the last step that is over: (warps,)
Steps = dict[int, list[tuple[int, int, Seen]]]  # block → (warp, its clock, what it brought) each
ACQUIRE, RELEASE = {"acquire", "acq_rel"}, {"release", "acq_rel"}
STRONG = {"volatile", "relaxed", "mmio"} | ACQUIRE | RELEASE
PAST_L1 = {"cg", "cv"}  # loads that ask L2, where all blocks meet


def is_device_fence(instruction: Instruction) -> bool:
    parts = instruction.parts
    return parts[0] in ("membar", "fence") and bool({"gl", "gpu", "sys"} & set(parts)) and "proxy" not in parts


def is_strong(instruction: Instruction) -> bool:
    """Whether it may be the access of a flag between blocks: one with the scope of a block is not."""
    if "cta" in instruction.parts:
        return False
    asks = STRONG | PAST_L1 if instruction.parts[0] == "ld" else STRONG
    return instruction.parts[0] in ("atom", "red") or bool(asks & set(instruction.parts))


def merge(seen: Seen, more: Seen) -> None:
    for block, steps in more.items():
        seen[block] = np.maximum(seen[block], steps) if block in seen else steps


class BlockOrder:
    """What blocks before the batch know is dropped, but for what flags tell."""

    def __init__(self, geometry: Geometry, clocks: WarpClocks) -> None:
        self.geometry, self.clocks = geometry, clocks
        self.published: Steps = defaultdict(list)  # by a fence
        self.heard: Steps = defaultdict(list)  # from a flag
        self.learned: Steps = defaultdict(list)  # from a flag, and a fence came after it
        self.flags: dict[int, Seen] = {}  # by the piece of memory; a warp that writes one puts another dict there
        self.latest: dict[tuple[int, int, int, bool], Seen] = {}  # that a warp has read at a piece, acquiring or not

    def restart(self) -> None:
        """Make ready for another batch."""
        for each in (self.published, self.heard, self.learned, self.latest):
            each.clear()

    def note(self, steps: Steps, block: int, warp: int, seen: Seen) -> None:
        """A step more. Those that all warps of the block know of become one."""
        slot = block - self.geometry.first
        base = self.clocks.base[slot]
        least = self.clocks.known[slot, :, base : base + self.geometry.warps].min(0)
        old = [step for step in steps[block] if step[1] <= least[step[0]]]
        if len(old) > 1:
            together: Seen = {}
            for _, _, brought in old:
                merge(together, brought)
            steps[block] = [(*old[0][:2], together), *(step for step in steps[block] if step[1] > least[step[0]])]
        steps[block].append((warp, self.now(block, warp), seen))

    def known(self, block: int, warp: int, *kinds: Steps) -> Seen:
        """The effects of such steps of the block, as far as this warp knows of them."""
        slot = block - self.geometry.first
        over = self.clocks.known[slot, warp, self.clocks.base[slot] :]
        seen: Seen = {}
        for by, clock, brought in (step for steps in kinds for step in steps.get(block, ())):
            if by == warp or clock <= over[by]:
                merge(seen, brought)
        return seen

    def fence(self, block: int, warp: int) -> None:
        self.learn(block, warp)
        self.publish(block, warp)

    def learn(self, block: int, warp: int) -> None:
        if heard := self.known(block, warp, self.heard):
            self.note(self.learned, block, warp, heard)

    def publish(self, block: int, warp: int) -> None:
        seen, slot = self.known(block, warp, self.learned), block - self.geometry.first
        base = self.clocks.base[slot]
        own = self.clocks.known[slot, warp, base : base + self.geometry.warps].copy()
        own[warp] = self.now(block, warp)
        merge(seen, {block: own})
        self.note(self.published, block, warp, seen)
        self.clocks.release(np.array([slot]), np.array([warp]), whole=False)  # what comes now is behind the fence

    def now(self, block: int, warp: int) -> int:
        return int(self.clocks.now[block - self.geometry.first, warp])

    def on_atomic(self, who: Iterable[tuple[int, int, int]], instruction: Instruction) -> None:
        """who: block, warp and piece of each access, in order."""
        parts = set(instruction.parts)
        if not (self.published or self.flags or parts & RELEASE):
            return
        for block, warp, piece in who:
            self.hear(block, warp, piece, bool(parts & ACQUIRE))
            self.tell(block, warp, piece, bool(parts & RELEASE))

    def hear(self, block: int, warp: int, piece: int, acquires: bool) -> None:
        """A warp reads a flag. A poll that finds what the one before it found teaches nothing."""
        told, reader = self.flags.get(piece), (block, warp, piece, acquires)
        if told is not None and self.latest.get(reader) is not told:
            self.latest[reader] = told
            self.note(self.heard, block, warp, told)
            if acquires:
                self.learn(block, warp)

    def tell(self, block: int, warp: int, piece: int, releases: bool, anew: bool = False) -> None:
        """A warp writes a flag. anew: not by an atomic, which passes on what the flag has told so far."""
        if releases:
            self.publish(block, warp)
        told = {} if anew else dict(self.flags.get(piece, {}))
        merge(told, self.known(block, warp, self.published))
        self.flags[piece] = told
        if not told:
            del self.flags[piece]

    def is_over(self, block: int, warp: int, storer: int, by: int, clock: int, *, strong: bool) -> bool:
        """Whether a store that warp `by` of the block `storer` made at this clock is over for a warp that accesses the
        same place. strong: its access needs no fence of its own block behind the flag."""
        kinds = (self.learned, self.heard) if strong else (self.learned,)
        seen = self.known(block, warp, *kinds)
        return storer in seen and bool(clock <= seen[storer][by])
