"""Exercises whose answer is a function, written as a table: the reference, the calls of each case, known mistakes."""

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

import tensor_layouts as tl

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
    id, title, points = head
    known = with_their_words(id, **mistakes)
    laws = holds if isinstance(holds, Mapping) else dict.fromkeys(cases, holds)
    made = [
        law(name, calls, each, known) if (each := laws[name]) else equals(name, calls, wanted, known)
        for name, calls in cases.items()
    ]
    return ValueExercise(id=id, title=title, points=points, cases=(*made, *more), **settings)


def drawn(seed: int, draw: Draw, n: int = 25, known: Iterable[tuple] = ()) -> Drawn:
    """The known calls, and n that are drawn from a generator with this seed; the grader draws n others."""
    rng = Random(seed)
    return beside([*known, *(draw(rng) for _ in range(n))], draw, n)


def of_tl(*names: str) -> dict[str, Answer]:
    """These functions of tensor_layouts, as the library of an exercise."""
    return {f"tl.{name}": getattr(tl, name) for name in names}
