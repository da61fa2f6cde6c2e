"""Exercises about compiled functions that are kept: each a number of trials that share the points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutorlib.checking.exercise import Exercise, Verdict
from tutorlib.checking.library_use import Library
from tutorlib.checking.served import Served
from tutorlib.compiling.errors import without_colours
from tutorlib.problems.wrong import count

if TYPE_CHECKING:
    from torch import Tensor

Trial = tuple[str, Callable[[Served], str]]  # what is tried, and what is wrong with the answer then, or ""


@dataclass(frozen=True, kw_only=True)
class KeptExercise(Exercise):
    """An exercise whose answer deals with compiled functions.

    cases: they share the points equally. library: as of a ValueExercise.
    """

    cases: tuple[Trial, ...]
    library: Library

    def judge(self, served: Served) -> Verdict:
        served.watch(self.library)
        wrongs = [(what, said) for what, trial in self.cases if (said := trial(served))]
        if not wrongs:
            return self.right(served)
        what, said = wrongs[0]
        right = len(self.cases) - len(wrongs)
        lines = (f"{right} of {count(len(self.cases), 'case')} right", f"{what}: " + said)
        return Verdict(self.points_anywhere * right / len(self.cases), lines)

    def right(self, served: Served) -> Verdict:
        """The verdict on an answer that is right in all cases."""
        return Verdict(self.points)


def first_line(error: Exception) -> str:
    """What it says, in a line: in a report of the DSL's own the cause stands below its headline."""
    lines = [line.strip() for line in without_colours(str(error)).strip().splitlines()]
    causes = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return next(iter(causes or lines), "")


def vectors_of(*sizes: int) -> "list[tuple[Tensor, Tensor]]":
    import torch

    return [(torch.arange(float(n)), torch.zeros(n)) for n in sizes]
