"""Records of scenarios, compared part by part with the record of the course's own answer: see `scenario`."""

from collections.abc import Callable
from random import Random
from typing import Any

from tutorlib.checking.exercise import Answer
from tutorlib.checking.scenario import judged_by_record
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.failure import FailureKind, Flaw

Record = dict[str, Any]  # names of parts, as a sentence has them → plain data, or a dictionary of it


class RecordFlaw(FailureKind):
    """A part of a record is not the course's [part: its name; got: what it is instead, if that is a word]."""

    UNLIKE = "unlike the course's"


def as_the_course(
    name: str, scenario: Callable[..., Record], draw: Callable[[Random], tuple], course: Callable[[], Answer]
) -> Case:
    """A case that is right when the scenario's record is the one of the answer that `course` returns.

    draw: makes the scenario's arguments.
    """
    return judged_by_record(name, scenario, draw, lambda got, *given: unlike(got, scenario(Served(course()), *given)))


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
        differs = (
            "is another one"
            if hasattr(wanted, "numel")
            else f"should be {part_in_words(wanted)}, and is {part_in_words(mine)}"
        )
        return Flaw(f"{where}{part} {differs}.", RecordFlaw.UNLIKE(**fields))
    return ""


def same_part(mine: Any, wanted: Any) -> bool:
    import torch

    if isinstance(mine, torch.Tensor) and isinstance(wanted, torch.Tensor):
        return mine.shape == wanted.shape and mine.allclose(wanted, rtol=1e-4, atol=1e-5)
    return type(mine) is type(wanted) and bool(mine == wanted)


def part_in_words(value: Any) -> str:
    return "none" if value is None or value == "" else str(value)
