"""Page 01: answers that are whole functions, and what rows of p01.txt are made of."""

import operator
from itertools import accumulate
from math import prod

import numpy as np
import tensor_layouts as tl
import torch
from tensor_layouts import Layout, cosize, flatten, mode, rank, size

from tests.pages.table import right, wrong


def compact(shape, order):
    """The right strides."""
    if order == "column":
        return (1, *accumulate(shape[:-1], lambda a, b: a * b))
    return compact(shape[::-1], "column")[::-1]


def coordinate(index, shape):
    """The right coordinate."""
    coord = []
    for extent in shape:
        coord.append(index % extent)
        index //= extent
    return tuple(coord)


def right_offset(coord, stride):
    return sum(c * d for c, d in zip(coord, stride, strict=True))


def strides(shape):
    """A helper that is named like NumPy's attribute."""
    return tuple(prod(shape[:n]) for n in range(len(shape)))


@right("01.2")
def flattened_first(index, shape, stride):
    """No recursion: flat modes."""
    total = 0
    for extent, step in zip(flatten((shape,)), flatten((stride,)), strict=True):
        index, at = divmod(index, extent)
        total += at * step
    return total


def flat_offset(index, shape, stride):
    return right_offset(coordinate(index, shape), stride)


def inner_turned(index, shape, stride):
    if isinstance(shape, int):
        return index * stride
    return sum(
        last_mode_fastest_offset(at, part, step)
        for at, part, step in zip(coordinate(index, [size(part) for part in shape]), shape, stride, strict=True)
    )


def last_mode_fastest_offset(index, shape, stride):
    return flat_offset(index, flatten((shape,))[::-1], flatten((stride,))[::-1])


def one_level(index, shape, stride):
    flat = [(part, step) for part, step in zip(shape, stride, strict=True)]
    modes = [
        pair
        for part, step in flat
        for pair in (zip(part, step, strict=True) if isinstance(part, tuple) else [(part, step)])
    ]
    return flat_offset(index, *zip(*modes, strict=True))


def words_to_layout(what, m, n):
    """The right layouts."""
    return {
        "diagonal": Layout(m, n + 1),
        "windows": Layout((m, n - 3, 4), (n, 1, 1)),
        "tiles": Layout(((2, m // 2), (4, n // 4)), ((4, 8), (1, 4 * m))),
    }[what]


def drawn(name, **other):
    """The right layouts, but for some."""
    right = {
        "A": Layout((4, 6), (8, 1)),
        "B": Layout((4, (2, 3)), (2, (1, 8))),
        "C": Layout((8, (2, 4)), (4, (0, 1))),
    }
    return (right | other)[name]
