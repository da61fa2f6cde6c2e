"""Exercises whose answer is a function, written as a table: the reference, the calls of each case, known mistakes."""

from collections.abc import Callable, Iterable, Mapping
from math import isclose
from random import Random
from typing import Any

from tutorlib.checking.exercise import Answer
from tutorlib.checking.randomness import Drawn, beside
from tutorlib.checking.values import Case, ValueExercise, equals, law
from tutorlib.exercises.words import mistakes as with_their_words

Draw = Callable[[Random], tuple]  # makes the arguments of a call
Law = Callable[..., str | None]  # takes a result and the arguments of its call; returns what is wrong, or None


def value_exercise(
    head: tuple[str, str, int],
    wanted: Any,
    cases: Mapping[str, Iterable[tuple]],
    *more: Case,
    holds: Law | Mapping[str, Law] | None = None,
    mistakes: Mapping[str, Answer] = {},
    **settings: Any,
) -> ValueExercise:
    """An exercise whose answer must return the same as `wanted`, or fulfill the law `holds`, at all calls of a case.

    head: id, title, points. cases: their names → their calls. holds: one law, or one for each case by its name.
    more: cases that are judged in another way.
    mistakes: wrong answers that people write; words/NN.toml has what `check` says of them.
    settings: of ValueExercise.
    """
    known = with_their_words(head[0], **mistakes)
    laws = holds if isinstance(holds, Mapping) else dict.fromkeys(cases, holds)
    made = [
        law(name, calls, each, known) if (each := laws[name]) else equals(name, calls, wanted, known)
        for name, calls in cases.items()
    ]
    return case_exercise(head, *made, *more, **settings)


def case_exercise(head: tuple[str, str, int], *cases: Case, **settings: Any) -> ValueExercise:
    """An exercise whose answer these cases judge. head: id, title, points. settings: of ValueExercise."""
    return ValueExercise.of(head, cases=cases, **settings)


def near(wanted: Callable[..., float]) -> Law:
    """The law of a number that `wanted` gives, up to rounding."""

    def holds(got: Any, *args: Any) -> str | None:
        want = wanted(*args)
        right = type(got) in (int, float) and isclose(got, want, rel_tol=1e-6)
        return None if right else f"it should give {want:.7g}"

    return holds


def drawn(seed: int, draw: Draw, n: int = 25, known: Iterable[tuple] = ()) -> Drawn:
    """The known calls, and n that are drawn from a generator with this seed; the grader draws n others."""
    rng = Random(seed)
    return beside([*known, *(draw(rng) for _ in range(n))], draw, n)


def of_tl(*names: str) -> dict[str, Answer]:
    """These functions of tensor_layouts, as the library of an exercise."""
    import tensor_layouts

    return {f"tl.{name}": getattr(tensor_layouts, name) for name in names}
