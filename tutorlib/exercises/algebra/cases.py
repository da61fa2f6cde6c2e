"""Kinds of cases that exercises on layouts have beside tutorlib.exercise's: the same as CuTe, and a refusal."""

from collections.abc import Iterable
from functools import cache, wraps
from typing import Any

from tensor_layouts import Layout, size

from tutorlib.checking.exercise import Answer
from tutorlib.checking.values import Case, Mistake, law
from tutorlib.exercises.algebra.laws import Offsets, differs, of_layouts
from tutorlib.layouts.notation import text
from tutorlib.layouts.oracle import ask
from tutorlib.problems.wrong import Wrong


def agrees_with_cute(
    operation: str, calls: Iterable[tuple], mistakes: Iterable[Mistake], as_written: bool = False
) -> Case:
    """A case that is right when every answer is the same function as what cutlass.cute's operation of this name gives.

    calls: arguments for which CuTe has an answer, asked in one batch when the first of them is judged.
    as_written: the answer is written with the same modes, too.
    """
    calls = tuple(calls)

    @cache
    def cute() -> dict[tuple, Layout]:
        return dict(zip(calls, ask((operation, *args) for args in calls), strict=True))

    def holds(got: Layout, *args: Any) -> str | None:
        want = cute()[args]
        if broken := differs(got, Offsets(want), size(want)):
            return f"CuTe gives {text(want)}; in yours, {broken}"
        return f"CuTe writes it {text(want)}" if as_written and got != want else None

    return law("the same as CuTe", calls, of_layouts(holds), mistakes)


def refuses(name: str, calls: Iterable[tuple], why: str) -> Case:
    """A case that is right when every call raises ValueError: no layout could be the answer."""

    def judge(answer: Answer) -> Wrong | None:
        @wraps(answer)
        def careful(*args: Any) -> Any:
            try:
                return answer(*args)
            except ValueError:
                return ValueError

        def holds(got: Any, *args: Any) -> str | None:
            return None if got is ValueError else f"{why}, so it should raise ValueError"

        return law(name, calls, holds).judge(careful)

    return Case(name, judge)
