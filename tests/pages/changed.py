"""Wrong answers made of a page's own kernels by a change to the host function or to the kernel that it launches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.pages.change import Change, derive
from tests.pages.table import says
from tutorlib.course.answers import load_answers


@cache
def right_answers(page: str) -> dict[str, Any]:
    """Exercise → the page's solution."""
    return load_answers(page)


@dataclass(frozen=True)
class Changed:
    """page: "04_first_kernels". kernels: exercise → the name of the kernel that its host function launches."""

    page: str
    kernels: Mapping[str, str]

    def host(self, id: str, name: str, what: str, *changes: Change, words: tuple[str, ...] = ()) -> Callable:
        """A change to the host function. what: is wrong with it then; words: of the message."""
        return says(*words)(derive(right_answers(self.page)[id], name, what, *changes))

    def kernel(self, id: str, name: str, what: str, *changes: Change, words: tuple[str, ...] = ()) -> Callable:
        """A change to the kernel."""
        right = right_answers(self.page)[id]
        return says(*words)(derive(right, name, what, *changes, within=self.kernels[id]))
