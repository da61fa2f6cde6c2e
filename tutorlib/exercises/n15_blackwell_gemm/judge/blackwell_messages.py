"""Messages about hazards in the Blackwell kernel's loops: the line, the tile, and the cause."""

from tutorlib.checking.rehearsing import hazard_messages
from tutorlib.checking.rehearsing.call_site import CallSite
from tutorlib.checking.rehearsing.hazard_messages import incomplete
from tutorlib.checking.rehearsing.machine import Load
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.exercises.n15_blackwell_gemm.judge.blackwell_warps import BlackwellScene, RoleWarps, Use
from tutorlib.failure import Flaw


def tile_of(load: Load) -> str:
    return f"K tile {load.k_tile} of tile {load.tile}"


def part_of(use: Use, part: int) -> str:
    return f"part {part} of tile {use.tile}"


def about_phase(me: RoleWarps, barrier: MBarrier, turn: int) -> Flaw:
    """Why a wait for this mbarrier does not cover its phase number `turn`."""
    needed = f"this needs phase number {turn + 1}, whose parity is {turn % 2}"
    return hazard_messages.about_wait(me, barrier, turn, needed) or incomplete(
        f"the wait for {barrier.name} is right, but that phase was complete too early, with the arrival at "
        f"{barrier.phases[turn].line}",
        barrier,
    )


def overwritten_stage(now: BlackwellScene, me: RoleWarps, line: CallSite, old: Load, new: str) -> Flaw:
    """A load into a stage that is still needed."""
    state = "has not been multiplied" if old.read_by is None else "may still be read by tcgen05.mma"
    what = f"{line}: {new} overwrites {tile_of(old)} in stage {old.stage}{now.of_block(old.block)}, which {state}: "
    barrier = now.barriers["empty"][old.block][old.stage]
    needed = "needed" if old.read_by is None else "being read"
    return Flaw(what, LoopFlaw.OVERWRITTEN(what=needed)) + about_phase(me, barrier, old.turn) + "."


def not_there(now: BlackwellScene, me: RoleWarps, line: CallSite, block: int, stage: int, load: Load | None) -> Flaw:
    """A multiplication of a K tile that may not have landed."""
    barrier, at = now.barriers["full"][0][stage], f"stage {stage}{now.of_block(block)}"
    if load is None:
        what = Flaw(f"{line}: multiplies {at}, into which nothing has been loaded yet: ", LoopFlaw.EMPTY)
        return what + about_phase(me, barrier, 0) + "."
    why = about_phase(me, barrier, load.turn)
    wait = me.waits.get(barrier.name)
    if wait and wait.complete > load.turn:
        phase = barrier.phases[load.turn]
        why = incomplete(
            f"phase {load.turn % 2} of {barrier.name} was complete too early, when {phase.expected:,} bytes were "
            f"expected at {phase.line}; {now.stage_bytes:,} come, and no arrival may come before them",
            barrier,
        ) + Flaw("", LoopFlaw.BYTES)
    what = Flaw(f"{line}: multiplies {at}, where {tile_of(load)} may not be yet: ", LoopFlaw.NOT_LANDED)
    return what + why + "."


def multiplied_twice(now: BlackwellScene, me: RoleWarps, line: CallSite, load: Load) -> Flaw:
    what = Flaw(f"{line}: {tile_of(load)} is multiplied twice: ", LoopFlaw.TWICE)
    return what + about_phase(me, now.barriers["full"][0][load.stage], load.turn + 1) + "."


def overwritten_acc(
    now: BlackwellScene, me: RoleWarps, line: CallSite, old: Use, warps: RoleWarps, part: int, tile: int
) -> Flaw:
    """`first` on an accumulator that has not been read completely."""
    what = Flaw(
        f"{line}: tile {tile} overwrites {part_of(old, part)} in accumulator {old.accumulator}, which {warps.name} "
        "may not have read",
        LoopFlaw.SUMS,
    )
    barrier = now.barriers["free"][0][old.accumulator]
    wait = me.waits.get(barrier.name)
    freed, where = warps.freed.get(old.accumulator, (None, line))
    if wait and wait.complete > old.turn and freed is old:
        early = f"{where}: accumulator {old.accumulator} is freed before {warps.name} can have all of tile {old.tile}: "
        return Flaw(early, LoopFlaw.FREED) + what + "."
    return what + ": " + about_phase(me, barrier, old.turn) + "."


def not_summed(now: BlackwellScene, me: RoleWarps, line: CallSite, accumulator: int, use: Use | None) -> Flaw:
    """Accumulators that are read before they are complete."""
    barrier = now.barriers["ready"][me.block][accumulator]
    reads = f"{line}: reads accumulator {accumulator}, where"
    if use is None:
        what = Flaw(f"{reads} nothing has been multiplied: ", LoopFlaw.NOT_SUMMED)
        return what + about_phase(me, barrier, 0) + "."
    return (
        f"{reads} the accumulators of tile {use.tile} may not be complete: " + about_phase(me, barrier, use.turn) + "."
    )


def stuck_tiles(now: BlackwellScene) -> Flaw:
    """Which warps wait for which mbarriers, and what these lack: several lines."""
    loaded = f"{len(now.loads())} of {now.tiles * now.k_tiles}"
    stored = min((len(warps.stored) for warps in now.storing), default=0)
    progress = (
        f"Loaded: {loaded} K tiles. Multiplied: {len(now.issued)}. Parts written: {stored} of {now.tiles * now.parts}."
    )

    def names(several: list[RoleWarps]) -> list[str]:
        return [warps.name for warps in several]

    stuck = hazard_messages.deadlock(
        now, names, lambda me, barrier: f", which lacks {barrier.lacks()}", ", ", [progress]
    )
    return stuck + Flaw("", LoopFlaw.LOADED(tiles=loaded))
