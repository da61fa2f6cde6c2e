"""Exercises whose answer is looked at by itself, on any machine, before it becomes part of a kernel."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.exercise import Answer, Verdict
from tutorlib.checking.kernel_questions import NotRehearsed
from tutorlib.checking.library_use import refuse_leaning
from tutorlib.checking.rehearsing.plain_python import Hazard
from tutorlib.compiling.errors import shortened, without_colours


@dataclass(frozen=True, kw_only=True)
class AloneExercise(CuteExercise):
    """An exercise whose `examine_alone` finds on any machine what a GPU would show now and then.

    An answer that does something which only a compiler understands is run, or simulated, without that; where neither
    is possible the verdict says so.
    """

    def look(self, answer: Answer, kernel: Callable[[], Any]) -> Verdict | NotRehearsed | None:
        refuse_leaning(answer, self.library)
        found: Verdict | NotRehearsed | None
        try:
            found = self.examine_alone(answer)
        except NotRehearsed as error:
            found = error
        return found if isinstance(found, Verdict) and not found.points else self.look_into(kernel()) or found

    def examine_alone(self, answer: Answer) -> Verdict | None:
        """What is wrong with the answer before it is put into a kernel; None for nothing.

        With points where the answer is right and not good enough, if its kernel is right, too.
        Raises WrongKind, NotRehearsed, and the placeholder's NotImplementedError.
        """


def first_weakness(rehearsals: Iterable[tuple[str, Callable[[], str]]], safe: float = 0) -> Verdict | None:
    """Of rehearsals, each with how it is described, the first that is not safe; else the first that finds something.

    Each returns what a safe loop does not do well enough, or "", and raises Hazard. safe: the points of a safe one: of
    a loop that is safe in all of them. Raises NotRehearsed.
    """
    first: Verdict | None = None
    for said, rehearsal in rehearsals:
        try:
            weakness = rehearsal()
        except Hazard as hazard:
            return Verdict(0, (f"rehearsed with {said}:", *str(hazard).split("\n")))
        except NotImplementedError:
            raise
        except Exception as error:
            said = " ".join(without_colours(f"{type(error).__name__}: {error}").split())
            raise NotRehearsed(shortened(said)) from error
        if weakness:
            first = first or Verdict(safe, (f"rehearsed with {said}:", *weakness.split("\n")))
    return first
