"""Wrong answers made of a page's own solution by a change to its text, for functions that any machine can call."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tests.pages.change import DoesNotApply
from tests.pages.table import answer
from tutorlib.course.source import parse
from tutorlib.exercises import find
from tutorlib.paths import SOLUTIONS, notebook_names


@cache
def page(number: str) -> dict[str, str]:
    """Exercise → its solved answer cell."""
    (name,) = [name for name in notebook_names() if name.startswith(number)]
    return {cell.exercise: cell.solved for cell in parse(SOLUTIONS / f"{name}.py") if cell.role == "answer"}


def solution(id: str, names: dict[str, Any], *changes: tuple[str, str]) -> Callable:
    """The function of an answer cell, with each first text of a pair put in place of the other, once.

    names: what the page imports. Raises DoesNotApply where a text does not stand there exactly once.
    """
    text = page(id[:2])[id]
    for old, new in changes:
        if text.count(old) != 1:
            raise DoesNotApply(f"{old!r} stands {text.count(old)} times in\n{text}")
        text = text.replace(old, new)
    namespace = dict(names)
    exec(text, namespace)
    return namespace[find(id).title]


def replaced(
    id: str, names: dict[str, Any], name: str, what: str, *changes: tuple[str, str], words: Sequence[str] = ()
) -> Callable:
    """The solution with these changes. what: is wrong with it then; words: of the message."""
    return answer(name, what, solution(id, names, *changes), *words)


def changed(id: str, names: dict[str, Any], name: str, what: str, old: str, new: str, *words: str) -> Callable:
    """The solution with `new` in place of `old`."""
    return replaced(id, names, name, what, (old, new), words=words)
