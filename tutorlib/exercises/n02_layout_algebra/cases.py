"""Kinds of cases that exercises on layouts have beside tutorlib.exercise's: the same as CuTe, and a refusal."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from random import Random
from typing import Any

import tensor_layouts as tl
from tensor_layouts import Layout, size

from tutorlib.checking.drawn import stretched
from tutorlib.checking.exercise import Answer
from tutorlib.checking.values import Case, Mistake, law
from tutorlib.exercises.n02_layout_algebra.laws import Lawbreak, Offsets, differs, of_layouts
from tutorlib.exercises.n02_layout_algebra.random_layouts import drawn
from tutorlib.failure import Flaw
from tutorlib.layouts.notation import text
from tutorlib.layouts.oracle import ask
from tutorlib.problems.wrong import Wrong


def agrees_with_cute(
    operation: str, calls: Iterable[tuple], mistakes: Iterable[Mistake], as_written: bool = False
) -> Case:
    """A case that is right when every answer is the same function as what cutlass.cute's operation of this name gives.

    calls: arguments for which CuTe has an answer; it is asked for the known ones in one batch.
    as_written: the answer is written with the same modes, too.
    """
    known = tuple(calls)
    answers: dict[tuple, Any] = {}

    def holds(got: Layout, *args: Any) -> str | None:
        if args not in answers:
            asked = known if args in known else (args,)
            answers.update(zip(asked, ask((operation, *one) for one in asked), strict=True))
        want = answers[args]
        if broken := differs(got, Offsets(want), size(want)):
            return f"CuTe gives {text(want)}; in yours, {broken}"
        return f"CuTe writes it {text(want)}" if as_written and got != want else None

    return law("the same as CuTe", calls, of_layouts(holds), mistakes)


OPERATORS = (  # in the page's order: each may be written with those before it, and many of the later ones call it
    *("coalesce", "compose", "complement", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide"),
    *("logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product"),
    *("right_inverse", "left_inverse", "max_common_layout", "max_common_vector"),
)


def from_here_on(operator: str) -> dict[str, Answer]:
    """The library of the exercise that asks for this operator: it and the later ones."""
    return {f"tl.{name}": getattr(tl, name) for name in OPERATORS[OPERATORS.index(operator) :]}


class Refusal:
    """In place of a result: the answer raised ValueError."""

    def __repr__(self) -> str:
        return "a ValueError"


def refuses(name: str, calls: Sequence[tuple], why: str, valid: Callable[[Random], tuple]) -> Case:
    """A case that is right when these calls raise ValueError, since no layout could be the answer, and others do not.

    valid: draws a call that has an answer.
    """
    refusal = Refusal()

    def refused(got: Any, *args: Any) -> str | None:
        return None if got is refusal else Flaw(f"{why}, so it should raise ValueError", Lawbreak.NOT_REFUSED)

    def answered(got: Any, *args: Any) -> str | None:
        return "there is a layout that is the answer" if got is refusal else None

    parts = law(name, stretched(calls), refused), law(name, drawn(0, valid, len(calls)), answered)

    def judge(answer: Answer) -> Wrong | None:
        @wraps(answer)
        def careful(*args: Any) -> Any:
            try:
                return answer(*args)
            except ValueError:
                return refusal

        return next(filter(None, (part.judge(careful) for part in parts)), None)

    return Case(name, judge, tuple(call for part in parts for call in part.calls))
