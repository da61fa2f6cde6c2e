"""`check` and `hint`."""

import io
import os
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout

from tutorlib.checking.exercise import Answer
from tutorlib.exercises import find
from tutorlib.notebook import standing
from tutorlib.problems.differences import count

JUDGED_OUTSIDE = "TUTORLIB_JUDGED_OUTSIDE"  # set while grading: the exercises that another process judges

_failures: Counter[str] = Counter()
_remedies: dict[str, str] = {}  # exercise → the hint for its last failure, if there is one
_hints_shown: Counter[str] = Counter()


class Printed(io.StringIO):
    """The first LIMIT characters that an answer prints while it is checked. They are shown with a failure."""

    LIMIT = 2**16

    def write(self, text: str) -> int:
        super().write(text[: self.LIMIT - self.tell()])
        return len(text)

    def lines(self, most: int = 5) -> str:
        """The first lines, indented, or "" if nothing was printed."""
        lines = self.getvalue().splitlines()
        more = [f"… and {count(len(lines) - most, 'more line')}"] if len(lines) > most else []
        return "".join(f"\n    {line}" for line in ["It printed:", *lines[:most], *more]) if lines else ""


class CheckFailed(AssertionError):
    """The answer is wrong or partly right. Jupyter shows the message without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def check(id: str, answer: Answer) -> None:
    """Grade an answer: print one line if it is right, else raise CheckFailed, whose message says what to look at.

    A second line has the speed of a timed kernel. A kernel that this machine can compile but not run is neither right
    nor wrong, and the line says so. Raises UnknownExercise.
    """
    if judged_elsewhere():
        print(f"{id} is handed in.")
        return
    exercise = find(id)
    printed = Printed()
    with redirect_stdout(printed), redirect_stderr(printed):
        outcome = exercise.grade(answer)
    standing.record(outcome)
    _remedies.pop(id, None)
    if outcome.status in ("passed", "not_run"):
        print(outcome.message)
        return
    remedy = "" if outcome.explained else outcome.remedy
    if remedy:
        _remedies[id] = remedy
    message = outcome.message + printed.lines()
    if _failures[id] and remedy:
        message += f"\n  Hint: {remedy}"
    if _failures[id] and exercise.hints:
        message += f'\n  {"More hints" if remedy else "Hints"}: from tutorlib import hint; hint("{id}")'
    _failures[id] += 1
    raise CheckFailed(message)


def hint(id: str) -> None:
    """Print the next hint for an exercise: first the one for the last failure, if any, then from gentle to explicit.

    The last hint repeats.
    """
    if remedy := _remedies.pop(id, None):
        print(f"About your last attempt: {remedy}")
        return
    if judged_elsewhere():
        print(f"{id} is handed in: there is no hint for it now.")
        return
    hints = find(id).hints
    if not hints:
        print(f"There is no hint for {id}.")
        return
    shown = min(_hints_shown[id], len(hints) - 1)
    _hints_shown[id] += 1
    print(f"Hint {shown + 1} of {len(hints)}: {hints[shown]}")


def judged_elsewhere() -> bool:
    """Whether another process grades this one; then this one may lack the exercises."""
    return JUDGED_OUTSIDE in os.environ
