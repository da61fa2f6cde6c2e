"""Exercises whose answer is one part of a GEMM kernel; the checker puts it among the course's other parts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

from tutorlib.exercise import Answer, Outcome, count, is_placeholder
from tutorlib.kernel import KernelExercise
from tutorlib.rehearsal import Hazard, Stage, rehearse

K_TILES = (1, 2, 3, 8)  # a loop must work where it is shorter than its pipeline, too
K_BLOCKS = 4


@dataclass(frozen=True, kw_only=True)
class PartExercise(KernelExercise):
    """build: takes the answer, returns the host function gemm(a, b, c) that has it as a part."""

    archs: tuple[str, ...] = ("sm_80", "sm_90a")  # what the ladder is timed on, published and here
    build: Callable[[Answer], Answer]

    def grade(self, answer: Answer) -> Outcome:
        return super().grade(self.build(answer)) if callable(answer) else super().grade(answer)


@dataclass(frozen=True, kw_only=True)
class LoopExercise(PartExercise):
    """A main loop: rehearsed on the CPU, where every hazard shows, before it is compiled and run.

    stages: the numbers of buffers in shared memory that it must work with; all but one of them must be under way
        while a tile is multiplied.
    prefetched: whether a K block's registers must be fetched before the one before it is multiplied.
    """

    stages: tuple[int, ...]
    prefetched: bool = False

    def grade(self, answer: Answer) -> Outcome:
        if getattr(answer, "_decorator_kind", None) != "jit":
            return self.failed(f"{getattr(answer, '__name__', repr(answer))} is not a @cute.jit function.")
        for stages, k_tiles in product(self.stages, K_TILES):
            try:
                told = self.told(rehearse(answer, k_tiles, K_BLOCKS, stages))
            except Hazard as hazard:
                told = str(hazard)
            except NotImplementedError as error:
                return self.failed("not written yet" if is_placeholder(error) else str(error))
            except Exception as error:
                return self.unrehearsed(super().grade(answer), error)
            if told:
                return self.failed(f"rehearsed with {count(k_tiles, 'K tile')}, {count(stages, 'buffer')}:", told)
        return super().grade(answer)

    def told(self, stage: Stage) -> str:
        """What a right loop does not do well enough, or ""."""
        for tile, under_way in sorted(stage.in_flight.items()):
            wanted = min(stage.stages - 1, stage.k_tiles - 1 - tile)
            if under_way < wanted:
                return f"it is safe, but while tile {tile} is multiplied {under_way} of {wanted} others are under way."
        if self.prefetched and not stage.prefetched:
            return "it is safe, but it multiplies a K block before it has fetched the next one's registers."
        return ""

    def unrehearsed(self, outcome: Outcome, error: Exception) -> Outcome:
        """The loop did something that only a compiler understands; what the compiler or the GPU says counts."""
        if outcome.status != "not_run":
            return outcome
        message = f"{outcome.message}; not rehearsed: {type(error).__name__}: {error}"
        return replace(outcome, message=message)
