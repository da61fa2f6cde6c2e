"""Wrong answers to notebook 01: cosize, 32-bit offsets, slices."""

from math import prod

import numpy as np
import tensor_layouts as tl
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tests.pages.table import answer, says


def largest_offset(shape, stride):
    """One too few."""
    return sum((s - 1) * d for s, d in zip(flatten(shape), flatten(stride), strict=True))


def shape_times_stride(shape, stride):
    """Sums extent times stride, past the last element."""
    return sum(s * d for s, d in zip(flatten(shape), flatten(stride), strict=True))


def strides_alone(shape, stride):
    """The guard people write first."""
    return all(d <= 2**31 - 1 for d in stride)


@says("one more than the largest offset")
def off_by_one_limit(shape, stride):
    """Takes cosize for the largest offset."""
    return cosize(Layout(shape, stride)) <= 2**31 - 1


def slice_of(layout, coord):
    """The right slice."""
    modes = [mode(layout, n) for n in range(rank(layout))]
    free = [part for part, at in zip(modes, coord, strict=True) if at is None]
    offset = sum(part(at) for part, at in zip(modes, coord, strict=True) if at is not None)
    return offset, free[0] if len(free) == 1 else Layout(*free)


@says("it should be a pair")
def layout_alone(layout, coord):
    """Forgets the offset altogether."""
    return slice_of(layout, coord)[1]


@says("The offset is missing")
def pointer_stays(layout, coord):
    """The free modes, from the first element on."""
    return 0, slice_of(layout, coord)[1]


@says("(2, None)) gives (0,")
def zero_kept(layout, coord):
    """Takes a coordinate of 0 for a free one."""
    free = [mode(layout, n) for n, at in enumerate(coord) if not at]
    return 0, free[0] if len(free) == 1 else Layout(*free)


@says("raised")
def by_the_strides(layout, coord):
    """Multiplies by the stride: a nested mode has several."""
    free = [mode(layout, n) for n, at in enumerate(coord) if at is None]
    offset = sum(at * layout.stride[n] for n, at in enumerate(coord) if at is not None)
    return offset, free[0] if len(free) == 1 else Layout(*free)


@says("which does what you are asked to write")
def library_slices(layout, coord):
    """Has tensor_layouts do it."""
    free, offset = tl.slice_and_offset(coord, layout)
    return offset, free


@says("which does what you are asked to write")
def shape_and_stride_sliced(layout, coord):
    """Has tensor_layouts drop the fixed modes."""
    kept = (tl.unwrap(tl.slice_modes(coord, part)) for part in (layout.shape, layout.stride))
    return layout(*(at or 0 for at in coord)), Layout(*kept)


@says("which does what you are asked to write")
def by_a_tensor(layout, coord):
    """Has a Tensor do it."""
    piece = tl.Tensor(layout)[coord]
    return piece.offset, piece.layout


@says("the free modes have")
def ones_in_place(layout, coord):
    """Leaves the fixed modes as extents of 1."""
    modes = [mode(layout, n) if at is None else Layout(1, 0) for n, at in zip(range(rank(layout)), coord, strict=True)]
    return slice_of(layout, coord)[0], Layout(*modes)


def rows_only(layout, coord):
    """Right where the first mode is fixed."""
    return mode(layout, 0)(coord[0] or 0), Layout(*(mode(layout, n) for n in range(1, rank(layout))))


@says("That is the index where the slice begins")
def index_for_offset(layout, coord):
    """Moves the pointer by the index."""
    return tl.crd2flat(tuple(at or 0 for at in coord), layout.shape), slice_of(layout, coord)[1]


@says("You kept the modes that are fixed")
def fixed_kept(layout, coord):
    """The modes that are fixed."""
    other = tuple(None if at is not None else 0 for at in coord)
    return slice_of(layout, coord)[0], slice_of(layout, other)[1] if None in other else layout


@says("has lost the stride")
def strides_lost(layout, coord):
    """The free shape as if it were stored alone."""
    offset, free = slice_of(layout, coord)
    return offset, Layout(free.shape)


@says("the free modes have")
def free_modes_flat(layout, coord):
    """The free modes without their brackets."""
    offset, free = slice_of(layout, coord)
    return offset, flatten(free)


@says("brackets included")
def brackets_lost(layout, coord):
    """A single free mode without its inner brackets, which no coordinate but an index fits."""
    offset, free = slice_of(layout, coord)
    return offset, flatten(free) if coord.count(None) == 1 else free


@says("brackets included")
def merged(layout, coord):
    """A single free mode with what can be merged in it merged."""
    offset, free = slice_of(layout, coord)
    return offset, tl.coalesce(free) if coord.count(None) == 1 else free


@says("the free modes have")
def first_free_mode(layout, coord):
    """One free mode, and the others forgotten."""
    return slice_of(layout, coord)[0], next(mode(layout, n) for n, at in enumerate(coord) if at is None)


@says("it should be a pair")
def pair_turned(layout, coord):
    """The layout first."""
    return slice_of(layout, coord)[::-1]


WRONG = {
    "01.7": [
        answer("number_of_coordinates", "The size in place of the cosize.", lambda shape, stride: size(shape)),
        largest_offset,
        shape_times_stride,
        answer(
            "by_library",
            "calls cosize",
            lambda shape, stride: cosize(Layout(shape, stride)),
            "which does what you are asked to write",
        ),
        answer(
            "not_flattened",
            "flat shapes only",
            lambda shape, stride: 1 + sum((s - 1) * d for s, d in zip(shape, stride, strict=True)),
            "TypeError",
        ),
        answer(
            "past_the_end",
            "a whole stride past the end",
            lambda shape, stride: 1 + sum(s * d for s, d in zip(flatten(shape), flatten(stride), strict=True)),
            "it should give 12",
        ),
        answer(
            "largest_mode",
            "the mode that reaches furthest",
            lambda shape, stride: max(s * d for s, d in zip(flatten(shape), flatten(stride), strict=True)),
            "it should give",
        ),
        answer(
            "first_mode", "the first mode alone", lambda s, d: 1 + (flatten(s)[0] - 1) * flatten(d)[0], "should give 12"
        ),
        answer(
            "one_each",
            "adds 1 for each mode",
            lambda s, d: sum(1 + (e - 1) * f for e, f in zip(flatten(s), flatten(d), strict=True)),
            "it should give 12",
        ),
        answer("size_plus", "size and largest stride", lambda s, d: size(s) + max(flatten(d)), "it should give 12"),
        answer(
            "distinct",
            "counts different offsets",
            lambda s, d: len({Layout(s, d)(i) for i in range(size(s))}),
            "padding and holes",
        ),
        answer("strides_summed", "adds strides", lambda s, d: 1 + sum(flatten(d)), "it should give 12"),
    ],
    "01.8": [
        strides_alone,
        answer("size_alone", "Counts elements, not places.", lambda shape, stride: prod(shape) <= 2**31),
        off_by_one_limit,
        answer(
            "each_term",
            "looks at each mode alone",
            lambda shape, stride: max((s - 1) * d for s, d in zip(shape, stride, strict=True)) <= 2**31 - 1,
            "The modes add up",
        ),
        answer("unsigned", "32 bits without a sign", lambda s, d: cosize(Layout(s, d)) <= 2**32, "should give False"),
        answer(
            "extent_times_stride",
            "one past the end of each mode",
            lambda s, d: sum(e * f for e, f in zip(s, d, strict=True)) <= 2**31 - 1,
            "it should give True",
        ),
        answer(
            "less_than",
            "2**31 - 1 itself refused",
            lambda s, d: cosize(Layout(s, d)) - 1 < 2**31 - 1,
            "gives False: it should give True",
        ),
        answer(
            "one_more",
            "2**31 allowed",
            lambda s, d: cosize(Layout(s, d)) - 1 <= 2**31,
            "gives True: it should give False",
        ),
        answer(
            "forward_alone",
            "Looks at the largest offset alone.",
            lambda s, d: sum((e - 1) * f for e, f in zip(s, d, strict=True) if f > 0) <= 2**31 - 1,
            "where modes run backward, has to fit too",
        ),
        answer(
            "net_offset",
            "Adds modes of both directions up.",
            lambda s, d: -(2**31) <= sum((e - 1) * f for e, f in zip(s, d, strict=True)) <= 2**31 - 1,
            "the offset of the last element",
        ),
        answer(
            "symmetric",
            "Refuses -2**31, which fits.",
            lambda s, d: all(
                sum((e - 1) * max(sign * f, 0) for e, f in zip(s, d, strict=True)) <= 2**31 - 1 for sign in (1, -1)
            ),
            "-2**31 fits",
        ),
        answer(
            "all_up",
            "Adds magnitudes.",
            lambda s, d: sum((e - 1) * abs(f) for e, f in zip(s, d, strict=True)) <= 2**31 - 1,
            "That adds magnitudes",
        ),
        answer("always", "never says no", lambda s, d: True, "it should give False"),
        answer("never", "never says yes", lambda s, d: False, "it should give True"),
        answer(
            "in_bytes", "counts bytes of fp32", lambda s, d: 4 * cosize(Layout(s, d)) <= 2**31, "it should give True"
        ),
        answer(
            "first_mode", "the first mode alone", lambda s, d: (s[0] - 1) * d[0] <= 2**31 - 1, "it should give False"
        ),
        answer(
            "by_numpy",
            "overflows itself",
            lambda s, d: bool(
                np.sum((np.array(s, np.int64) - 1).astype(np.int32) * np.array(d, np.int64).astype(np.int32)) >= 0
            ),
            "it should give",
        ),
        answer("a_number", "how much is left", lambda s, d: 2**31 - cosize(Layout(s, d)), "it should give True"),
        answer(
            "largest_stride",
            "size times the largest stride",
            lambda s, d: prod(s) * max(d) <= 2**31 - 1,
            "it should give True",
        ),
    ],
    "01.9": [
        layout_alone,
        pointer_stays,
        zero_kept,
        by_the_strides,
        library_slices,
        shape_and_stride_sliced,
        by_a_tensor,
        ones_in_place,
        rows_only,
        index_for_offset,
        fixed_kept,
        strides_lost,
        first_free_mode,
        free_modes_flat,
        brackets_lost,
        merged,
        pair_turned,
    ],
}
