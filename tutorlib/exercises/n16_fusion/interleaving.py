"""16.6: the layout of interleaved weights."""

from collections.abc import Iterable, Sequence
from math import prod
from random import Random
from typing import Any

from tutorlib.checking.drawn import beside
from tutorlib.checking.values import Case, Mistake, law
from tutorlib.exercises.words import mistakes
from tutorlib.failure import FailureKind, Flaw

MOST_ROWS = 2**20  # listed one by one; the largest weights here have a few hundred


class RowsFlaw(FailureKind):
    """Errors in the layout of interleaved rows. ROW: one comes from the wrong place [wanted]."""

    NO_PAIR = "no shape and stride"
    NUMBER = "number of rows"
    ROW = "row"


def rows_of(layout: Any) -> list[int] | str:
    """The source of each row, the first mode fastest; or an error in the pair."""
    try:
        shape, stride = layout
        sizes = [(int(size), int(step)) for size, step in zip(shape, stride, strict=True)]
    except (TypeError, ValueError):
        wanted = "it should be a pair (shape, stride) of tuples of whole numbers, equally long"
        return Flaw(wanted, RowsFlaw.NO_PAIR)
    if any(size < 1 for size, _ in sizes) or prod(size for size, _ in sizes) > MOST_ROWS:
        return f"its shape should have between 1 and {MOST_ROWS:,} rows"
    rows = [0]
    for size, step in sizes:
        rows = [row + step * n for n in range(size) for row in rows]
    return rows


def sources(features: int, width: int) -> list[int]:
    return [
        half * features + piece * width + row
        for piece in range(features // width)
        for half in (0, 1)
        for row in range(width)
    ]


def interleaves(
    name: str, known: Sequence[tuple[int, int]], widths: Sequence[int], mistakes: Iterable[Mistake] = ()
) -> Case:
    """widths: of the grader's pieces, of which it also tries any number."""

    def holds(got: Any, features: int, width: int) -> str | None:
        rows, wanted = rows_of(got), sources(features, width)
        if isinstance(rows, str):
            return rows
        if len(rows) != 2 * features:
            what = f"it has {len(rows)} rows, and gate and up together have {2 * features}"
            return Flaw(what, RowsFlaw.NUMBER)
        if rows == wanted:
            return None
        at = next(n for n, (row, want) in enumerate(zip(rows, wanted, strict=True)) if row != want)
        which = f"{'up' if wanted[at] >= features else 'gate'}'s row {wanted[at] % features}"
        what = f"row {at} should be {which}, which is row {wanted[at]} of gate stacked on up; it is row {rows[at]}"
        return Flaw(what, RowsFlaw.ROW(wanted=which))

    def draw(rng: Random) -> tuple[int, int]:
        width = rng.choice(widths)
        return width * rng.randint(1, 20), width

    return law(name, beside(known, draw), holds, mistakes)


INTERLEAVING = mistakes(
"16.6",
up_first=lambda f, w: ((w, 2, f // w), (1, w, 2 * w)),
pieces_first=lambda f, w: ((f // w, 2, w), (w, f, 1)),
stacked=lambda f, w: ((2 * f,), (1,)),
single_rows=lambda f, w: ((2, f), (f, 1)),
next_to_each_other=lambda f, w: ((w, 2, f // w), (1, f, 2 * w)),
piece_count=lambda f, w: ((w, 2, w), (1, f, w)),
)  # fmt: skip
