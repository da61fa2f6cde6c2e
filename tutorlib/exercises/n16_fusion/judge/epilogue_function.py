"""Exercises whose answer becomes part of an epilogue, or computes what one would."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.measuring.launchers import CuteLauncher


@dataclass(frozen=True, kw_only=True)
class EpilogueFunctionExercise(CuteExercise):
    """A function that the course's kernel calls; it is traced with it.

    build: takes the answer, returns the @cute.jit host function that has it inside.
    """

    build: Callable[[Answer], Callable[..., None]]
    near_answer: ClassVar[tuple[str, ...]] = ("build",)

    def accept(self, answer: Answer) -> CuteLauncher:
        if not callable(answer):
            raise WrongKind(f"{answer!r} is not a function.")
        return super().accept(self.build(answer))
