"""A kernel exercise as plain data, for the process that holds the answer.

That process traces, rehearses and compiles the answer, and for that it needs the exercise's problem, sizes and
requirements. Exercises are not in the sandbox: the judge sends these fields instead, without hints and
remedies. A reference, and every other function among the fields, stays with the judge: the process gets a handle that
calls it over the connection. Functions of `KernelExercise.near_answer` take or return @cute.jit functions, which cannot
cross, so they go by name and must be of `kernels`, `checking` or a page's `judge`.
"""

import re
from dataclasses import fields
from importlib import import_module
from typing import Any

from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.library_use import as_told, from_words

KEPT_BACK = ("hints", "remedies", "unlike")  # `unlike` looks at launches, as the judge does itself
BY_NAME = re.compile(r"tutorlib\.(checking|kernels|exercises\.n\d\d_\w+\.judge)\.")
SentExercise = tuple[str, str, dict[str, Any]]  # the module and the name of the exercise's class, and its fields


def sent_form(exercise: KernelExercise) -> SentExercise:
    kind = type(exercise)
    sent = {one.name: getattr(exercise, one.name) for one in fields(exercise) if one.init and one.name not in KEPT_BACK}
    sent["library"] = as_told(exercise.library)
    for name in exercise.near_answer:
        if function := sent.get(name):
            sent[name] = (function.__module__, function.__qualname__)
    return kind.__module__, kind.__qualname__, sent


def rebuilt(module: str, name: str, sent: dict[str, Any]) -> KernelExercise:
    """Raises ValueError where a module is none of the course's that judge answers."""
    kind = found(module, name)
    near = {one: found(*sent[one]) for one in kind.near_answer if sent.get(one)}
    exercise: KernelExercise = kind(**sent | near | {"library": from_words(sent["library"])})
    return exercise


def found(module: str, name: str) -> Any:
    if not BY_NAME.match(module):
        raise ValueError(f"{module}.{name} is not for the process of an answer")
    return getattr(import_module(module), name)
