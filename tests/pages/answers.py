"""All answers that the pages' tables and modules list, by exercise, and how far a wrong one is graded: no further than
it takes to refute it, since what would follow costs most of the time.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from tests.pages.table import FUNCTIONS, Answer, read_rows
from tutorlib.checking import cutile, cutile_evidence, evidence, kernel
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.evidence import CuteEvidence, made_or_why, used
from tutorlib.checking.exercise import Outcome
from tutorlib.compiling.compiled import instructions_in
from tutorlib.exercises import find
from tutorlib.failure import Difference, failures_in
from tutorlib.simulate.ptx import NotSimulated

TEACHES: dict[str, str] = {}
WRONG: dict[str, list[Answer]] = {}
RIGHT: dict[str, list[Answer]] = {}


def load() -> None:
    for file in sorted(Path(__file__).parent.glob("p[0-9][0-9].txt")):
        names = vars(import_module(f"{__package__}.{file.stem}")) if file.with_suffix(".py").exists() else {}
        taught, rows = read_rows(file, names)
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
TRY_A_SIZE = ((kernel, "find_simulated_fault"), (CutileExercise, "fault_at"))
ENTRIES = {  # the modules in which they are made, and used
    "made_or_why": (evidence, cutile_evidence),
    "used": (evidence, cutile, cutile_evidence),
}
wrong_code = CuteExercise.wrong_code


@cache
def refuted(answer: Answer) -> Outcome:
    """The outcome with which a wrong answer loses points: in brief, or in full where that does not show its failures.

    What is wrong in brief is wrong in full, and what is said of the first wrong size is the same.
    """
    outcome = in_brief(answer.exercise, answer.function)
    if outcome.status in ("passed", "not_run") or not found(outcome) >= answer.kinds:
        return find(answer.exercise).grade(answer.function)
    return outcome


def found(outcome: Outcome) -> set[str]:
    """The kinds of failure that the message tells of."""
    return {failure.kind for failure in failures_in((outcome.message,))} - BY_CHANCE


def in_brief(id: str, answer: Callable) -> Outcome:
    """No size once one was wrong, nothing compiled that nobody looks at, and no machine code looked at."""
    with ExitStack() as stack:
        for module, name in TRY_A_SIZE:
            stack.enter_context(mock.patch.object(module, name, until_wrong(getattr(module, name))))
        stack.enter_context(mock.patch.object(CuteExercise, "wrong_code", wrong_code_in_brief))
        stack.enter_context(made_when_used())
        return find(id).grade(answer)


def wrong_code_in_brief(exercise: CuteExercise, evidence: CuteEvidence) -> str | None:
    """By the instructions at the first simulated size, which is compiled in any case."""
    with suppress(NotSimulated):
        if exercise.lacking(instructions_in(evidence.at(exercise.sizes_simulated[0]).ptx)):
            return wrong_code(exercise, evidence)
    return None


@contextmanager
def made_when_used() -> Iterator[None]:
    """Meanwhile each entry of the evidence in this process is made where the judge uses it."""
    later = {"made_or_why": lambda *made_of: cache(partial(made_or_why, *made_of)), "used": lambda entry: used(entry())}
    with ExitStack() as stack:
        for name, modules in ENTRIES.items():
            for module in modules:
                stack.enter_context(mock.patch.object(module, name, later[name]))
        yield


def until_wrong(attempt: Callable[..., Any]) -> Callable[..., Any]:
    """All sizes that follow a wrong one count as wrong, too, and are not tried."""
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
