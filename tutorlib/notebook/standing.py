"""A student's progress: the notebooks of the course and the points in each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tutorlib.checking.exercise import Exercise
from tutorlib.exercises import of_notebook
from tutorlib.notebook.progress import Attempt
from tutorlib.paths import NOTEBOOKS, notebook_names

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
        return sum(map(self.points_of, self.exercises))

    def points_of(self, exercise: Exercise) -> float:
        """The best attempt's points, at most the exercise's present maximum."""
        attempt = self.attempts.get(exercise.id)
        return min(attempt.points, exercise.points) if attempt else 0.0

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
    def latest(self) -> str:
        """The time of the latest of its best attempts; "" if there is none."""
        return max(
            (self.attempts[exercise.id].utc for exercise in self.exercises if exercise.id in self.attempts), default=""
        )

    @property
    def next(self) -> Exercise | None:
        """The first exercise that is neither passed nor waiting for another machine."""
        return next(
            (exercise for exercise in self.exercises if self.state(exercise) not in ("passed", "not_run")), None
        )

    @property
    def left(self) -> str:
        """The remaining work in a few words."""
        if self.next:
            return f"next: {self.next.id} {self.next.title}"
        waiting = sum(self.state(exercise) == "not_run" for exercise in self.exercises)
        return f"done, but {waiting} not run" if waiting else "done"


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
        """The next exercise with its notebook: from the latest best attempt on, then from the top."""
        latest = max(range(len(self.notebooks)), key=lambda n: self.notebooks[n].latest, default=0)
        for notebook in (*self.notebooks[latest:], *self.notebooks[:latest]):
            if notebook.next:
                return notebook, notebook.next
        return None


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
