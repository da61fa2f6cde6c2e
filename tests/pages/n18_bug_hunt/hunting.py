"""What answers to notebook 18 are made of, wrong and right ones: diagnoses, and fixes by a change of the source."""

from collections.abc import Callable

import numpy as np

from tests.pages.table import answer
from tutorlib.exercises import of_notebook
from tutorlib.exercises.n18_bug_hunt.judge.diagnosis import Diagnosis
from tutorlib.kernels.bugs.catalogue import BUGS
from tutorlib.notebook.hunt import as_it_is, patch

SHOWS = {"softmax": (np.full((4, 300), -1000.0),)}  # of bugs that random numbers do not show, what does
NAMES = tuple(exercise.bug.name for exercise in of_notebook("18_bug_hunt"))[::2]  # in the page's order

# column_sums and softmax
STORED = "  partial[slice][column] = sum;\n"
READ = "  sum = 0.0f;\n  for (int other"
FENCE = "  __threadfence();\n"
TICKET = "  if (t == 0) last = atomicAdd(&finished[strip], 1) == SLICES - 1;\n"
ORDERED = """  if (t == 0) {
    __threadfence();
    last = atomicAdd(&finished[strip], 1) == SLICES - 1;
    __threadfence();
  }
"""
PADDED = "lane < WARPS ? partial[lane] : 0.0f, op"


def diagnosed(name: str) -> str:
    """The exercise that diagnoses this bug."""
    return f"18.{2 * NAMES.index(name) + 1}"


def fixed(name: str) -> str:
    return f"18.{2 * NAMES.index(name) + 2}"


def original(name: str) -> Callable:
    def unchanged(source: str) -> str:
        return as_it_is(source)

    return answer(f"original_{name}", "the broken kernel itself", unchanged)


def fix(name: str, what: str, *changes: tuple[str, str], says: tuple[str, ...] = ()) -> Callable:
    def changed(source: str) -> str:
        for old, new in changes:
            source = patch(source, old, new)
        return source

    return answer(name, what, changed, *says)


def diagnosis(
    name: str, what: str, line: str | int | None, cause: str | None, shape: tuple, *data: object, says: tuple = ()
) -> Callable:
    given = {"data": data} if data else {}
    return answer(name, what, lambda: Diagnosis(line=line, cause=cause, shape=shape, **given), *says)


def unproven(name: str, line: str | int, cause: str, *shape: int) -> Callable:
    """Line and cause are right, and the input is one at which the kernel is, too: this shape, or the report's."""
    what = "right about the kernel, at a shape where nothing shows"
    return diagnosis(f"unproven_{name}", what, line, cause, shape or BUGS[name].right_at, says=("nothing goes wrong",))


def guess(name: str, line: str | int, cause: str, says: str = "shows it") -> Callable:
    """The input shows it, the line is right, the cause is another."""
    words = ("The line, the cause or both are wrong", says)
    return diagnosis(
        f"{cause} in {name}", "a wrong cause", line, cause, BUGS[name].wrong_at, *SHOWS.get(name, ()), says=words
    )


def beside(name: str, line: str | int, cause: str) -> Callable:
    """The input shows it, the cause is right, the line is another."""
    words = ("The line, the cause or both are wrong",)
    return diagnosis(
        f"{line} of {name}", "a wrong line", line, cause, BUGS[name].wrong_at, *SHOWS.get(name, ()), says=words
    )


def neither(name: str, line: str | int, cause: str) -> Callable:
    """Another line, and what would be wrong there."""
    words = ("The line, the cause or both are wrong",)
    return diagnosis(
        f"neither_{name}",
        "a wrong line and a wrong cause",
        line,
        cause,
        BUGS[name].wrong_at,
        *SHOWS.get(name, ()),
        says=words,
    )
