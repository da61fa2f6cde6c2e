"""Laws of the layouts that operators return: the same function as a reference's, on coordinates of a shape."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from random import Random
from typing import Any

import tensor_layouts as tl
from tensor_layouts import Layout, compatible, flatten, idx2crd, mode, rank, right_inverse, size

from tutorlib.checking.exercise import Answer
from tutorlib.checking.randomness import stretched
from tutorlib.checking.values import Case, law
from tutorlib.exercises.n02_layout_algebra.random_layouts import drawn
from tutorlib.failure import FailureKind, Flaw
from tutorlib.layouts.notation import text
from tutorlib.layouts.oracle import ask
from tutorlib.problems.wrong import Wrong

Law = Callable[..., str | None]
Shape = int | tuple


class LayoutFlaw(FailureKind):
    """Errors in a layout. OFFSET: an element [mode: 0 where the coordinates of all later modes are 0, else 1]."""

    MODES = "other modes"
    OFFSET = "another offset"
    WRITTEN = "written otherwise"
    NO_PAIR = "no pair"
    NO_INVERSE = "no inverse"
    TOO_SHORT = "inverse too short"
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


def any_shape(want: Layout, *args: Any) -> int:
    """The shape for `same_function` where of R's shape only the size matters."""
    return size(want)


def by_mode(want: Layout, *args: Any) -> Shape:
    """The one where R must have modes of the same sizes."""
    return extents(want)


def by_halves(want: Layout, *args: Any) -> Shape:
    """The one where their own modes must, too: ((4, 4), (4, 2)) of tiles of a matrix."""
    return tuple(extents(mode(want, n)) for n in range(rank(want)))


def same_function(reference: Answer, shape: Callable[..., Shape] = any_shape) -> Law:
    """The law that R is the same function as the layout that `reference` returns; or has the offsets that it lists.

    shape: takes what it returns and the call's arguments; returns the shape whose coordinates R must take. A finer
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
                beyond = isinstance(wanted, tuple) and index >= size(wanted[0])
                what = f"it sends {idx2crd(index, wanted)} to {at} and should send it to {should}"
                return Flaw(what, LayoutFlaw.OFFSET(mode=int(beyond)))
        return None

    return holds


def coalesced(reference: Answer) -> Law:
    """The law that R is the layout that `reference` returns: flat, with as few modes as there can be."""
    same = same_function(reference)

    def holds(got: Any, layout: Layout) -> str | None:
        if broken := same(got, layout):
            return broken
        want = reference(layout)
        if (got.shape, got.stride) == (want.shape, want.stride):
            return None
        what = f"it is the right function; flat, with as few modes as there can be, it is {text(want)}"
        return Flaw(what, LayoutFlaw.WRITTEN)

    return holds


def composed(a: Layout, b: Layout) -> list[int]:
    """A(B(i)) for every index i of B. Past A's end its last mode continues, as in CuTe."""
    *modes, (_, last) = zip(flatten((a.shape,)), flatten((a.stride,)), strict=True)

    def offset_at(index: int) -> int:
        total = 0
        for extent, stride in modes:
            index, at = divmod(index, extent)
            total += at * stride
        return total + index * last

    return list(map(offset_at, offsets(b)))


def is_block_tile(got: Any, layout: Layout, tile: tuple[int, int], block: tuple[int, int]) -> str | None:
    """start + R(i, j) == A(block · tile + (i, j)), for the pair (start, R), where R has the shape `tile`.

    What local_tile gives a thread block in the GEMM tutorial of the CuTe docs (0x_gemm_tutorial.md).
    """
    match got:
        case (int(start), Layout() as within):
            pass
        case _:
            wanted = "the offset where the tile begins, and the Layout of the tile"
            return Flaw(f"it should be a pair: {wanted}", LayoutFlaw.NO_PAIR)
    tiles = tl.zipped_divide(layout, tuple(Layout(extent, 1) for extent in tile))
    if start != (first := tiles(((0, 0), block))):
        return f"the tile begins at {first}, not at {start}"
    return same_function(lambda: mode(tiles, 0), lambda want: tile)(within)


def is_right_inverse(got: Any, layout: Layout) -> str | None:
    """A(R(k)) == k for every k below size(R), and R is as long as it can be.

    The post-condition of right_inverse in the CuTe docs. An offset may have several indices: R may name any.
    """
    if not isinstance(got, Layout):
        return "it should be a Layout"
    whole = offsets(layout)
    for k in range(size(got)):  # of any size: it is not worked out at once
        if (index := got(k)) not in range(size(layout)):
            return f"it sends offset {k} to index {index}, and the layout has {size(layout)}"
        if whole[index] != k:
            what = f"it sends offset {k} to index {index}, where the layout has {whole[index]}"
            return Flaw(what, LayoutFlaw.NO_INVERSE)
    if size(got) < size(right_inverse(layout)):
        return Flaw(f"it ends at offset {size(got)}, and the layout goes on without a gap", LayoutFlaw.TOO_SHORT)
    return None


def by_cute(operation: str, calls: Iterable[tuple]) -> Answer:
    """What cutlass.cute's operation of this name gives. It is asked for all of these calls in one trace."""
    known = tuple(calls)
    answers: dict[tuple, Any] = {}

    def answer(*args: Any) -> Any:
        if args not in answers:
            asked = known if args in known else (args,)
            answers.update(zip(asked, ask((operation, *one) for one in asked), strict=True))
        return answers[args]

    return answer


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
        return None if got is refusal else Flaw(f"{why}, so it should raise ValueError", LayoutFlaw.NOT_REFUSED)

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
