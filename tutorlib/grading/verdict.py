"""An exercise's outcome, from the reports about its cells."""

from dataclasses import replace
from typing import Any

from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.problems.fault import RESTART

LONGEST_MESSAGE = 4000  # characters


def verdict(exercise: Exercise, answer: dict[str, Any], check: dict[str, Any]) -> Outcome:
    """The outcome of an exercise whose two cells ran to their end.

    answer, check: what the plugin saw: `passed`, `raised`, and for the check cell `outcome`, what the judge found.
    """
    if not answer["passed"]:
        return exercise.outcome("failed", 0, f"your cell fails: {tidy(answer['raised'])}")
    outcome = Outcome(**check["outcome"])
    return replace(outcome, message=as_reported(exercise, outcome.message))


def as_reported(exercise: Exercise, message: str) -> str:
    """A message of `check` without the id and title in front, which the table shows anyway.

    Nor does it say that the kernel must be restarted: the grader has done that.
    """
    for mark in "✓✗–":
        message = message.removeprefix(f"{mark} {exercise.id} {exercise.title}: ")
    return tidy(message.replace(f" {RESTART}", ""))


def tidy(text: str) -> str:
    """Without terminal codes, cut at LONGEST_MESSAGE characters."""
    return "".join(c for c in text if c.isprintable() or c == "\n")[:LONGEST_MESSAGE].strip()
