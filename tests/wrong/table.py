"""Tables of wrong answers, exercise id → answers, as parameters of a test."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

Answers = Mapping[str, Sequence[Callable[..., Any]]]


def by_name(answers: Answers) -> list:
    """(id, answer) for each."""
    return [pytest.param(id, answer, id=f"{id}-{answer.__name__}") for id in answers for answer in answers[id]]
