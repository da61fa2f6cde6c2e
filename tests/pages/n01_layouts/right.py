"""Unusual right answers to notebook 01."""

import functools
import operator
from math import prod

import numpy as np
import tensor_layouts as tl
import torch
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tests.pages.table import answer


def by_recursion(shape, order):
    """Calls itself with one mode less, and returns early."""
    if not shape:
        return ()
    if order == "row":
        return (prod(shape[1:]), *by_recursion(shape[1:], order))
    return tuple(prod(shape[:n]) for n in range(len(shape)))


def strides(shape):
    """A helper that is named like NumPy's attribute."""
    return tuple(prod(shape[:n]) for n in range(len(shape)))


def through_its_own_strides(shape, order):
    """Calls a helper of its own, `strides`."""
    return strides(shape) if order == "column" else strides(shape[::-1])[::-1]


def by_strides_of_a_view(shape, order):
    """np.cumprod's integers."""
    if order == "column":
        return tuple(np.cumprod((1, *shape[:-1])))
    return tuple(np.cumprod((1, *shape[:0:-1]))[::-1])


def peeled_from_the_end(index, shape):
    """The last mode first, by what is before it."""
    coord = []
    for n in reversed(range(len(shape))):
        at, index = divmod(index, prod(shape[:n]))
        coord.insert(0, at)
    return tuple(coord)


def in_tensors(index, shape):
    """A list of tensors without axes."""
    coord = []
    for extent in shape:
        coord.append(torch.tensor(index % extent))
        index //= extent
    return coord


def flattened_first(index, shape, stride):
    """No recursion: flat modes."""
    total = 0
    for extent, step in zip(flatten((shape,)), flatten((stride,)), strict=True):
        index, at = divmod(index, extent)
        total += at * step
    return total


def an_inner_function(index, shape, stride):
    """A helper of its own that takes pairs."""

    def walk(left, pairs):
        (extent, step), *rest = pairs
        return left % extent * step + (walk(left // extent, rest) if rest else 0)

    return walk(index, list(zip(flatten((shape,)), flatten((stride,)), strict=True)))


def an_early_return(shape, stride):
    """Returns from the loop as soon as it is too much."""
    reached = {True: 0, False: 0}  # by direction
    for extent, step in zip(shape, stride, strict=True):
        reached[step > 0] += (extent - 1) * step
        if not -(2**31) <= reached[step > 0] < 2**31:
            return False
    return True


def one_by_one(layout, coord):
    """Fixes one mode after the other."""
    offset, free = 0, []
    for n, at in enumerate(coord):
        part = mode(layout, n)
        if at is None:
            free.append(part)
        else:
            offset += part(at)
    return (offset, free[0]) if len(free) == 1 else (offset, Layout(*free))


def from_the_first_element(layout, coord):
    """The offset is the layout's at the slice's first element."""
    offset = layout(*(0 if at is None else at for at in coord))
    kept = [n for n, at in enumerate(coord) if at is None]
    shape, stride = (tuple(side[n] for n in kept) for side in (layout.shape, layout.stride))
    return np.int64(offset), Layout(tl.unwrap(shape), tl.unwrap(stride))


def in_nested_brackets(layout, coord):
    """The free modes as (rows, columns) of plain extents where they are plain."""
    offset = sum(mode(layout, n)(at) for n, at in enumerate(coord) if at is not None)
    free = [mode(layout, n) for n in range(rank(layout)) if coord[n] is None]
    return offset, Layout(*free) if len(free) > 1 else free.pop()


def in_a_tuple_of_one(layout, coord):
    """A single free mode as the one mode of a layout."""
    offset, free = in_nested_brackets(layout, coord)
    return offset, Layout(free) if coord.count(None) == 1 else free


RIGHT = {
    "01.1": [
        answer("by_numpy", "a dot product, np.int64", lambda coord, stride: np.dot(coord, stride)),
        answer("by_map", "operator.mul", lambda coord, stride: sum(map(operator.mul, coord, stride))),
        answer(
            "reduced", "folds", lambda c, d: functools.reduce(lambda s, p: s + p[0] * p[1], zip(c, d, strict=True), 0)
        ),
        answer("by_array", "an array without axes", lambda c, d: (np.array(c) * np.array(d)).sum(keepdims=False)),
    ],
    "01.2": [
        by_recursion,
        through_its_own_strides,
        by_strides_of_a_view,
        answer(
            "an_array",
            "an array of integers",
            lambda shape, order: np.array(
                [prod(shape[n + 1 :] if order == "row" else shape[:n]) for n in range(len(shape))]
            ),
        ),
    ],
    "01.3": [
        peeled_from_the_end,
        in_tensors,
        answer(
            "by_products",
            "divides by what is before",
            lambda i, shape: tuple(i // prod(shape[:n]) % extent for n, extent in enumerate(shape)),
        ),
    ],
    "01.4": [
        answer(
            "nbytes",
            "the element's size by another name",
            lambda a: Layout(a.shape, tuple(d // a.dtype.itemsize for d in a.strides)),
        ),
        answer(
            "by_numpy",
            "divides an array",
            lambda a: Layout(a.shape, tuple((np.array(a.strides) // a.itemsize).tolist())),
        ),
        answer(
            "mode_by_mode",
            "puts single modes together",
            lambda a: Layout(*(Layout(s, d // a.itemsize) for s, d in zip(a.shape, a.strides, strict=True))),
        ),
    ],
    "01.5": [
        flattened_first,
        an_inner_function,
        answer("in_numpy", "np.int64", lambda *args: np.int64(flattened_first(*args))),
    ],
    "01.6": [
        answer(
            "split_further",
            "more brackets than needed",
            lambda name: {
                "A": Layout(((2, 2), (3, 2)), ((8, 16), (1, 3))),
                "B": Layout(((2, 2), (2, 3)), ((2, 4), (1, 8))),
                "C": Layout(((2, 2), (2, 2)), ((1, 4), (2, 8))),
            }[name],
        ),
        answer(
            "bundled",
            "modes put together",
            lambda name: {
                "A": Layout(Layout(4, 8), Layout(6, 1)),
                "B": Layout(Layout(4, 2), Layout((2, 3), (1, 8))),
                "C": Layout(Layout((2, 2), (1, 4)), Layout((2, 2), (2, 8))),
            }[name],
        ),
        answer(
            "by_composition",
            "computed",
            lambda name: {
                "A": tl.compose(Layout((8, 4), (1, 8)), Layout((4, 6), (8, 1))),
                "B": Layout((4, (2, 3)), (2, (1, 8))),
                "C": Layout(((2, 2), (2, 2)), ((1, 4), (2, 8))),
            }[name],
        ),
    ],
    "01.7": [
        answer("by_the_last", "the last element's offset", lambda s, d: Layout(s, d)(size(s) - 1) + 1),
        answer("searched", "looks at every offset", lambda s, d: 1 + max(Layout(s, d)(n) for n in range(size(s)))),
        answer(
            "in_numpy", "np.int64", lambda s, d: np.int64(1) + np.dot(np.array(flatten(s)) - 1, np.array(flatten(d)))
        ),
    ],
    "01.8": [
        an_early_return,
        answer(
            "by_cosize",
            "the exercise before, once for each direction",
            lambda s, d: (
                cosize(Layout(s, tuple(max(n, 0) for n in d))) <= 2**31
                and cosize(Layout(s, tuple(max(-n, 0) for n in d))) - 1 <= 2**31
            ),
        ),
        answer(
            "a_numpy_truth",
            "np.bool",
            lambda s, d: all(
                np.iinfo(np.int32).min <= np.int64(sum(part)) <= np.iinfo(np.int32).max
                for sign in (1, -1)
                for part in [[(e - 1) * f for e, f in zip(s, d, strict=True) if f * sign > 0]]
            ),
        ),
    ],
    "01.9": [one_by_one, from_the_first_element, in_nested_brackets, in_a_tuple_of_one],
}
