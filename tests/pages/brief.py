"""Grading a wrong answer no further than it takes to refute it; what would follow costs most of the time."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, wraps
from typing import Any
from unittest import mock

from tutorlib.checking import cutile, cutile_host, kernel
from tutorlib.checking.ampere_loop import AmpereLoop
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.exercise import Exercise, Outcome
from tutorlib.exercises import find

TRY_A_SIZE = ((kernel, "find_simulated_fault"), (cutile, "interpret"), (cutile_host, "interpret"))


def refuted(id: str, answer: Callable, words: Sequence[str] = ()) -> Outcome:
    """The outcome with which a wrong answer loses points: in brief, or in full where that does not say these words.

    What is wrong in brief is wrong in full, and what is said of the first wrong size is the same.
    """
    outcome = in_brief(id, answer)
    if outcome.status in ("passed", "not_run") or not all(word in outcome.message for word in words):
        return in_full(id, answer)
    return outcome


@cache
def in_full(id: str, answer: Callable) -> Outcome:
    return find(id).grade(answer)


@cache
def in_brief(id: str, answer: Callable) -> Outcome:
    """For one GPU, and no size once one was wrong; a rehearsed loop at one size."""
    with a_wrong_size_ends_it():
        return shortened(find(id)).grade(answer)


def shortened(exercise: Exercise) -> Exercise:
    if not isinstance(exercise, CuteExercise):
        return exercise
    if isinstance(exercise.part, AmpereLoop):
        exercise = replace(exercise, simulated_shapes=exercise.sizes_simulated[:1])
    return replace(exercise, archs=exercise.archs[:1])


@contextmanager
def a_wrong_size_ends_it() -> Iterator[None]:
    """Meanwhile all sizes that follow a wrong one count as wrong, too, and are not tried."""
    with ExitStack() as stack:
        for module, name in TRY_A_SIZE:
            stack.enter_context(mock.patch.object(module, name, until_wrong(getattr(module, name))))
        yield


def until_wrong(attempt: Callable[..., Any]) -> Callable[..., Any]:
    found: list[Any] = []

    @wraps(attempt)
    def once(*args: Any, **options: Any) -> Any:
        if found:
            return found[0]
        got = attempt(*args, **options)
        if getattr(got, "wrong", got):  # an Interpretation has its Wrong inside
            found.append(got)
        return got

    return once
