"""From what was seen of an exercise's cells to its outcome."""

from dataclasses import fields, replace
from typing import Any

from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.measuring.measurement import Measurement
from tutorlib.problems.fault import RESTART
from tutorlib.problems.wrong import count

LONGEST_MESSAGE = 4000  # characters
LONGEST_WORD = 80  # as of a dtype's name
MOST = 2**40  # of whatever is measured
MEASURED = {one.name for one in fields(Measurement)} - {"alone", "baseline_alone"}


def verdict(exercise: Exercise, answer: dict[str, Any], check: dict[str, Any]) -> Outcome:
    """The outcome of an exercise whose two cells ran to their end.

    answer, check: what the plugin saw: `passed`, `raised`, and for the check cell `outcome`, what the judge outside the
    kernel found; or, of an exercise that is not judged there, `record`, the outcome that `check` wrote, and
    `excused`, whether this machine cannot run the exercise.
    """
    if not answer["passed"]:
        return exercise.outcome("failed", 0, f"your cell fails: {tidy(answer['raised'])}")
    if "outcome" in check:
        outcome = Outcome(**check["outcome"])
        return replace(outcome, message=as_reported(exercise, outcome.message))
    return recorded_verdict(exercise, check)


def recorded_verdict(exercise: Exercise, check: dict[str, Any]) -> Outcome:
    """What `check` recorded in the kernel, as far as it agrees with what nbval saw: the student's process speaking."""
    record = check.get("record")
    if record is None:
        return exercise.outcome(
            "error", 0, tidy(f"check came to no verdict: {check['raised'] or 'nothing was recorded'}")
        )
    status, message = record["status"], as_reported(exercise, record["message"])
    if status == "not_run" and check.get("excused"):
        right = record["points"] > 0  # NaN is not
        return exercise.outcome("not_run", min(record["points"], exercise.points_anywhere) if right else 0, message)
    if status not in ("passed", "partial") or not record["points"] > 0:  # NaN is not
        return exercise.outcome("failed", 0, message)
    points = min(record["points"], exercise.points)
    if points < record["points"] or (status == "passed" and points < exercise.points):
        return exercise.outcome("error", 0, f"check recorded {count(record['points'], 'point')}")
    if status == "partial" and not check["raised"].startswith("CheckFailed: "):
        return exercise.outcome(
            "error", 0, tidy(f"check did not end as it recorded: {check['raised'] or 'it raised nothing'}")
        )
    outcome = exercise.outcome(status, points, message)
    return outcome if exercise.needs is None else replace(outcome, measurement=well_formed(record.get("measurement")))


def well_formed(told: Any) -> dict[str, Any] | None:
    """A measurement that a student's process recorded, where it is one: the reports of the class draw it."""
    try:
        read = Measurement.from_json({name: told[name] for name in MEASURED & told.keys()})
    except (AttributeError, KeyError, TypeError):
        return None
    speeds = [speed for speed in (read.tflops, read.gbps) if speed is not None]
    numbers = [read.median_us, read.lower_us, read.upper_us, read.baseline_us, read.ratio, *speeds]
    words = [read.dtype, read.baseline, read.regime, *read.throttled]
    well = (
        bool(read.shape)
        and len(speeds) == 1
        and all(type(n) in (int, float) and 0 < n < MOST for n in numbers)
        and all(type(n) is int and 0 < n < MOST for n in (*read.shape, read.n, read.clock_mhz or 1))
        and (type(read.spread) in (int, float) and 0 <= read.spread < MOST)
        and all(type(word) is str and len(word) < LONGEST_WORD for word in words)
    )
    return read.as_json() if well else None


def as_reported(exercise: Exercise, message: str) -> str:
    """A message of `check` without the id and title in front, which the table shows anyway.

    Nor does a report tell anybody to restart a kernel: the grader has done that.
    """
    for mark in "✓✗–":
        message = message.removeprefix(f"{mark} {exercise.id} {exercise.title}: ")
    return tidy(message.replace(f" {RESTART}", ""))


def tidy(text: str) -> str:
    """No terminal codes, and not for ever."""
    return "".join(c for c in text if c.isprintable() or c == "\n")[:LONGEST_MESSAGE].strip()
