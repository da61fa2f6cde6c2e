"""Where a reader stands: the notebooks of the course, the points that each gave, and what this machine can give."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tutorlib.checking.exercise import Exercise
from tutorlib.exercises import of_notebook, rooms
from tutorlib.notebook.progress import Attempt
from tutorlib.paths import NOTEBOOKS

CONTENTS = "contents"  # the name of the contents page
State = Literal["passed", "partial", "failed", "not_run", "open"]


@dataclass(frozen=True)
class Head:
    """A notebook as its source describes it. name: "05_copy_kernels"; title: "05 · A copy at the speed of light".

    minutes: the time that the page takes without its appendix, which takes `appendix` more (0: it has none).
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
        """Not more than it has today."""
        attempt = self.attempts.get(exercise.id)
        return min(attempt.points, exercise.points) if attempt else 0.0

    def state(self, exercise: Exercise) -> State:
        """Of its best attempt; what was not run is neither passed nor failed, whatever points it has."""
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
        """When the last of its best attempts was made; "" where there is none."""
        return max((self.attempts[one.id].utc for one in self.exercises if one.id in self.attempts), default="")

    @property
    def next(self) -> Exercise | None:
        """The first exercise that is not passed and does not wait for another machine."""
        return next((one for one in self.exercises if self.state(one) not in ("passed", "not_run")), None)

    @property
    def left(self) -> str:
        """What remains, in a few words."""
        if self.next:
            return f"next: {self.next.id} {self.next.title}"
        waiting = sum(self.state(one) == "not_run" for one in self.exercises)
        return f"done, but {waiting} not run" if waiting else "done"


@dataclass(frozen=True)
class Course:
    """All notebooks, in order."""

    notebooks: tuple[Standing, ...]

    @property
    def points(self) -> float:
        return sum(one.points for one in self.notebooks)

    @property
    def max_points(self) -> int:
        return sum(one.max_points for one in self.notebooks)

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        return tuple(exercise for one in self.notebooks for exercise in one.exercises)

    @property
    def minutes(self) -> int:
        return sum(one.head.minutes for one in self.notebooks)

    @property
    def next(self) -> tuple[Standing, Exercise] | None:
        """What to do next, with its notebook: from where the last of the best attempts was made, then from the top."""
        latest = max(range(len(self.notebooks)), key=lambda n: self.notebooks[n].latest, default=0)
        for one in (*self.notebooks[latest:], *self.notebooks[:latest]):
            if one.next:
                return one, one.next
        return None


def heads() -> tuple[Head, ...]:
    """The notebooks of the course as `tutor build` found them; where the contents page is gone, by their names."""
    try:
        page: dict[str, Any] = json.loads((NOTEBOOKS / f"{CONTENTS}.ipynb").read_text(encoding="utf-8"))
        return tuple(Head(**one) for one in page["metadata"]["tutorlib"]["notebooks"])
    except (OSError, ValueError, LookupError, TypeError):
        return tuple(Head(name, name) for name in sorted(rooms()))


def course_of(attempts: dict[str, Attempt], heads: Sequence[Head]) -> Course:
    """Where somebody with these best attempts stands."""
    return Course(tuple(Standing(head, of_notebook(head.name), attempts) for head in heads))
