"""Which exercises are judged outside of the student's process, and what that process may then not see."""

from collections.abc import Iterator
from pathlib import Path

from tutorlib import exercises
from tutorlib.checking.chosen import ChosenExercise
from tutorlib.checking.cpp import CppExercise
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.diagnosis import DiagnosisExercise
from tutorlib.checking.exercise import Exercise
from tutorlib.checking.host import HostExercise
from tutorlib.checking.kept import KeptExercise
from tutorlib.checking.mend import MendExercise
from tutorlib.checking.program import ProgramExercise
from tutorlib.checking.traced import CuteLayoutExercise
from tutorlib.checking.values import ValueExercise
from tutorlib.exercises import modules, of_notebook

CALLED = (ValueExercise, CuteLayoutExercise, DiagnosisExercise)  # for these the process needs nothing of the exercise
COMPILED = (CuteExercise, CutileExercise, CppExercise, ChosenExercise, MendExercise)  # run here, or simulated
BUILT = (ProgramExercise,)  # their source is built here, and runs behind a wall of its own
LAUNCHED = (HostExercise,)  # what they launch is written down, and run or simulated here
KEPT = (KeptExercise,)  # what they leave in folders is the judge's own
ALGEBRA = "algebra"  # references of page 02 have a folder of their own

# Exercises whose points rest on `check` in the student's process. 17.5 returns a compiled host function. Behind a
# wall of its own (`sandbox.program_walled`) a process could run machine code that was exported of it, and its y = 2x
# would be compared here. What stands in the way is that this is not what 17.5 asks: right is who compiles once for
# all lengths and wraps no tensor anew, and both are counted where the student's Python calls `cute.compile` and
# `from_dlpack`. An object file does not say how often it was made or what stood around it, and any that doubles would
# do; a right answer may return a function around the compiled one, which has no object file. With a GPU two of its
# points are for what a launch costs the host, which only a clock in the process of that machine code can tell. What
# is judged outside and rests in part on that process's word: 07.7 without a GPU, since the simulator lacks FP8 (it is
# interpreted there, on inputs drawn here, and compiled here); 16.9, whose tensors have no data and are described; of
# 16.10 all but its result.
INSIDE = frozenset(("17.5",))


def judged_outside(exercise: Exercise) -> bool:
    return exercise.id not in INSIDE and isinstance(exercise, CALLED + COMPILED + LAUNCHED + BUILT + KEPT)


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
