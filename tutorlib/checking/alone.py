"""Exercises whose answer is looked at by itself, on any machine, before it becomes part of a kernel."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.exercise import Answer, Verdict
from tutorlib.checking.kernel import compiled_not_run
from tutorlib.checking.rehearsing.plain import Hazard
from tutorlib.machine import device
from tutorlib.machine.features import cute_target


class NotRehearsed(Exception):
    """The loop needs a compiler. The message says what the rehearsal met."""


@dataclass(frozen=True, kw_only=True)
class AloneExercise(CuteExercise):
    """An exercise whose `examine_alone` finds on any machine what a GPU would show now and then.

    An answer that does something which only a compiler understands is simulated, on a machine with a GPU, too: a GPU
    alone shows a race now and then. Where it cannot be simulated the verdict says so.
    """

    def judge(self, answer: Answer) -> Verdict:
        try:
            found, unseen = self.examine_alone(answer), ""
        except NotRehearsed as error:
            found, unseen = None, f"; not rehearsed: {error}"
        if found and not found.points:
            return found
        verdict = super().judge(answer)
        if found and verdict.points >= self.correctness_points:
            return found
        why = device.why_not(self.needs)
        if unseen and not why and self.simulated and verdict.points:
            seen = self.simulate(self.accept(answer), "")
            return verdict if seen.points >= self.correctness_points else seen
        if unseen and why and verdict.points and not self.simulated:  # points that only a rehearsal can give
            return compiled_not_run(tuple(map(cute_target, self.inspected)), f"{why}{unseen}")
        return verdict

    def examine_alone(self, answer: Answer) -> Verdict | None:
        """What is wrong with the answer before it is put into a kernel; None for nothing.

        With points where the answer is right and not good enough, if its kernel is right, too.
        Raises WrongKind, NotRehearsed, and the placeholder's NotImplementedError.
        """


def first_weakness(rehearsals: Iterable[tuple[str, Callable[[], str]]], safe: float = 0) -> Verdict | None:
    """Of rehearsals, each with how it is described, the first that finds something.

    Each returns what a safe loop does not do well enough, or "", and raises Hazard. safe: the points of a safe one.
    Raises NotRehearsed.
    """
    for said, rehearsal in rehearsals:
        points = safe
        try:
            weakness = rehearsal()
        except Hazard as hazard:
            weakness, points = str(hazard), 0
        except NotImplementedError:
            raise
        except Exception as error:
            raise NotRehearsed(f"{type(error).__name__}: {error}") from error
        if weakness:
            return Verdict(points, (f"rehearsed with {said}:", *weakness.split("\n")))
    return None
