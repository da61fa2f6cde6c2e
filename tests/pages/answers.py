"""All answers that the pages' tables and modules list, by exercise, and how far a wrong one is graded: no further than
it takes to refute it, since what would follow costs most of the time.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from tests.pages.table import FUNCTIONS, Answer, read_rows
from tutorlib.checking import cutile, kernel
from tutorlib.checking.exercise import Outcome
from tutorlib.exercises import find
from tutorlib.failure import Difference, failures_in

TEACHES: dict[str, str] = {}
WRONG: dict[str, list[Answer]] = {}
RIGHT: dict[str, list[Answer]] = {}


def load() -> None:
    for file in sorted(Path(__file__).parent.glob("p[0-9][0-9].txt")):
        taught, rows = read_rows(file, vars(import_module(f"{__package__}.{file.stem}")))
        TEACHES.update(taught)
        for answer in rows:
            (WRONG if answer.kinds else RIGHT).setdefault(answer.exercise, []).append(answer)
    for answer in FUNCTIONS:
        (WRONG if answer.kinds else RIGHT).setdefault(answer.exercise, []).append(answer)


def named(exercise: str, text: str) -> Answer:
    """The answer with this row, or whose function has this name."""
    (found,) = (one for one in (*WRONG[exercise], *RIGHT.get(exercise, ())) if one.text == text)
    return found


load()

# Grading them --------------------------------------------------------------------------------------------------------

BY_CHANCE = {Difference.NEARLY}  # as the random inputs have it
TRY_A_SIZE = ((kernel, "find_simulated_fault"), (cutile, "find_interpreted_fault"))


def refuted(id: str, answer: Callable) -> Outcome:
    """The outcome with which a wrong answer loses points: in brief, or in full where that finds nothing.

    What is wrong in brief is wrong in full, and what is said of the first wrong size is the same.
    """
    outcome = in_brief(id, answer)
    return in_full(id, answer) if outcome.status in ("passed", "not_run") else outcome


def found(outcome: Outcome) -> set[str]:
    """The kinds of failure that the message tells of."""
    return {failure.kind for failure in failures_in((outcome.message,))} - BY_CHANCE


@cache
def in_full(id: str, answer: Callable) -> Outcome:
    return find(id).grade(answer)


@cache
def in_brief(id: str, answer: Callable) -> Outcome:
    """No size once one was wrong."""
    with a_wrong_size_ends_it():
        return find(id).grade(answer)


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
        if got:
            found.append(got)
        return got

    return once
