"""Wrong answers to notebook 01."""

from math import prod

import numpy as np
from tensor_layouts import Layout, cosize, flatten, size


def modes_reversed(coord, stride):
    """Pairs mode 0 with the last stride."""
    return sum(c * d for c, d in zip(coord[::-1], stride, strict=True))


def first_two_modes(coord, stride):
    """Right for matrices only."""
    return coord[0] * stride[0] + (coord[1] * stride[1] if len(coord) > 1 else 0)


def always_rows(shape, order):
    """Ignores the order."""
    return np.empty(shape, np.int8).strides


def orders_swapped(shape, order):
    """Row- for column-major."""
    return np.empty(shape, np.int8, order="F" if order == "row" else "C").strides


def off_by_one_strides(shape, order):
    """Each stride takes in its own extent."""
    return tuple(prod(shape[n:]) if order == "row" else prod(shape[: n + 1]) for n in range(len(shape)))


def last_mode_fastest(index, shape):
    """NumPy's order of counting."""
    return tuple(int(c) for c in np.unravel_index(index, shape))


def no_wrap(index, shape):
    """Right for two modes only."""
    return (index % shape[0], index // shape[0]) if len(shape) > 1 else (index,)


def byte_strides(array):
    """Leaves the strides in bytes."""
    return Layout(array.shape, array.strides)


def as_if_fresh(array):
    """The layout of a new array of this shape, whatever the view is."""
    return Layout(array.shape, tuple(prod(array.shape[n + 1 :]) for n in range(array.ndim)))


def only_flat(index, shape, stride):
    """Treats a nested mode as contiguous: its extent with its first stride."""
    total = 0
    for mode, step in zip(shape, stride, strict=True):
        total += index % size(mode) * flatten((step,))[0]
        index //= size(mode)
    return total


def transposed_pictures(name):
    """Rows and columns swapped."""
    return {
        "A": Layout((6, 4), (1, 8)),
        "B": Layout(((2, 3), 4), ((1, 8), 2)),
        "C": Layout(((2, 2), (2, 2)), ((2, 8), (1, 4))),
    }[name]


def unpadded_picture(name):
    """Every picture compact and row-major."""
    return Layout((4, 6), (6, 1)) if name != "C" else Layout((4, 4), (4, 1))


def number_of_coordinates(shape, stride):
    """The size in place of the cosize."""
    return size(shape)


def largest_offset(shape, stride):
    """One too few."""
    return cosize(Layout(shape, stride)) - 1


def shape_times_stride(shape, stride):
    """Sums extent times stride, past the last element."""
    return sum(s * d for s, d in zip(flatten(shape), flatten(stride), strict=True))


def strides_alone(shape, stride):
    """The guard people write first."""
    return all(d <= 2**31 - 1 for d in stride)


def size_alone(shape, stride):
    """Counts elements, not places."""
    return prod(shape) <= 2**31


def off_by_one_limit(shape, stride):
    """Takes cosize for the largest offset."""
    return cosize(Layout(shape, stride)) <= 2**31 - 1


WRONG = {
    "01.1": [modes_reversed, first_two_modes],
    "01.2": [always_rows, orders_swapped, off_by_one_strides],
    "01.3": [last_mode_fastest, no_wrap],
    "01.4": [byte_strides, as_if_fresh],
    "01.5": [only_flat],
    "01.6": [transposed_pictures, unpadded_picture],
    "01.7": [number_of_coordinates, largest_offset, shape_times_stride],
    "01.8": [strides_alone, size_alone, off_by_one_limit],
}
