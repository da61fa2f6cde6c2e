"""Scenarios: functions that run around an answer, in its process, and return a record of what happened.

A record is plain data: names of parts, as a sentence has them, and what each is, or a dictionary of it. The judge
compares it part by part with the record that it expects, often that of the course's own answer.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from tutorlib.checking.answer import Served
from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.checking.randomness import rng_of_run
from tutorlib.checking.values import Case, attempt
from tutorlib.compiling.errors import without_colours
from tutorlib.failure import Fail, FailureKind, Flaw, failures_in
from tutorlib.problems.differences import Wrong

Record = dict[str, Any]
Scenario = Callable[..., Record]  # takes the Served answer, then plain data
A_WORD = 20  # characters of a part that a hint may name


class RecordFlaw(FailureKind):
    """A part of a record is not as expected [part: its name; got: a word in its place, or for how a tensor differs]."""

    UNLIKE = "unlike the course's"


def recorded(
    name: str, scenario: Scenario, draw: Callable[[Random], tuple], expected: Callable[..., Record], seed: int = 17
) -> Case:
    """A case that is right when the scenario's record has all parts that `expected` returns.

    draw: makes the arguments of both: in a run for points at random, else always the same.
    """

    def judge(answer: Served) -> Wrong | None:
        args = draw(rng_of_run(seed))
        record, wrong = record_of(answer, scenario, *args)
        said = "" if wrong else unlike(record, expected(*args))
        return Wrong(said) if said else wrong

    return Case(name, judge)


def as_the_course(name: str, scenario: Scenario, draw: Callable[[Random], tuple], course: Callable[[], Answer]) -> Case:
    """A case that is right when the record is that of the answer that `course` returns."""
    return recorded(name, scenario, draw, lambda *given: scenario(Served(course()), *given))


def record_of(answer: Served, scenario: Callable[..., Any], *args: Any) -> tuple[Any, Wrong | None]:
    """The record of a scenario, or what it raised: without the call, whose arguments are the judge's own."""
    record, wrong = attempt(answer.through(scenario), args)
    if wrong:
        wrong = Wrong(Flaw(f"it raised {wrong.what.partition(' raised ')[2]}", *failures_in([wrong.what])))
    return record, wrong


def raised(who: str, error: Exception) -> Flaw:
    """That the answer raised this error, for a record. Raises WrongKind and the placeholder's error again."""
    if isinstance(error, NotImplementedError | WrongKind):
        raise error
    lines = [line.strip() for line in without_colours(str(error)).strip().splitlines()]
    causes = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]  # below the DSL's headline
    name = type(error).__name__
    said = f"{who} raised {name}: {next(iter(causes or lines), '')}"
    return Flaw(said, Fail.RAISED(error=name), *failures_in(error.args))


def unlike(got: Record, want: Record) -> str:
    """The first part that differs, in the order of `want`, as a sentence; or "". An error is a sentence itself."""
    for part, wanted in want.items():
        mine = got.get(part)
        pairs = {"": (mine, wanted)}
        if isinstance(wanted, dict) and isinstance(mine, dict):
            pairs = {f"{key or 'the module'}: ": (mine.get(key), wanted.get(key)) for key in wanted | mine}
        for where, (one, other) in pairs.items():
            if differs := difference(one, other):
                if part == "error" and one:
                    return one
                says, how = differs
                return Flaw(f"{where}{part} {says}.", RecordFlaw.UNLIKE(part=part, **({"got": how} if how else {})))
    return ""


def difference(mine: Any, wanted: Any) -> tuple[str, str] | None:
    """How a part differs, as the end of a sentence and in a word; None where it does not."""
    import torch

    if not isinstance(mine, torch.Tensor) or not isinstance(wanted, torch.Tensor):
        if type(mine) is type(wanted) and mine == wanted:
            return None
        word = mine if isinstance(mine, str) and len(mine) <= A_WORD else ""
        return f"should be {in_words(wanted)}, and is {in_words(mine)}", word
    for what, of in (("shape", lambda x: tuple(x.shape)), ("dtype", lambda x: str(x.dtype).removeprefix("torch."))):
        if of(mine) != of(wanted):
            return f"has the {what} {of(mine)}, and should have {of(wanted)}", what
    if mine.allclose(wanted, rtol=1e-4, atol=1e-5):
        return None
    if mine.isnan().any():
        return "has NaN", "nan"
    return f"is another one, off by {float((mine - wanted).abs().max()):.3g}", "value"


def in_words(value: Any) -> str:
    import torch

    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return "none" if value is None or str(value) == "" else str(value)
