"""01.7 to 01.9: cosize, 32 bits, slices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import prod
from random import Random
from typing import Any

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tutorlib.checking.values import equals, law
from tutorlib.exercises.words import mistakes

INT32_MAX = 2**31 - 1

# 01.7 cosize ----------------------------------------------------------------------------------------------------


def span(shape: tuple, stride: tuple) -> int:
    return cosize(Layout(shape, stride))


REACHING = mistakes(
    "01.7",
    size=lambda shape, stride: size(shape),
    last_offset=lambda shape, stride: span(shape, stride) - 1,
    past_the_end=lambda shape, stride: (
        1 + sum(extent * step for extent, step in zip(flatten(shape), flatten(stride), strict=True))
    ),
)

reaching = partial(equals, wanted=span, mistakes=REACHING)


def matrix_in_memory(gaps: bool) -> Callable[[Random], tuple]:
    """Calls of `span` with a matrix by rows. gaps: between its rows, and between its elements."""

    def draw(rng: Random) -> tuple:
        rows, columns = rng.randint(2, 20), rng.randint(2, 20)
        step = rng.randint(2, 5) if gaps else 1
        return (rows, columns), (columns * step + (rng.randint(1, 9) if gaps else 0), step)

    return draw


def broadcast(rng: Random) -> tuple:
    return (rng.randint(2, 9), rng.randint(2, 9)), rng.choice(((0, 1), (rng.randint(1, 9), 0)))


# 01.8 past int32 ------------------------------------------------------------------------------------------------


def fits_int32(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    terms = [(extent - 1) * step for extent, step in zip(shape, stride, strict=True)]
    largest, smallest = sum(max(term, 0) for term in terms), sum(min(term, 0) for term in terms)
    return smallest >= -INT32_MAX - 1 and largest <= INT32_MAX


def both_ways(rng: Random) -> tuple:
    """Calls with a mode that runs backward and one that runs forward, each near the end of its range."""
    back, ahead = rng.randint(2**31 - 2**20, 2**31 + 2**20), rng.randint(2**31 - 2**20, 2**31 + 2**20)
    return (2, 2), (-back, ahead)


def rows_of_matrix(rng: Random) -> tuple:
    """Calls of `fits_int32` with a matrix of up to 2^34 elements, by rows."""
    rows, columns = round(2 ** rng.uniform(1, 17)), round(2 ** rng.uniform(14, 17))
    return (rows, columns), (columns, 1)


def far_apart(modes: int) -> Callable[[Random], tuple]:
    """Calls with few elements, whose largest offset is about 2^31: less or more, each as likely."""

    def draw(rng: Random) -> tuple:
        least = 2**30 if modes == 1 else 2**31 // modes - 2**27
        strides = [rng.randint(least, least + 2**28 if modes > 1 else 2**32) for _ in range(modes)]
        return (2,) * (modes + 1), (*strides, 1)

    return draw


def at_the_edge(rng: Random) -> tuple:
    """Calls with as many elements as int32 has offsets, one less, or one or two more."""
    more = rng.randint(-1, 2)
    stride = rng.randint(1, 2**30)
    return rng.choice((((2**31 + more,), (1,)), ((2, 2**31 - stride + more), (stride, 1))))


FITTING = mistakes(
    "01.8",
    strides_only=lambda shape, stride: all(d <= INT32_MAX for d in stride),
    terms_only=lambda shape, stride: max((s - 1) * d for s, d in zip(shape, stride, strict=True)) <= INT32_MAX,
    size_only=lambda shape, stride: prod(shape) - 1 <= INT32_MAX,
    cosize=lambda shape, stride: span(shape, stride) <= INT32_MAX,
    symmetric=lambda shape, stride: fits_int32(shape, stride) and fits_int32(shape, tuple(-d for d in stride)),
    magnitudes=lambda shape, stride: span(shape, stride) - 1 <= INT32_MAX,  # cosize adds up magnitudes
    forward_only=lambda shape, stride: (
        sum(max((s - 1) * d, 0) for s, d in zip(shape, stride, strict=True)) <= INT32_MAX
    ),
    last_only=lambda shape, stride: (
        -INT32_MAX - 1 <= sum((s - 1) * d for s, d in zip(shape, stride, strict=True)) <= INT32_MAX
    ),
)

DIRECTIONS = FITTING[3:]
fitting = partial(equals, wanted=fits_int32, mistakes=FITTING)

# 01.9 a slice ---------------------------------------------------------------------------------------------------


Coord = tuple[int | None, ...]


def is_slice(got: Any, layout: Layout, coord: Coord) -> str | None:
    """The law: the slice's offset, and its layout at c, are the layout at coord with c in the free modes."""
    match got:
        case (int(offset), Layout() as free):
            pass
        case _:
            return "it should be a pair: the offset where the slice begins, and the Layout of its free modes"
    extents = tuple(size(mode(layout, n)) for n, at in enumerate(coord) if at is None)
    kept = tl.unwrap(tuple(mode(layout, n).shape for n, at in enumerate(coord) if at is None))
    if tl.unwrap(free.shape) != kept:
        return f"the free modes have the shape {kept}, and yours {free.shape}: each keeps its own, brackets included"
    for at in product(*map(range, extents)):
        rest = iter(at)
        whole = tuple(next(rest) if fixed is None else fixed for fixed in coord)
        if offset + free(*at) != (want := layout(*whole)):
            return f"its element {at[0] if len(at) == 1 else at} is {whole} of the layout, at {want}; yours says " + (
                f"{offset} + {free(*at)}"
            )
    return None


def sliced(layout: Layout, coord: Coord) -> tuple[int, Layout]:
    modes = [mode(layout, n) for n in range(rank(layout))]
    free = [kept for kept, at in zip(modes, coord, strict=True) if at is None]
    return layout(*(at or 0 for at in coord)), free[0] if len(free) == 1 else Layout(*free)


def turned(coord: Coord) -> Coord:
    """Fixed where it was free, and free where it was fixed; as it is where nothing is fixed."""
    return tuple(None if at is not None else 0 for at in coord) if any(at is not None for at in coord) else coord


def flat_index(layout: Layout, coord: Coord) -> int:
    """The index, not the offset, of where a slice begins."""
    return tl.crd2flat(tuple(at or 0 for at in coord), layout.shape)


SLICING = mistakes(
    "01.9",
    offset_missing=lambda layout, coord: (0, sliced(layout, coord)[1]),
    index_for_offset=lambda layout, coord: (flat_index(layout, coord), sliced(layout, coord)[1]),
    fixed_modes_kept=lambda layout, coord: (sliced(layout, coord)[0], sliced(layout, turned(coord))[1]),
    stride_lost=lambda layout, coord: (sliced(layout, coord)[0], Layout(sliced(layout, coord)[1].shape)),
)
slicing = partial(law, holds=is_slice, mistakes=SLICING)

SLICES = {
    "tl.slice_and_offset": tl.slice_and_offset,
    "tl.slice_modes": tl.slice_modes,  # by a Layout called with None, too
    "tl.Tensor's slices": tl.Tensor.__getitem__,
}
TENSOR = {"a Tensor": tl.Tensor.__call__, "tl.iter_layout": "iter_layout", **SLICES}
