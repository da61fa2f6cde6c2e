"""Which exercises are judged outside of the student's process, and what that process may then not see."""

from collections.abc import Iterator
from pathlib import Path

from tutorlib import exercises
from tutorlib.checking.exercise import Exercise
from tutorlib.checking.traced import CuteLayoutExercise
from tutorlib.checking.values import ValueExercise
from tutorlib.exercises import modules, of_notebook

OUTSIDE = (ValueExercise, CuteLayoutExercise)
ALGEBRA = "algebra"  # references of page 02 have a folder of their own
INSIDE: frozenset[str] = frozenset()  # exercises of these kinds that cannot be judged so: their points rest on `check`


def judged_outside(exercise: Exercise) -> bool:
    return isinstance(exercise, OUTSIDE) and exercise.id not in INSIDE


def hidden_from(notebook: str) -> Iterator[Path]:
    """References that a notebook's process does not need: those of the pages whose exercises are all judged outside.

    A page of that kind needs none at all.
    """
    (folder,) = map(Path, exercises.__path__)
    inside = [name for name in modules() if not all(map(judged_outside, of_notebook(name)))]
    for name, module in modules().items():
        if notebook not in inside or name not in inside:
            yield folder / f"{module}.py"
    yield from (path for path in folder.iterdir() if path.is_dir() and (notebook not in inside or path.name == ALGEBRA))
