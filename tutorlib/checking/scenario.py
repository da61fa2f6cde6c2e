"""Scenarios: functions that run around an answer, in its process, and return a record of what happened.

A record is plain data. The judge compares it with what it expects, or with the record of the course's own answer.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.randomness import rng_of_run
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, attempt
from tutorlib.compiling.errors import without_colours
from tutorlib.failure import Fail, Flaw, failures_in
from tutorlib.problems.differences import Wrong


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
