"""Page 21: answers that are whole functions, and what rows of p21.txt are made of."""

from collections.abc import Callable, Sequence

import numpy as np

from tests.pages.change import Change, swap
from tests.pages.table import solved
from tutorlib.exercises import of_notebook
from tutorlib.exercises.judges.p21 import Diagnosis, FixExercise
from tutorlib.kernels.bugs.catalogue import BUGS

SHOWS = {"softmax": (np.full((4, 300), -1000.0),)}  # of bugs that random numbers do not show, what does
FIXES = [exercise for exercise in of_notebook("21_bug_hunt") if isinstance(exercise, FixExercise)]


def original(source: str) -> str:
    """The broken kernel itself."""
    return source


def fix(changes: Sequence[Change], name: str) -> Callable:
    """The base of rows that change the broken source."""

    def changed(source: str) -> str:
        for change in changes:
            source = "\n".join(change(source.split("\n")))
        return source

    return changed


BASES = {exercise.id: fix for exercise in FIXES}


def diagnosis(line: str | int | None, cause: str | None, shape: tuple, *data: object) -> Callable:
    given = {"data": data} if data else {}
    return lambda: Diagnosis(line=line, cause=cause, shape=shape, **given)


def unproven(name: str, line: str | int, cause: str, *shape: int) -> Callable:
    """Line and cause are right, and the input is one at which the kernel is, too: this shape, or the report's."""
    return diagnosis(line, cause, shape or BUGS[name].right_at)


def shown(name: str, line: str | int, cause: str) -> Callable:
    """The input shows the bug; the line, the cause or both are others."""
    return diagnosis(line, cause, BUGS[name].wrong_at, *SHOWS.get(name, ()))


def wasteful(bug: str, *changes: tuple[str, str]) -> Callable:
    """The page's fix of the bug with changes that leave it right."""
    (id,) = (exercise.id for exercise in FIXES if exercise.bug.name == bug)
    mend, changed = solved(id), fix([swap(*change) for change in changes], "wasteful")
    return lambda source: changed(mend(source))
