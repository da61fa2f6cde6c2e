"""A student's standing: the record of the checks on this machine, and the points in each notebook.

The record has the result and time of each check, never the answer: one file of JSON lines for all notebooks. Every
check appends a line, and the best one counts, so that a later, worse attempt loses nothing. If the file cannot be
written, a check says so once and goes on.
"""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import platformdirs

from tutorlib.checking.exercise import Exercise, Outcome, Status
from tutorlib.exercises import of_notebook
from tutorlib.paths import NOTEBOOKS, notebook_names

PROGRESS = "TUTORLIB_PROGRESS"  # environment variable: another file for the record; "" for none

_complained = False


@dataclass(frozen=True)
class Attempt:
    """The result of one check, a line of the record."""

    exercise: str
    status: Status
    points: float
    max_points: int
    utc: str


def file() -> Path | None:
    """The record's file, or None if none is kept: checks by tests and by nbval are not a student's attempts."""
    named = os.environ.get(PROGRESS)
    if named is not None:
        return Path(named) if named else None
    if "PYTEST_VERSION" in os.environ:  # pytest sets it, for the kernels that nbval starts too
        return None
    return platformdirs.user_data_path("tutorlib") / "progress.jsonl"


def record(outcome: Outcome) -> None:
    """Append an attempt. If that fails, a line on stderr says so once; it raises nothing."""
    global _complained
    if (path := file()) is None:
        return
    utc = datetime.now(UTC).isoformat("T", "seconds")
    attempt = Attempt(outcome.id, outcome.status, outcome.points, outcome.max_points, utc)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(attempt)) + "\n")
    except OSError as error:
        if not _complained:
            print(f"Your points are not recorded: {path}: {error.strerror}.", file=sys.stderr)
        _complained = True


def attempts() -> list[Attempt]:
    """All attempts in order, without lines that a full disk cut off; none, after a line on stderr, if unreadable."""
    path, found = file(), list[Attempt]()
    if path is None or not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        print(f"Your points cannot be read: {path}: {error.strerror}.", file=sys.stderr)
        return []
    for line in lines:
        with suppress(ValueError, TypeError):
            found.append(Attempt(**json.loads(line)))
    return found


def best() -> dict[str, Attempt]:
    """Exercise id → its best attempt: most points, and among equals the last."""
    return {attempt.exercise: attempt for attempt in sorted(attempts(), key=lambda attempt: attempt.points)}


# The course ----------------------------------------------------------------------------------------------------------

CONTENTS = "contents"  # the name of the contents page
State = Literal["passed", "partial", "failed", "not_run", "open"]


@dataclass(frozen=True)
class Head:
    """The head of a notebook. name: "05_copy_kernels"; title: "05 · A copy at the speed of light".

    minutes: the time of the page without its appendix; appendix: the appendix's minutes, 0 for none.
    """

    name: str
    title: str
    summary: str = ""
    minutes: int = 0
    appendix: int = 0


@dataclass(frozen=True)
class Standing:
    """A notebook, and the best attempt at each of its exercises."""

    head: Head
    exercises: tuple[Exercise, ...]
    attempts: dict[str, Attempt]

    @property
    def max_points(self) -> int:
        return sum(exercise.points for exercise in self.exercises)

    @property
    def points(self) -> float:
        """Those of the best attempts, of each exercise at most its present maximum."""
        best = ((self.attempts.get(exercise.id), exercise.points) for exercise in self.exercises)
        return sum(min(attempt.points, most) for attempt, most in best if attempt)

    def state(self, exercise: Exercise) -> State:
        """The state of the best attempt; "not run" is neither passed nor failed, whatever its points."""
        attempt = self.attempts.get(exercise.id)
        if attempt is None:
            return "open"
        if attempt.points >= exercise.points:
            return "passed"
        if attempt.status == "not_run":
            return "not_run"
        return "partial" if attempt.points else "failed"

    @property
    def next(self) -> Exercise | None:
        """The first exercise that is neither passed nor waiting for another machine."""
        done = ("passed", "not_run")
        return next((exercise for exercise in self.exercises if self.state(exercise) not in done), None)


@dataclass(frozen=True)
class Course:
    """All notebooks, in order."""

    notebooks: tuple[Standing, ...]

    @property
    def points(self) -> float:
        return sum(notebook.points for notebook in self.notebooks)

    @property
    def max_points(self) -> int:
        return sum(notebook.max_points for notebook in self.notebooks)

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        return tuple(exercise for notebook in self.notebooks for exercise in notebook.exercises)

    @property
    def minutes(self) -> int:
        return sum(notebook.head.minutes for notebook in self.notebooks)

    @property
    def next(self) -> tuple[Standing, Exercise] | None:
        """The next exercise with its notebook."""
        return next(((notebook, notebook.next) for notebook in self.notebooks if notebook.next), None)


def heads() -> tuple[Head, ...]:
    """The notebooks of the course as `tutor build` listed them; by their names if the contents page is missing."""
    try:
        page: dict[str, Any] = json.loads((NOTEBOOKS / f"{CONTENTS}.ipynb").read_text(encoding="utf-8"))
        return tuple(Head(**head) for head in page["metadata"]["tutorlib"]["notebooks"])
    except (OSError, ValueError, LookupError, TypeError):
        return tuple(Head(name, name) for name in notebook_names())


def course_of(attempts: dict[str, Attempt], heads: Sequence[Head]) -> Course:
    """The standing of a student with these best attempts."""
    return Course(tuple(Standing(head, of_notebook(head.name), attempts) for head in heads))
