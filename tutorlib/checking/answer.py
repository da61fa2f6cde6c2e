"""Answers, and the errors raised for those that cannot be judged."""

from collections.abc import Callable
from typing import Any

Answer = Callable[..., Any]


class Unwritten(Exception):
    """The answer still holds the placeholder that `tutor build` put there."""


class WrongKind(Exception):
    """The answer is not the kind of thing that the exercise asks for. The message says so, in one line."""


def is_placeholder(error: NotImplementedError) -> bool:
    """Whether `tutor build` put this error there in place of an answer."""
    return str(error).startswith("Exercise ")
