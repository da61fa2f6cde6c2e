"""The registry: exercises by id, and a room for each page.

Notebook 02_layout_algebra has its exercises in `n02_layout_algebra/exercises.py`, as EXERCISES. That module is imported
when one of them is asked for, so that `import tutorlib` stays fast. A room holds all that its page alone needs:
exercises, mistakes, and in `judge` the kinds of exercise that no other page has; `words` has the hints. The sandbox
shows `judge` and nothing else of a room, since the process of an answer takes part in judging it
(`checking.evidence`).
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
def rooms() -> dict[str, str]:
    """Notebook name → the package that is its room, e.g. "02_layout_algebra" → "n02_layout_algebra"."""
    return {info.name[1:]: info.name for info in iter_modules(__path__) if info.name[1:3].isdigit()}


@cache
def of_notebook(name: str) -> tuple[Exercise, ...]:
    """The exercises of a notebook in order; none where it has no room."""
    if name not in rooms():
        return ()
    return tuple(map(with_words, import_module(f"{__name__}.{rooms()[name]}.exercises").EXERCISES))


@cache
def find(id: str) -> Exercise:
    """The exercise with this id. Raises UnknownExercise."""
    if not isinstance(id, str) or not EXERCISE_ID.fullmatch(id):
        raise UnknownExercise(f'{id!r} is not an exercise: ids look like "02.3".')
    for name in rooms():
        if name[:2] == id[:2]:
            exercises = of_notebook(name)
            for exercise in exercises:
                if exercise.id == id:
                    return exercise
            raise UnknownExercise(f"No exercise {id}: notebook {name} has {exercises[0].id} to {exercises[-1].id}.")
    raise UnknownExercise(f"No exercise {id}: there is no notebook {id[:2]}.")
