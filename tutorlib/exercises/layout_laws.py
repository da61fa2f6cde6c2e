"""Laws of the layouts that answers return, and random layouts to try them on.

A law compares a layout with a reference's as a function, on the coordinates of a shape. Random layouts have extents
that are powers of two: these divide each other, so every operator of the layout algebra has an answer.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from random import Random
from typing import Any

from tensor_layouts import Layout, compatible, cosize, flatten, idx2crd, mode, rank, size, unwrap

from tutorlib.checking.exercise import Answer
from tutorlib.checking.randomness import Drawn, beside
from tutorlib.checking.values import Case, law
from tutorlib.exercises.values import Draw, Law, drawn
from tutorlib.failure import FailureKind, Flaw
from tutorlib.layouts.notation import calls, text
from tutorlib.problems.differences import Wrong

Shape = int | tuple


class LayoutFlaw(FailureKind):
    """Errors in a layout."""

    MODES = "other modes"
    OFFSET = "another offset"
    NOT_REFUSED = "not refused"


def offsets(layout: Layout) -> list[int]:
    """The offset of every index, worked out at once: to call the layout for each takes ten times as long."""
    flat = [0]
    for extent, stride in zip(flatten((layout.shape,)), flatten((layout.stride,)), strict=True):
        flat = [start + n * stride for n in range(extent) for start in flat]
    return flat


def extents(layout: Layout) -> tuple[int, ...]:
    """How many elements each mode has: (4, 8) of ((2,2),8):((1,16),2)."""
    return tuple(size(mode(layout, n)) for n in range(rank(layout)))


def by_mode(want: Layout, *args: Any) -> Shape:
    """The one where R must have modes of the same sizes."""
    return extents(want)


def its_own(want: Layout, *args: Any) -> Shape:
    """The one where R must have the same modes at every level."""
    return want.shape


def same_function(reference: Answer, shape: Callable[..., Shape] = lambda want, *args: size(want)) -> Law:
    """The law that R is the same function as the layout that `reference` returns; or has the offsets that it lists.

    shape: takes what it returns and the call's arguments; returns the shape whose coordinates R must take: by default a
        size alone. A finer
        nesting of R's own shape is free.
    """

    def holds(got: Any, *args: Any) -> str | None:
        if not isinstance(got, Layout):
            return "it should be a Layout"
        want = reference(*args)
        wanted = shape(want, *args)
        if not compatible(wanted, got.shape):
            return Flaw(f"it should take the coordinates of the shape {text(wanted)}", LayoutFlaw.MODES)
        should_be = offsets(want) if isinstance(want, Layout) else want
        for index, (at, should) in enumerate(zip(offsets(got), should_be, strict=True)):
            if at != should:
                what = f"it sends {idx2crd(index, wanted)} to {at} and should send it to {should}"
                return Flaw(what, LayoutFlaw.OFFSET)
        return None

    return holds


def refuses(name: str, why: str, *written: str, valid: Draw) -> Case:
    """A case that is right when these calls raise ValueError, since no layout could be the answer, and others do not.

    valid: draws a call that has an answer.
    """

    def refused(got: Any, *args: Any) -> str | None:
        return None if got is ValueError else Flaw(f"{why}, so it should raise ValueError", LayoutFlaw.NOT_REFUSED)

    def answered(got: Any, *args: Any) -> str | None:
        return "there is a layout that is the answer" if got is ValueError else None

    parts = law(name, scaled(*written), refused), law(name, drawn(0, valid, 4), answered)

    def judge(answer: Answer) -> Wrong | None:
        @wraps(answer)
        def careful(*args: Any) -> Any:
            try:
                return answer(*args)
            except ValueError:
                return ValueError

        return next(filter(None, (part.judge(careful) for part in parts)), None)

    return Case(name, judge, tuple(call for part in parts for call in part.calls))


# Calls --------------------------------------------------------------------------------------------------------------


def stretched(known: Sequence[tuple]) -> Drawn:
    """The known calls, whose first argument is a layout; the grader tries some with its strides multiplied."""

    def times(stride: Any, factor: int) -> Any:
        return tuple(times(part, factor) for part in stride) if isinstance(stride, tuple) else factor * stride

    def draw(rng: Random) -> tuple:
        layout, *others = rng.choice(known)
        return type(layout)(layout.shape, times(layout.stride, rng.randint(2, 50))), *others

    return beside(known, draw, 3)


def scaled(*written: str) -> Drawn:
    """The calls of this text, whose first argument is a layout; the grader tries some with its strides multiplied."""
    return stretched(calls(*written))


def alike(*written: str) -> Drawn:
    """The calls of this text; the grader tries more with layouts of other sizes, but of the same kind: see `resized`.

    One of the known calls has an extent above 1.
    """
    known = calls(*written)

    def draw(rng: Random) -> tuple:
        call = rng.choice(known)
        new = tuple(resized(one, rng) for one in call)
        return draw(rng) if new in known else new

    return beside(known, draw, 3)


def resized(layout: Layout, rng: Random) -> Layout:
    """The layout with other extents above 1: nesting, the order of its strides and the gaps between them stay."""
    extents, strides = (list(flatten((part,))) for part in (layout.shape, layout.stride))
    new = [rng.choice((2, 4, 8)) if extent > 1 else 1 for extent in extents]
    steps, filled, now = list(strides), 1, 1  # the offsets that the modes of smaller strides fill, before and now
    for n in sorted(range(len(extents)), key=lambda n: strides[n]):
        if extents[n] > 1 and strides[n]:
            steps[n] = strides[n] // filled * now
            filled, now = extents[n] * strides[n], new[n] * steps[n]
    shapes, strides_left = iter(new), iter(steps)

    def nested(part: Any, values: Any) -> Any:
        return tuple(nested(one, values) for one in part) if isinstance(part, tuple) else next(values)

    return Layout(nested(layout.shape, shapes), nested(layout.stride, strides_left))


# Random layouts -----------------------------------------------------------------------------------------------------


def random_layout(rng: Random, largest: int = 64, holes: bool = True) -> Layout:
    """Up to four modes of extent 1, 2, 4 or 8, stored in any order, often nested: (2,(4,8)):(32,(1,4)).

    It has at most `largest` elements, at different offsets. holes: some offsets may be unused.
    """
    extents = [rng.choice((1, 2, 2, 4, 8)) for _ in range(rng.randint(1, 4))]
    while size(tuple(extents)) > largest:
        extents[extents.index(max(extents))] //= 2
    strides, step = [0] * len(extents), 1
    for n in rng.sample(range(len(extents)), len(extents)) if rng.random() < 0.6 else range(len(extents)):
        strides[n] = step
        step *= extents[n] * (rng.choice((1, 1, 2)) if holes else 1)
    cut = rng.randint(0, len(extents)) if rng.random() < 0.5 else 0
    halves = (slice(0, cut), slice(cut, None)) if 0 < cut < len(extents) else (slice(None),)
    # [2, 4, 8], cut after 1 → (2, (4, 8))
    nested = [tuple(unwrap(tuple(modes[half])) for half in halves) for modes in (extents, strides)]
    return Layout(*map(unwrap, nested))


def composable(rng: Random) -> tuple[Layout, Layout]:
    """A layout A of up to 64 elements and a B whose offsets are all indices of A: cosize(B) <= size(A)."""
    a = random_layout(rng)
    while cosize(b := random_layout(rng, largest=size(a))) > size(a):
        pass
    return a, b


def matrix(rng: Random, rows: int, columns: int) -> Layout:
    """A matrix by rows or by columns."""
    return Layout((rows, columns), rng.choice(((columns, 1), (1, rows))))


def two_matrices(rng: Random) -> tuple[Layout, Layout]:
    """Compact matrices of up to 8 and of up to 16 elements: a block and a grid, or threads and values."""
    rows, more_rows = rng.choice((1, 2, 4)), rng.choice((1, 2, 4, 8))
    columns, more_columns = rng.choice((1, 2, 8 // rows)), rng.choice((1, 2, 16 // more_rows))
    return matrix(rng, rows, columns), matrix(rng, more_rows, more_columns)
