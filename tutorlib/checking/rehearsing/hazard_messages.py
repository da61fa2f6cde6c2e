"""What a rehearsal says of a hazard: at which line, at which K tile, stage and phase, and why."""

from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.participants import LANES, Load, Situation, Wait, Warps, named, who
from tutorlib.checking.rehearsing.plain_python import CallSite
from tutorlib.problems.wrong import count


def why_not_free(now: Situation, me: Warps, line: CallSite, overwrites: str, old: Load, group: int) -> str:
    """Why a stage must not be overwritten yet, in which an old load is that a warpgroup reads."""
    stage, barrier = old.stage, now.empty[old.stage]
    for warps in now.warps:
        release = warps.releases.get(barrier.name)
        if warps.group == group and release and release.reading is old:
            return (
                f"{release.line}: {who([warps], 'free')} stage {stage} while the wgmma of K tile {old.k_tile} may "
                f"still read it: a wait_group before must leave fewer under way. ({overwrites} it.)"
            )
    mine = [warps for warps in now.warps if warps.group == group]
    if not all(warps.has_multiplied(old) for warps in mine):
        state = "has not multiplied"
    else:
        state = "may still read" if all(warps.is_reading(old) for warps in mine) else "has read, but nobody says so"
    what = f"{line}: {overwrites} K tile {old.k_tile} in stage {stage}, which warpgroup {group} {state}"
    wait = me.waits.get(barrier.name)
    if wait is None:
        return f"{what}: no wait for {barrier.name} before it."
    if wait.complete <= old.turn:
        return (
            f"{what}: the last wait for {barrier.name}, {wait.line}, was for phase {wait.parity} and passed "
            f"{why_passed(wait)}; K tile {old.k_tile} is read when phase {old.turn % 2} is complete."
        )
    return (
        f"{barrier.phases[old.turn].line}: phase {old.turn % 2} of {barrier.name} is complete too early, with arrivals "
        f"{barrier.came(old.turn)}; it takes one of each warp that reads the stage. Then {what}."
    )


def why_not_there(now: Situation, me: Warps, line: CallSite, stage: int) -> str:
    """Why a stage cannot be multiplied yet."""
    barrier, wait = now.full[stage], me.waits.get(f"full[{stage}]")
    load = now.sent[stage][-1] if now.sent[stage] else None
    if load is None:
        what = f"{line}: reads stage {stage}, into which nothing has been loaded yet"
    else:
        what = f"{line}: reads stage {stage}, where K tile {load.k_tile} may not have landed yet"
    if wait is None:
        return f"{what}: no wait for {barrier.name} before it."
    turn = load.turn if load else 0
    if wait.complete <= turn:
        return (
            f"{what}: the last wait for {barrier.name}, {wait.line}, was for phase {wait.parity} and passed "
            f"{why_passed(wait)}; the tile is there when phase {turn % 2} is complete."
        )
    return (
        f"{barrier.phases[turn].line}: phase {turn % 2} of {barrier.name} is complete too early, when "
        f"{barrier.phases[turn].expected:,} bytes are expected; the loads of a stage have {now.stage_bytes:,}, and the "
        f"arrival must come with expect_tx, or after it. Then {what}."
    )


def why_passed(wait: Wait) -> str:
    """How a wait that ended before its time came to end."""
    if wait.complete == 0:
        return "at once (a fresh mbarrier counts phase 1 as complete)"
    if wait.at_once:
        return f"at once (the phase {wait.parity} before was complete)"
    return f"with the phase {wait.parity} before"


def why_twice(me: Warps, line: CallSite, load: Load) -> str:
    """Which wait let a tile be read again."""
    wait = me.waits.get(f"full[{load.stage}]")
    earlier = [multiplication for multiplication in me.issued if multiplication.load is load][-1]
    why = ""
    if wait and wait.at_once and earlier is not me.issued[-1]:
        why = f": the wait for phase {wait.parity} of full[{load.stage}], {wait.line}, passed at once"
    return f"{line}: K tile {load.k_tile}, in stage {load.stage}, is multiplied twice{why}."


def why_not_first(me: Warps, line: CallSite, load: Load) -> str:
    """`first` is missing, or given again."""
    if not me.issued:
        return f"{line}: the first multiplication, of K tile {load.k_tile}, adds to old sums: it needs `first`."
    lost = ", ".join(str(earlier.load.k_tile) for earlier in me.issued)
    return f"{line}: `first` at K tile {load.k_tile} forgets the sums of K tile {lost}."


def why_not_all_lanes(me: Warps, line: CallSite, barrier: MBarrier) -> str:
    """Where elect_one() is missing."""
    return (
        f"{line}: {barrier.name} awaits {count(barrier.awaited, 'arrival')} in a phase, and all {LANES} lanes of a "
        f"warp arrive, {me.lanes} threads of {me.name}: inside elect_one() it is one of each warp."
    )


def deadlock(now: Situation) -> str:
    """Who waits for what, and what would complete it: several lines."""
    waiting: dict[tuple[CallSite, str, str], list[Warps]] = {}
    for warps in now.warps:
        if not warps.done:
            waiting.setdefault(warps.held_up, []).append(warps)
    lines = ["deadlock, nobody can go on:"]
    for (line, what, name), several in waiting.items():
        barrier = next((barrier for barrier in (*now.full, *now.empty) if barrier.name == name), None)
        lines.append(
            f"{line}: {who(several, 'wait')} for {what}{lacking(now, several[0], barrier) if barrier else ''}."
        )
    if ended := [warps for warps in now.warps if warps.done]:
        lines.append(f"At the end already: {named(ended)}.")
    multiplied = ", ".join(
        f"{max(len(warps.issued) for warps in now.warps if warps.group == group)} by warpgroup {group}"
        for group in now.done
    )
    lines.append(f"Loaded: {sum(map(len, now.sent))} of {count(now.k_tiles, 'K tile')}. Multiplied: {multiplied}.")
    return "\n".join([*lines, *unexpected(now)])


def lacking(now: Situation, me: Warps, barrier: MBarrier) -> str:
    """What a barrier lacks, and why that may be."""
    said = f", which lacks {barrier.lacks()}"
    passed = me.passed.get(barrier.name, 0)
    if barrier.complete > passed:
        phases = " and ".join(str(phase % 2) for phase in range(passed, barrier.complete))
        return f"{said}; phase {phases} came before this wait, the {ordinal(passed + 1)} of {me.name}"
    if barrier in now.empty and not now.sent[now.empty.index(barrier)]:
        return (
            f"{said}; nothing has been loaded there, so nobody frees it. The first round's wait is for phase 1, "
            "which a fresh mbarrier counts as complete, or is left out"
        )
    return said


def ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


def unexpected(now: Situation) -> list[str]:
    """Bytes that came where nobody expects them, or are expected where none come; stages that were freed too early."""
    lines = [
        f"{release.line}: {who([warps], 'free')} stage {release.reading.stage}, where the wgmma of K tile "
        f"{release.reading.k_tile} is under way."
        for warps in now.warps
        for release in warps.releases.values()
        if release.reading
    ]
    for barrier in now.full:
        if barrier.bytes < 0:
            lines.append(f"{-barrier.bytes:,} bytes that nobody expects have landed at {barrier.name}.")
    for barrier in now.empty:
        if barrier.bytes > 0:
            lines.append(f"{barrier.name} expects {barrier.bytes:,} bytes, but loads land at `full`.")
    return lines


def unfinished(now: Situation) -> str:
    """What the product lacks at the end, or ""."""
    for warps in now.warps:
        if left := warps.issued[warps.retired :]:
            covered = bool(warps.groups) and warps.groups[-1] > warps.retired
            why = "no wait_group(0) after it" if covered else "no commit_group() after it, so no wait covers it"
            tile = left[0].load.k_tile
            return f"{left[0].line}: the loop ends while this wgmma, of K tile {tile}, may be under way: {why}."
        seen = {multiplication.load.k_tile for multiplication in warps.issued}
        if warps.group is not None and len(seen) < now.k_tiles:
            tile = min(set(range(now.k_tiles)) - seen)
            return f"K tile {tile} is never multiplied by warpgroup {warps.group}; all {now.k_tiles} are to be summed."
    return ""
