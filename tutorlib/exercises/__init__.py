"""The registry: exercises by id.

The exercises of notebook 03_layout_algebra are EXERCISES of `p02`, a module that is imported when one of them is asked
for, so that `import tutorlib` stays fast. `judges` has what the process of an answer needs of a page, since it takes
part in judging the answer (`checking.evidence`); the sandbox shows it that and no module of exercises. `words` has the
hints.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tutorlib.checking.exercise import Exercise
from tutorlib.exercises.words import with_words
from tutorlib.paths import EXERCISE_ID


class UnknownExercise(LookupError):
    """No exercise has this id. The message says which ids there are."""


@cache
def pages() -> tuple[str, ...]:
    """The numbers of the notebooks that have exercises, e.g. "02"."""
    return tuple(sorted(info.name[1:] for info in iter_modules(__path__) if info.name[1:].isdigit()))


@cache
def of_notebook(name: str) -> tuple[Exercise, ...]:
    """The exercises of a notebook in order; none where it has no module. name: "03_layout_algebra", or its number."""
    if name[:2] not in pages():
        return ()
    exercises = map(with_words, import_module(f"{__name__}.p{name[:2]}").EXERCISES)
    return tuple(sorted(exercises, key=lambda exercise: int(exercise.id[3:])))


@cache
def find(id: str) -> Exercise:
    """The exercise with this id. Raises UnknownExercise."""
    if not isinstance(id, str) or not EXERCISE_ID.fullmatch(id):
        raise UnknownExercise(f'{id!r} is not an exercise: ids look like "03.1".')
    exercises = of_notebook(id[:2])
    if not exercises:
        raise UnknownExercise(f"No exercise {id}: there is no notebook {id[:2]}.")
    for exercise in exercises:
        if exercise.id == id:
            return exercise
    raise UnknownExercise(f"No exercise {id}: notebook {id[:2]} has {exercises[0].id} to {exercises[-1].id}.")
