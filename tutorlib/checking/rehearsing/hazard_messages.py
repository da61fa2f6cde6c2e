"""Messages about a rehearsed hazard on any GPU: who waits where, for which phase, and why that does not help."""

from collections.abc import Callable, Sequence
from typing import Any

from tutorlib.checking.rehearsing.machine import HeldUp, RehearsalMachine, Wait, Warps
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.failure import Flaw


def who(names: Sequence[str], verb: str) -> str:
    """A sentence's subject and verb: "warp 0 waits", "warp 0 and warps 1 to 3 wait"."""
    subject = " and ".join(names)
    plural = len(names) > 1 or subject.startswith("warps ")
    return f"{subject} {verb}{'' if plural else 's'}"


def why_passed(wait: Wait) -> str:
    """How a wait ended that ended too early."""
    if wait.complete == 0:
        return "at once (a fresh mbarrier counts phase 1 as complete)"
    if wait.at_once:
        return f"at once (the phase {wait.parity} before was complete)"
    return f"with the phase {wait.parity} before"


def about_wait(me: Warps, barrier: MBarrier, turn: int, needed: str) -> Flaw | None:
    """Why the last wait for this mbarrier does not cover its phase number `turn`; None if it does.

    needed: that phase, in words.
    """
    wait = me.waits.get(barrier.name)
    if wait is None:
        return Flaw(f"no wait for {barrier.name} before it", LoopFlaw.WAIT(barrier=barrier.kind, why="missing"))
    if wait.complete > turn:
        return None
    return Flaw(
        f"the last wait for {barrier.name}, {wait.line}, was for phase {wait.parity} and passed {why_passed(wait)}; "
        f"{needed}",
        LoopFlaw.WAIT(barrier=barrier.kind, why="early"),
    )


def incomplete(what: str, barrier: MBarrier) -> Flaw:
    """The hazard of a phase that ended too early."""
    return Flaw(what, LoopFlaw.WAIT(barrier=barrier.kind, why="incomplete"))


def deadlock(
    now: RehearsalMachine,
    names: Callable[[list[Any]], list[str]],
    lacking: Callable[[Any, MBarrier], str],
    ended_joint: str,
    progress: list[str],
) -> Flaw:
    """Lines about a deadlock: the waiting warps and their phases, the progress of the others, bytes without expect-tx.

    names: names several warps. lacking: describes what an mbarrier lacks for waiting warps.
    """
    waiting: dict[HeldUp, list[Warps]] = {}
    for warps in now.warps:
        if not warps.done:
            waiting.setdefault(warps.held_up, []).append(warps)
    lines, failures = ["deadlock, no warp can go on:"], [LoopFlaw.DEADLOCK()]
    for held_up, several in waiting.items():
        barrier = held_up.barrier
        lacks = lacking(several[0], barrier) if barrier else ""
        lines.append(f"{held_up.line}: {who(names(several), 'wait')} for {held_up.what}{lacks}.")
        if barrier:
            at = {"barrier": barrier.kind, "at": barrier.at, "block": barrier.block, "phase": held_up.phase}
            lacked = barrier.lacks().split(" (")[0].split(" and ")[0]
            of = "bytes" if barrier.bytes else "arrivals"
            failures += [LoopFlaw.DEADLOCK(who=warps.name, lacks=lacked, of=of, **at) for warps in several]
    if ended := [warps for warps in now.warps if warps.done]:
        lines.append(f"At the end already: {ended_joint.join(names(ended))}.")
    lines += progress
    for barrier in now.all_barriers():
        if barrier.bytes < 0:
            lines.append(f"{-barrier.bytes:,} bytes that no expect-tx announced have landed at {barrier.name}.")
            failures.append(LoopFlaw.UNEXPECTED())
    return Flaw("\n".join(lines), *failures)
