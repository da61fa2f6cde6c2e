"""Scenarios: functions that run around an answer, in its process, and return a record of what happened.

A record is plain data. The judge compares it with what it expects, or with the record of the course's own answer.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from tutorlib.checking.answer import Answer, Served, WrongKind
from tutorlib.checking.randomness import rng_of_run
from tutorlib.checking.values import Case, attempt
from tutorlib.compiling.errors import without_colours
from tutorlib.failure import Fail, FailureKind, Flaw, failures_in
from tutorlib.problems.wrong import Wrong

Record = dict[str, Any]  # names of parts, as a sentence has them → plain data, or a dictionary of it


class RecordFlaw(FailureKind):
    """A part of a record is not the course's [part: its name; got: what it is instead, if that is a word]."""

    UNLIKE = "unlike the course's"


def judged_by_record(
    name: str, scenario: Callable[..., Any], draw: Callable[[Random], tuple], wrong_record: Callable[..., str]
) -> Case:
    """A case that is right when `wrong_record` returns "" for the scenario's record.

    draw: makes the scenario's arguments. wrong_record: takes the record and these arguments, returns what is wrong.
    """

    def judge(answer: Served) -> Wrong | None:
        args = draw(rng_of_run(17))
        record, wrong = record_of(answer, scenario, *args)
        said = "" if wrong else wrong_record(record, *args)
        return Wrong(said) if said else wrong

    return Case(name, judge)


def as_the_course(
    name: str, scenario: Callable[..., Record], draw: Callable[[Random], tuple], course: Callable[[], Answer]
) -> Case:
    """A case that is right when the scenario's record is the one of the answer that `course` returns.

    draw: makes the scenario's arguments.
    """
    return judged_by_record(name, scenario, draw, lambda got, *given: unlike(got, scenario(Served(course()), *given)))


def record_of(answer: Served, scenario: Callable[..., Any], *args: Any) -> tuple[Any, Wrong | None]:
    """The record of a scenario, or what it raised: without the call, whose arguments are the judge's own."""
    record, wrong = attempt(answer.through(scenario), args)
    return record, wrong and without_call(wrong)


def without_call(wrong: Wrong) -> Wrong:
    """An error of the answer, as `attempt` tells it, without the call."""
    return Wrong(Flaw(f"it raised {wrong.what.partition(' raised ')[2]}", *failures_in([wrong.what])))


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
    """The first part that differs, in the order of the right record, as a sentence; or "". An error is one itself."""
    for part, wanted in want.items():
        mine, where = got.get(part), ""
        if isinstance(wanted, dict) and isinstance(mine, dict):
            keys = [*wanted, *(key for key in mine if key not in wanted)]
            key = next((key for key in keys if not same_part(mine.get(key), wanted.get(key))), None)
            if key is None:
                continue
            mine, wanted, where = mine.get(key), wanted.get(key), f"{key or 'the module'}: "
        elif same_part(mine, wanted):
            continue
        if part == "error" and mine:
            return mine
        fields = {"part": part} | ({"got": mine} if isinstance(mine, str) and mine.isidentifier() else {})
        if hasattr(wanted, "numel"):
            return Flaw(f"{where}{part} is another one.", RecordFlaw.UNLIKE(**fields))
        wants, is_ = ("none" if one is None or one == "" else str(one) for one in (wanted, mine))
        return Flaw(f"{where}{part} should be {wants}, and is {is_}.", RecordFlaw.UNLIKE(**fields))
    return ""


def same_part(mine: Any, wanted: Any) -> bool:
    import torch

    if isinstance(mine, torch.Tensor) and isinstance(wanted, torch.Tensor):
        return mine.shape == wanted.shape and mine.allclose(wanted, rtol=1e-4, atol=1e-5)
    return type(mine) is type(wanted) and bool(mine == wanted)
