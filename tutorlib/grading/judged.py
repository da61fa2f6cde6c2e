"""Which exercises are judged outside of the student's process, and what that process may then not see."""

from collections.abc import Iterator
from pathlib import Path

from tutorlib import exercises
from tutorlib.checking.exercise import Exercise
from tutorlib.checking.traced import CuteLayoutExercise
from tutorlib.checking.values import ValueExercise
from tutorlib.exercises import modules, of_notebook
from tutorlib.machine import device

CALLED = (ValueExercise, CuteLayoutExercise)  # for these the process needs nothing of the exercise
ALGEBRA = "algebra"  # references of page 02 have a folder of their own
INSIDE: frozenset[str] = frozenset()  # exercises that cannot be judged so: their points rest on `check`


def judged_outside(exercise: Exercise) -> bool:
    """On a machine that can run a kernel, it is run, and timed, in the student's process."""
    if isinstance(exercise, CALLED):
        return True
    return exercise.id not in INSIDE and bool(exercise.needs and device.why_not(exercise.needs))


def hidden_from(notebook: str) -> Iterator[Path]:
    """References that a notebook's process does not need: those of the pages whose answers are only called.

    A page of that kind needs none at all.
    """
    (folder,) = map(Path, exercises.__path__)
    inside = [name for name in modules() if not all(isinstance(one, CALLED) for one in of_notebook(name))]
    for name, module in modules().items():
        if notebook not in inside or name not in inside:
            yield folder / f"{module}.py"
    yield from (path for path in folder.iterdir() if path.is_dir() and (notebook not in inside or path.name == ALGEBRA))
