"""What of the course's package the process of a notebook's answers may not see: references that it does not need."""

from collections.abc import Iterator
from pathlib import Path

from tutorlib import exercises
from tutorlib.checking.diagnosis import DiagnosisExercise
from tutorlib.checking.traced import CuteLayoutExercise
from tutorlib.checking.values import ValueExercise
from tutorlib.exercises import modules, of_notebook

CALLED = (ValueExercise, CuteLayoutExercise, DiagnosisExercise)  # for these the process needs nothing of the exercise
ALGEBRA = "algebra"  # references of page 02 have a folder of their own


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
