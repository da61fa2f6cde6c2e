"""Exercises whose answer is looked at by itself, on any machine, before it becomes part of a kernel."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.kernel import compiled_not_run
from tutorlib.checking.rehearsing.plain import Hazard
from tutorlib.machine import device
from tutorlib.machine.features import cute_target


class NotRehearsed(Exception):
    """The loop needs a compiler. The message says what the rehearsal met."""


@dataclass(frozen=True, kw_only=True)
class AloneExercise(CuteExercise):
    """An exercise whose `examine_alone` finds on any machine what a GPU would show now and then.

    An answer that does something which only a compiler understands is run, or simulated, without that; where neither
    is possible the verdict says so.
    """

    def judge(self, answer: Answer) -> Verdict:
        try:
            found, unseen = self.examine_alone(answer), ""
        except NotRehearsed as error:
            found, unseen = None, f"; not rehearsed: {error}"
        if found:
            return found
        verdict = super().judge(answer)
        why = device.why_not(self.needs)
        if unseen and why and verdict.points and not self.simulated:  # points that only a rehearsal can give
            return compiled_not_run(tuple(map(cute_target, self.inspected)), f"{why}{unseen}")
        return verdict

    def examine_alone(self, answer: Answer) -> Verdict | None:
        """What is wrong with the answer before it is put into a kernel; None for nothing.

        Raises WrongKind, NotRehearsed, and the placeholder's NotImplementedError.
        """


def first_weakness(rehearsals: Iterable[tuple[str, Callable[[], str]]]) -> Verdict | None:
    """Of rehearsals, each with how it is described, the first that finds something.

    Each returns what a safe loop does not do well enough, or "", and raises Hazard. Raises NotRehearsed.
    """
    for said, rehearsal in rehearsals:
        try:
            weakness = rehearsal()
        except Hazard as hazard:
            weakness = str(hazard)
        except NotImplementedError:
            raise
        except Exception as error:
            raise NotRehearsed(f"{type(error).__name__}: {error}") from error
        if weakness:
            return wrong(f"rehearsed with {said}:", *weakness.split("\n"))
    return None
