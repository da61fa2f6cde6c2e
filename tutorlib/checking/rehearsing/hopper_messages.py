"""Messages about a hazard in a Hopper loop: the line, the K tile, stage and phase, and the cause."""

from functools import partial

from tutorlib.checking.rehearsing import hazard_messages
from tutorlib.checking.rehearsing.call_site import CallSite
from tutorlib.checking.rehearsing.hazard_messages import about_wait, incomplete, who
from tutorlib.checking.rehearsing.hopper_warps import WARPS, HopperScene, Release, WarpgroupWarps
from tutorlib.checking.rehearsing.machine import Load
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.failure import Flaw
from tutorlib.problems.wrong import count


def named(several: list[WarpgroupWarps]) -> list[str]:
    """ "the producer", "warpgroup 1"; a complete warpgroup is named as one."""
    found: list[str] = []
    for warps in several:
        together = sum(other.warps for other in several if other.group == warps.group)
        found.append(f"warpgroup {warps.group}" if warps.group is not None and together == WARPS else warps.name)
    return list(dict.fromkeys(found))


def why_not_free(now: HopperScene, me: WarpgroupWarps, line: CallSite, overwrites: str, old: Load, group: int) -> Flaw:
    """Why a stage must not be overwritten yet: a warpgroup reads an older load there."""
    stage, barrier = old.stage, now.barriers["empty"][0][old.stage]
    for warps in now.warps:
        release = warps.releases.get(barrier.name)
        if warps.group == group and release and release.reading is old:
            return freed_early(warps, release, old) + f" ({overwrites} it.)"
    mine = [warps for warps in now.warps if warps.group == group]
    if not all(warps.has_multiplied(old) for warps in mine):
        state = "has not multiplied"
    else:
        state = "may still read" if all(warps.is_reading(old) for warps in mine) else "has read and not arrived"
    what = f"{line}: {overwrites} K tile {old.k_tile} in stage {stage}, which warpgroup {group} {state}"
    overwritten = Flaw(what, LoopFlaw.OVERWRITTEN(what="needed"))
    needed = f"K tile {old.k_tile} is read when phase {old.turn % 2} is complete"
    if why := about_wait(me, barrier, old.turn, needed):
        either = ", and no barrier of the block" if now.stages == 1 and barrier.name not in me.waits else ""
        return overwritten + ": " + why + either + "."
    early = (
        f"{barrier.phases[old.turn].line}: phase {old.turn % 2} of {barrier.name} is complete too early, with arrivals "
        f"{barrier.came(old.turn)}; it takes one of each warp that reads the stage. Then "
    )
    return incomplete(early, barrier) + overwritten + "."


NO_LOAD = " (Here no load follows; where the ring goes on with the next tile, one does.)"


def last_freed_early(now: HopperScene) -> str:
    """Of a finished block: a stage that was freed too early, where nothing was loaded any more, or ""."""
    for warps in now.warps:
        for release in warps.releases.values():
            if release.reading:
                return freed_early(warps, release, release.reading) + NO_LOAD
    return ""


def freed_again(now: HopperScene) -> str:
    """Of a finished block: a stage with more arrivals at `empty` than its K tiles take, or ""."""
    for barrier in now.barriers["empty"][0]:
        came = sum(sum(phase.arrivals.values()) for phase in barrier.phases)
        if came > (most := now.consumers * (loads := len(now.sent[0][barrier.at]))):
            line = next(phase.line for phase in reversed(barrier.phases) if phase.line)
            what = (
                f"{line}: at the end {barrier.name} has {came} arrivals, where {count(loads, 'K tile')} in that stage "
                f"take {most}: a warp frees a stage once for each K tile."
            )
            return Flaw(what, LoopFlaw.TOO_OFTEN(barrier=barrier.kind)) + NO_LOAD
    return ""


def freed_early(warps: WarpgroupWarps, release: Release, load: Load) -> Flaw:
    """An arrival at `empty` before the wgmma that reads the load is known to be over."""
    what = (
        f"{release.line}: {who(named([warps]), 'free')} stage {load.stage} while the wgmma of K tile {load.k_tile} "
        "may still read it: a wait_group before must leave fewer in flight."
    )
    return Flaw(what, LoopFlaw.OVERWRITTEN(what="being read"))


def why_not_there(now: HopperScene, me: WarpgroupWarps, line: CallSite, stage: int, load: Load | None) -> Flaw:
    """Why a stage cannot be multiplied yet."""
    barrier, turn = now.barriers["full"][0][stage], load.turn if load else 0
    if load is None:
        what = Flaw(f"{line}: reads stage {stage}, into which nothing has been loaded yet", LoopFlaw.EMPTY)
    else:
        landing = f"{line}: reads stage {stage}, where K tile {load.k_tile} may not have landed yet"
        what = Flaw(landing, LoopFlaw.NOT_LANDED)
    if why := about_wait(me, barrier, turn, f"the tile is there when phase {turn % 2} is complete"):
        return what + ": " + why + "."
    early = (
        f"{barrier.phases[turn].line}: phase {turn % 2} of {barrier.name} is complete too early, when "
        f"{barrier.phases[turn].expected:,} bytes are expected; the loads of a stage have {now.stage_bytes:,}, and the "
        f"arrival must come with expect_tx, or after it. Then "
    )
    return incomplete(early, barrier) + what + "."


def why_twice(me: WarpgroupWarps, line: CallSite, load: Load) -> Flaw:
    """The wait that let a tile be read again."""
    wait = me.waits.get(f"full[{load.stage}]")
    earlier = [multiplication for multiplication in me.issued if multiplication.load is load][-1]
    why = ""
    if wait and wait.at_once and earlier is not me.issued[-1]:
        why = f": the wait for phase {wait.parity} of full[{load.stage}], {wait.line}, passed at once"
    return Flaw(f"{line}: K tile {load.k_tile}, in stage {load.stage}, is multiplied twice{why}.", LoopFlaw.TWICE)


def why_not_first(me: WarpgroupWarps, line: CallSite, load: Load) -> Flaw:
    """`first` is missing, or given again."""
    if not me.issued:
        what = f"{line}: the first multiplication, of K tile {load.k_tile}, adds to old accumulators: it needs `first`."
        return Flaw(what, LoopFlaw.FIRST(given="never"))
    lost = ", ".join(str(earlier.load.k_tile) for earlier in me.issued)
    what = f"{line}: `first` at K tile {load.k_tile} discards the accumulators of K tile {lost}."
    return Flaw(what, LoopFlaw.FIRST(given="again"))


def deadlock_of_block(now: HopperScene) -> Flaw:
    """Lines about the waiting warps, and what would complete their phases."""
    multiplied = ", ".join(
        f"{max(len(warps.issued) for warps in now.warps if warps.group == group)} by warpgroup {group}"
        for group in now.done
    )
    loaded = f"Loaded: {len(now.loads())} of {count(now.k_tiles, 'K tile')}. Multiplied: {multiplied}."
    freed = [
        f"{release.line}: {who(named([warps]), 'free')} stage {release.reading.stage}, where the wgmma of K tile "
        f"{release.reading.k_tile} is in flight."
        for warps in now.warps
        for release in warps.releases.values()
        if release.reading
    ]
    stuck = hazard_messages.deadlock(now, named, partial(lacking, now), " and ", [loaded, *freed])
    for barrier in now.barriers["empty"][0]:
        if barrier.bytes > 0:
            stuck += f"\n{barrier.name} expects {barrier.bytes:,} bytes, but loads land at `full`."
    return stuck


def lacking(now: HopperScene, me: WarpgroupWarps, barrier: MBarrier) -> str:
    """The arrivals or bytes that a barrier lacks, and a likely cause."""
    said = f", which lacks {barrier.lacks()}"
    passed = me.passed.get(barrier.name, 0)
    if barrier.complete > passed:
        phases = " and ".join(str(phase % 2) for phase in range(passed, barrier.complete))
        return f"{said}; phase {phases} came before this wait, the {ordinal(passed + 1)} of {me.name}"
    if barrier.kind == "empty" and not now.newest(barrier.at):
        return (
            f"{said}; nothing has been loaded there, so no consumer frees it. The first round waits for phase 1, "
            "which a fresh mbarrier counts as complete, or is left out"
        )
    return said


def ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


def unfinished(now: HopperScene) -> str:
    """A part missing from the finished product, or ""."""
    for warps in now.warps:
        if left := warps.issued[warps.retired :]:
            covered = bool(warps.groups) and warps.groups[-1] > warps.retired
            why = "no wait_group(0) after it" if covered else "no commit_group() after it, so no wait covers it"
            tile = left[0].load.k_tile
            what = f"{left[0].line}: the loop ends while this wgmma, of K tile {tile}, may be in flight: {why}."
            return Flaw(what, LoopFlaw.UNWAITED)
        seen = {multiplication.load.k_tile for multiplication in warps.issued}
        if warps.group is not None and len(seen) < now.k_tiles:
            tile = min(set(range(now.k_tiles)) - seen)
            what = f"K tile {tile} is never multiplied by warpgroup {warps.group}; all {now.k_tiles} are to be summed."
            return Flaw(what, LoopFlaw.MISSING)
    return ""
