"""A page's own answers, which wrong ones are derived from."""

from functools import cache
from typing import Any

from tutorlib.course.answers import load_answers


@cache
def right_answers(page: str) -> dict[str, Any]:
    """Exercise → the page's solution."""
    return load_answers(page)
