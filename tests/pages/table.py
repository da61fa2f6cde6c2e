"""Tables of answers, exercise id → answers, as parameters of a test."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

Answers = Mapping[str, Sequence[Callable[..., Any]]]


def by_name(answers: Answers) -> list:
    """(id, answer) for each."""
    return [pytest.param(id, answer, id=f"{id}-{answer.__name__}") for id in answers for answer in answers[id]]


def says(*words: str) -> Callable[[Callable], Callable]:
    """Marks a wrong answer with words that the message about it must have."""

    def mark(answer: Callable) -> Callable:
        answer.says = words
        return answer

    return mark


def answer(name: str, what: str, function: Callable, *words: str) -> Callable:
    """A short answer as one line of a table. what: what is wrong or unusual with it. words: as in `says`."""
    function.__name__, function.__doc__ = name, what
    return says(*words)(function)
