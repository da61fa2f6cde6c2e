"""Flags in memory: strong operations by which threads order what other threads do, of their block or of another.

PTX orders two threads by a release pattern and an acquire pattern (PTX ISA, 8.9.1 and 8.9.2): one thread runs a fence,
then writes a flag with a strong operation; the other reads the flag with a strong operation, then runs a fence. A
release or an acquire is both in one. All have a scope, and order threads only if each is in the other's.
"""

from dataclasses import dataclass, field

import numpy as np

from tutorlib.simulate.ptx.clocks import (
    ASYNC_PROXY,
    CLUSTER,
    CTA,
    DEVICE,
    KNOWN,
    MBARRIER_INIT,
    Far,
    Fence,
    LaneClocks,
    merged,
)
from tutorlib.simulate.ptx.geometry import WARP
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.meetings import by_key

ACQUIRE, RELEASE = {"acquire", "acq_rel"}, {"release", "acq_rel"}
STRONG = {"volatile", "relaxed", "mmio"} | ACQUIRE | RELEASE
PAST_L1 = {"cg", "cv"}  # loads that ask L2, where all blocks meet
SCOPES = {"cta": CTA, "cluster": CLUSTER}


def scope_of(instruction: Instruction) -> int:
    """That of a fence or a strong operation: all of the GPU, where it names no smaller one."""
    return next((SCOPES[part] for part in instruction.parts if part in SCOPES), DEVICE)


def is_strong(instruction: Instruction) -> bool:
    """Whether it may be the access of a flag."""
    asks = STRONG | PAST_L1 if instruction.parts[0] == "ld" else STRONG
    return instruction.parts[0] in ("atom", "red") or bool(asks & set(instruction.parts))


def fences_of(instruction: Instruction) -> tuple[Fence, ...]:
    """What an instruction is a fence of. tcgen05's before a thread synchronizes is one in its cluster."""
    words = {word for part in instruction.parts for word in part.split("::")}
    if instruction.parts[0] == "tcgen05" and "before_thread_sync" in words:
        return (CLUSTER,)
    if instruction.parts[0] not in ("membar", "fence"):
        return ()
    if "proxy" in words:  # fence.proxy.async, all of it or .shared
        return (ASYNC_PROXY,) if "async" in words and "global" not in words else ()
    return (MBARRIER_INIT, CLUSTER) if "mbarrier_init" in words else (scope_of(instruction),)


def orders_blocks(instruction: Instruction) -> bool:
    """Whether a kernel with this instruction may order its blocks itself."""
    if instruction.parts[0] in ("ld", "st", "atom", "red"):
        return is_strong(instruction) and bool((STRONG - {"relaxed"}) & set(instruction.parts))
    return DEVICE in fences_of(instruction)


# What a flag tells: for each scope in which it does so, and block that wrote it, what that block knew.
Told = dict[tuple[int, int], Far]


@dataclass
class Flags:
    """told: by the piece of memory; each write of a flag puts another one there. latest: that threads have read."""

    clocks: LaneClocks
    told: dict[int, Told] = field(default_factory=dict)
    latest: dict[tuple[int, int, int, bool], Told] = field(default_factory=dict)

    def on_access(self, lanes: np.ndarray, pieces: np.ndarray, instruction: Instruction) -> None:
        """A strong access. Who loads hears what a flag tells, and who stores tells what they know; an atomic does both,
        and passes on what the flag has told so far."""
        hears, tells = instruction.parts[0] in ("ld", "atom", "red"), instruction.parts[0] != "ld"
        if hears and not (self.told or (tells and (self.clocks.section or RELEASE & set(instruction.parts)))):
            return
        for (_, piece), which in by_key(lanes // WARP, pieces).items():
            group = lanes[which]
            if hears:
                self.hear(group, piece, instruction)
            else:
                self.told.pop(piece, None)
            if tells:
                self.tell(group, piece, instruction)

    def are_flags(self, pieces: np.ndarray) -> np.ndarray:
        """Whether each of these places is a flag that tells something."""
        return np.array([piece in self.told for piece in pieces.tolist()], bool)

    def hear(self, lanes: np.ndarray, piece: int, instruction: Instruction) -> None:
        """Threads of a warp read a flag. A poll that finds what the one before it found teaches nothing."""
        acquires, scope = bool(ACQUIRE & set(instruction.parts)), scope_of(instruction)
        told, reader = self.told.get(piece), (int(lanes[0]), len(lanes), piece, acquires)
        if not told or self.latest.get(reader) is told:
            return
        self.latest[reader] = told
        block = self.clocks.geometry.place(lanes[0])
        far: Far = {}
        for (reach, writer), knew in told.items():
            distance = self.distance(block, writer)
            if distance <= min(reach, scope):
                far = merged(far, {(of, KNOWN if acquires else distance): what for (of, _), what in knew.items()})
        if far:
            self.clocks.tell(lanes, far)

    def tell(self, lanes: np.ndarray, piece: int, instruction: Instruction) -> None:
        """Threads of a warp write a flag."""
        block, scope = self.clocks.geometry.place(lanes[0]), scope_of(instruction)
        cluster = block // self.clocks.geometry.cluster_size
        if RELEASE & set(instruction.parts):
            releases = {scope: self.clocks.release(lanes)}
        else:
            scopes = {min(fence, scope) for fence in self.clocks.section if isinstance(fence, int)}
            releases = {at: self.clocks.relaxed(lanes, at) for at in scopes}
        told = {**self.told.get(piece, {})}
        for at, seen in releases.items():
            known = {key: what for key, what in seen.far.items() if key[1] == KNOWN}
            if seen.vector.any():
                known[cluster, KNOWN] = seen.vector
            if known:
                told[at, block] = merged(told.get((at, block), {}), known)
        if told:
            self.told[piece] = told

    def distance(self, block: int, other: int) -> int:
        size = self.clocks.geometry.cluster_size
        return CTA if block == other else CLUSTER if block // size == other // size else DEVICE
