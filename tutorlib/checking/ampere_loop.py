"""Answers that replace one part of the GEMM in `kernels.ampere`: any part, and its main loop."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Literal

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, Verdict
from tutorlib.checking.library_use import InModule
from tutorlib.checking.part import HostFunction, Part, need_callable
from tutorlib.checking.rehearsed import first_weakness
from tutorlib.checking.rehearsing.call_site import CallSite
from tutorlib.checking.rehearsing.cp_async import Stage, rehearse
from tutorlib.checking.rehearsing.recorded_steps import MATRICES
from tutorlib.checking.rehearsing.unsafe import LoopFlaw, Unsafe
from tutorlib.failure import Flaw
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.problems.wrong import count

K_TILES = (1, 2, 3, 8)  # a loop must work where it is shorter than its pipeline, too
K_BLOCKS = 4
LIVE = 3  # K blocks in registers at most: one that is multiplied, and one or two fetched ahead
ONE_BUFFER = GemmConfig()
AMPERE_TIMED = ("80", "90")  # the GPUs that the published ladder and this one are timed on
COURSE_LOOPS = {
    "the course's main loop": InModule("tutorlib.kernels.ampere.main_loops", "single_buffer"),
    "the course's multistage loop": InModule("tutorlib.kernels.ampere.main_loops", "multistage"),
    "make_loop": InModule("tutorlib.kernels.ampere.schedules", "make_loop"),
}
COURSE_SHARES = {
    f"{name} of the course": InModule(f"tutorlib.kernels.ampere.{module}", name)
    for module, name in (
        ("thread_share", "Steps"),
        ("thread_share", "GlobalToShared"),
        ("thread_share", "Accumulators"),
        ("operands", "Operand"),
        ("operands", "make_operands"),
    )
}
COURSE_KERNEL = {"make_gemm": InModule("tutorlib.kernels.ampere.gemm", "make_gemm")}

PartName = Literal["smem", "g2s", "mma", "operands", "copies", "steps", "columns", "main_loop", "order", "epilogue"]


@dataclass(frozen=True, kw_only=True)
class AmperePart(Part):
    """name: of the part. config: of the kernel around it.

    All other parts are the course's: its main loop for this number of stages, raster order, its epilogue.
    """

    name: PartName
    config: GemmConfig = ONE_BUFFER

    def host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.ampere.gemm import make_gemm
        from tutorlib.kernels.ampere.main_loops import multistage, single_buffer

        loop = single_buffer if self.config.stages == 1 else multistage
        return make_gemm(self.config, **{"main_loop": loop, self.name: need_callable(answer)})


@dataclass(frozen=True, kw_only=True)
class AmpereLoop(AmperePart):
    """A main loop: rehearsed on the CPU, where every hazard shows, before it is compiled and run.

    stages: the numbers of buffers in shared memory that it must work with; all but one of them must be in flight
        while half of a tile's K blocks or more are multiplied.
    prefetched: whether a K block's registers must be fetched before the one before it is multiplied, and not all of a
        tile's at once.
    barriers: as many as a step along K needs; one more is allowed before the loop.
    k_blocks: the numbers of K blocks in a K tile that it must work with.
    A loop that is safe and not as good as that has half the points for right results.
    """

    name: PartName = "main_loop"
    stages: tuple[int, ...]
    prefetched: bool = False
    barriers: int = 1
    k_blocks: tuple[int, ...] = (K_BLOCKS,)

    def look(self, answer: Answer, points: float) -> Verdict | None:
        require_jit(answer)
        return first_weakness(
            (
                (
                    f"{count(k_tiles, 'K tile')}"
                    + (f" of {k_blocks} K blocks" if k_blocks != K_BLOCKS else "")
                    + f", {count(stages, 'buffer')}",
                    partial(self.rehearse, answer, k_tiles, stages, k_blocks),
                )
                for k_blocks, stages, k_tiles in product(self.k_blocks, self.stages, K_TILES)
            ),
            safe=points / 2,
        )

    def rehearse(self, answer: Answer, k_tiles: int, stages: int, k_blocks: int) -> str:
        stage = rehearse(answer, k_tiles, k_blocks, stages)
        if stage.unrolled > stages + 1:
            raise Unsafe(
                f"{stage.unrolled} K tiles are multiplied in one range_constexpr, a loop that the compiler unrolls. "
                "With K = 4096 that is 64 times the code, and minutes of compiling. Loops over K tiles are plain "
                "range.",
                LoopFlaw.UNROLLED,
            )
        return self.find_weakness(answer, stage)

    def find_weakness(self, answer: Answer, stage: Stage) -> str:
        """The weakness of a right loop, or ""."""
        for tile, loaded in sorted(stage.in_flight.items()):
            if stage.k_blocks < K_BLOCKS or tile + stage.stages > stage.k_tiles:
                continue  # a load behind the first of two K blocks; at the end of K a loop may drain as it likes
            if idle := find_idle(tile, loaded, stage.stages - 1):
                return idle
        if self.prefetched and not stage.prefetched:
            what = "it is safe, but it multiplies a K block before it has fetched the next one's registers."
            return Flaw(what, LoopFlaw.PREFETCH)
        if again := fetched_or_loaded_again(stage):
            return again
        if self.prefetched and stage.live > LIVE:
            what = f"it is safe, but it holds {stage.live} K blocks' operands in registers at a time; two are enough."
            return Flaw(what, LoopFlaw.LIVE)
        if len(stage.barriers) > self.barriers * stage.k_tiles + 1:
            return Flaw(
                f"it is safe, but threads meet at {len(stage.barriers)} barriers for {count(stage.k_tiles, 'K tile')}: "
                f"{count(self.barriers, 'barrier')} a K tile would do. At each, fast warps are idle until the "
                f"last is there.{self.needless(answer, stage)}",
                LoopFlaw.BARRIERS,
            )
        return ""

    def needless(self, answer: Answer, stage: Stage) -> str:
        """The barriers of a safe loop without which it is safe, too, as a sentence; "" if there are none."""

        def is_safe_without(line: CallSite) -> bool:
            with suppress(Unsafe):
                rehearse(answer, max(K_TILES), K_BLOCKS, stage.stages, line)
                return True
            return False

        match [str(line) for line in dict.fromkeys(stage.barriers) if is_safe_without(line)]:
            case []:
                return ""
            case [line]:
                return f" It is as safe without {line}."
            case lines:
                return f" It is as safe without one of these: {', '.join(lines)}."


def fetched_or_loaded_again(stage: Stage) -> str:
    """The weakness of a loop that moves the same data again and again, or ""; at the end of K it may move too much."""
    if len(lines := stage.again["fetch"]) > stage.k_blocks:
        return Flaw(f"it is safe, but {lines[0]}, fetches a K block a second time.", LoopFlaw.FETCHED_AGAIN)
    if len(lines := stage.again["load"]) > 2 * stage.stages:
        return Flaw(f"it is safe, but {lines[0]}, loads a K tile a second time.", LoopFlaw.LOADED_TWICE)
    return ""


def find_idle(tile: int, loaded: Sequence[tuple[Mapping[int, bool], Mapping[int, bool]]], wanted: int) -> str:
    """The weakness of a loop that has too little in flight while it multiplies a tile, or "".

    loaded: at each multiplication, the tiles of A and of B in shared memory, and whether each is in flight; `wanted`
    must be, of one matrix at half of the multiplications, and of the other at one.
    """
    idle = [[tiles for tiles in of if sum(tiles.values()) < wanted] for of in zip(*loaded, strict=True)]
    best, worst = sorted(idle, key=len)
    if 2 * len(best) <= len(loaded) > len(worst):
        return ""
    during = (
        f"tile {tile} is" if len(worst) == len(loaded) else f"{len(worst)} of tile {tile}'s {len(loaded)} K blocks are"
    )
    missing = next(ahead for ahead in range(tile + 1, tile + 1 + wanted) if not worst[0].get(ahead))
    late = missing not in worst[0]
    why = "its load is issued later" if late else "it has been waited for already"
    of = "" if len(idle[0]) == len(idle[1]) else f" of {MATRICES[idle.index(worst)]}"
    what = f"it is safe, but while {during} multiplied, tile {missing}{of} is not in flight: {why}."
    return Flaw(what, LoopFlaw.IDLE(why="late" if late else "waited"))
