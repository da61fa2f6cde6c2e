"""From what was seen of an exercise's cells to its outcome."""

from dataclasses import replace
from typing import Any

from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.problems.wrong import count

LONGEST_MESSAGE = 4000  # characters


def verdict(exercise: Exercise, answer: dict[str, Any], check: dict[str, Any]) -> Outcome:
    """The outcome of an exercise whose two cells ran to their end.

    answer, check: what the plugin saw: `passed`, `raised`, and for the check cell `record`, the outcome that `check`
    wrote; `judged`, the points that the answer got from outside the kernel, where it can be judged there; `excused`,
    whether this machine cannot run the exercise.
    A record is the student's process speaking: points need nbval and the judge to have seen the same.
    """
    if not answer["passed"]:
        return exercise.outcome("failed", 0, f"your cell fails: {tidy(answer['raised'])}")
    record = check.get("record")
    if record is None:
        return exercise.outcome(
            "error", 0, tidy(f"check came to no verdict: {check['raised'] or 'nothing was recorded'}")
        )
    status, message = record["status"], without_head(exercise, record["message"])
    if status == "not_run" and check.get("excused"):
        right = record["points"] > 0  # NaN is not
        return exercise.outcome("not_run", min(record["points"], exercise.points_anywhere) if right else 0, message)
    if status not in ("passed", "partial") or not record["points"] > 0:  # NaN is not
        return exercise.outcome("failed", 0, message)
    points = min(record["points"], check.get("judged", record["points"]), exercise.points)
    if points < record["points"] or (status == "passed" and points < exercise.points):
        wrong = f"not confirmed: called from outside the notebook, it gets {count(check.get('judged', 0), 'point')}"
        return exercise.outcome("failed", 0, wrong)
    if status == "passed" and not check["passed"]:
        return exercise.outcome(
            "failed", 0, "right, but it prints or warns: check's own line must be all that is shown"
        )
    if status == "partial" and not check["raised"].startswith("CheckFailed: "):
        return exercise.outcome(
            "error", 0, tidy(f"check did not end as it recorded: {check['raised'] or 'it raised nothing'}")
        )
    outcome = exercise.outcome(status, points, message)
    return outcome if exercise.needs is None else replace(outcome, measurement=record.get("measurement"))


def without_head(exercise: Exercise, message: str) -> str:
    """A message of `check` without the id and title in front, which the table shows anyway."""
    for mark in "✓✗–":
        message = message.removeprefix(f"{mark} {exercise.id} {exercise.title}: ")
    return tidy(message)


def tidy(text: str) -> str:
    """No terminal codes, and not for ever."""
    return "".join(c for c in text if c.isprintable() or c == "\n")[:LONGEST_MESSAGE].strip()
