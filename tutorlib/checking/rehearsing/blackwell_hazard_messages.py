"""What a rehearsal of the Blackwell kernel's loops says of a hazard: at which line, of which tile, and why."""

from tutorlib.checking.rehearsing.blackwell_participants import RoleWarps, TileLoad, TileScene, Use
from tutorlib.checking.rehearsing.hazard_messages import why_passed
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.plain_python import CallSite


def tile_of(load: TileLoad) -> str:
    return f"K tile {load.k_tile} of tile {load.number}"


def part_of(use: Use, part: int) -> str:
    return f"part {part} of tile {use.number}"


def about_wait(me: RoleWarps, barrier: MBarrier, turn: int) -> str:
    """Why a wait for this mbarrier does not help, where its phase number `turn` was to be waited for."""
    wait = me.waits.get(barrier.name)
    if wait is None:
        return f"no wait for {barrier.name} before it"
    if wait.complete <= turn:
        return (
            f"the last wait for {barrier.name}, {wait.line}, was for phase {wait.parity} and passed "
            f"{why_passed(wait)}; this needs phase number {turn + 1}, whose parity is {turn % 2}"
        )
    return (
        f"the wait for {barrier.name} is right, but that phase was complete too early, with the arrival at "
        f"{barrier.phases[turn].line}"
    )


def overwritten_stage(now: TileScene, me: RoleWarps, line: CallSite, old: TileLoad, new: str) -> str:
    """A load into a stage that is still needed."""
    state = "has not been multiplied" if old.read_by is None else "may still be read by tcgen05.mma"
    barrier = now.empty[old.block][old.stage]
    return (
        f"{line}: {new} overwrites {tile_of(old)} in stage {old.stage}{now.of_block(old.block)}, which {state}: "
        f"{about_wait(me, barrier, old.turn)}."
    )


def not_there(now: TileScene, me: RoleWarps, line: CallSite, block: int, stage: int, load: TileLoad | None) -> str:
    """A multiplication of what has not landed."""
    barrier = now.full[0][stage]
    if load is None:
        what = f"stage {stage}{now.of_block(block)}, into which nothing has been loaded yet"
        return f"{line}: multiplies {what}: {about_wait(me, barrier, 0)}."
    why = about_wait(me, barrier, load.turn)
    wait = me.waits.get(barrier.name)
    if wait and wait.complete > load.turn:
        expected = barrier.phases[load.turn].expected
        why = (
            f"phase {load.turn % 2} of {barrier.name} was complete too early, when {expected:,} bytes were expected at "
            f"{barrier.phases[load.turn].line}; {now.stage_bytes:,} come, and no arrival may come before them"
        )
    return f"{line}: multiplies stage {stage}{now.of_block(block)}, where {tile_of(load)} may not be yet: {why}."


def multiplied_twice(now: TileScene, me: RoleWarps, line: CallSite, load: TileLoad) -> str:
    barrier = now.full[0][load.stage]
    return f"{line}: {tile_of(load)} is multiplied twice: {about_wait(me, barrier, load.turn + 1)}."


def overwritten_sums(
    now: TileScene, me: RoleWarps, line: CallSite, old: Use, warps: RoleWarps, part: int, number: int
) -> str:
    """`first` on an accumulator whose sums have not all been taken."""
    what = (
        f"{line}: tile {number} overwrites {part_of(old, part)} in accumulator {old.accumulator}, which {warps.name} "
        "may not have read"
    )
    barrier = now.free[0][old.accumulator]
    wait = me.waits.get(barrier.name)
    freed, where = warps.freed.get(old.accumulator, (None, line))
    if wait and wait.complete > old.turn and freed is old:
        freed_early = f"accumulator {old.accumulator} is freed before {warps.name} can have all of tile {old.number}"
        return f"{where}: {freed_early}: {what}."
    return f"{what}: {about_wait(me, barrier, old.turn)}."


def not_summed(now: TileScene, me: RoleWarps, line: CallSite, accumulator: int, use: Use | None) -> str:
    """Sums that are read before they are there."""
    barrier = now.ready[me.block][accumulator]
    if use is None:
        return (
            f"{line}: reads accumulator {accumulator}, where nothing has been multiplied: {about_wait(me, barrier, 0)}."
        )
    what = f"{line}: reads accumulator {accumulator}, where the sums of tile {use.number} may not be complete"
    return f"{what}: {about_wait(me, barrier, use.turn)}."


def stuck_tiles(now: TileScene) -> str:
    """Who waits for what, and what would complete it: several lines."""
    waiting: dict[tuple[CallSite, str, str], list[RoleWarps]] = {}
    for warps in now.warps:
        if not warps.done:
            waiting.setdefault(warps.held_up, []).append(warps)
    lines = ["deadlock, nobody can go on:"]
    for (line, what, name), several in waiting.items():
        barrier = next((barrier for barrier in now.every() if barrier.name == name), None)
        lacks = f", which lacks {barrier.lacks()}" if barrier else ""
        names = " and ".join(warps.name for warps in several)
        lines.append(f"{line}: {names} {'wait' if len(several) > 1 else 'waits'} for {what}{lacks}.")
    if ended := [warps.name for warps in now.warps if warps.done]:
        lines.append(f"At the end already: {', '.join(ended)}.")
    loads = sum(len(stage) for stage in now.sent[0])
    stored = min((len(warps.stored) for warps in now.storing), default=0)
    lines.append(
        f"Loaded: {loads} of {now.tiles * now.k_tiles} K tiles. Multiplied: {len(now.issued)}. "
        f"Parts written: {stored} of {now.tiles * now.parts}."
    )
    for barrier in now.every():
        if barrier.bytes < 0:
            lines.append(f"{-barrier.bytes:,} bytes that nobody expects have landed at {barrier.name}.")
    return "\n".join(lines)
