"""A kernel exercise as plain data, for the process that holds the answer.

That process traces and compiles the answer, and for that it needs the exercise's problem, sizes and
requirements. Exercises are not in the sandbox: the judge sends these fields instead, without hints and
remedies. A reference, and every other function among the fields, stays with the judge: the process gets a handle that
calls it over the connection. A part's functions (`checking.part`) take or return @cute.jit functions, which cannot
cross, so they go by name and must be of `kernels`, `checking` or a page's `judge`.
"""

from dataclasses import fields
from typing import Any

from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.library_use import as_told, from_words
from tutorlib.grading.wire import judges_own

KEPT_BACK = ("hints", "remedies", "unlike", "rules", "rules_at")  # the judge alone looks at launches
SentExercise = tuple[str, str, dict[str, Any]]  # the module and the name of the exercise's class, and its fields


def sent_form(exercise: KernelExercise) -> SentExercise:
    kind = type(exercise)
    sent = {one.name: getattr(exercise, one.name) for one in fields(exercise) if one.init and one.name not in KEPT_BACK}
    sent["library"] = as_told(exercise.library)
    return kind.__module__, kind.__qualname__, sent


def rebuilt(module: str, name: str, sent: dict[str, Any]) -> KernelExercise:
    """Raises CannotCross where the module is none of the course's that judge answers."""
    exercise: KernelExercise = judges_own(module, name)(**sent | {"library": from_words(sent["library"])})
    return exercise
