"""What the wrong answers to notebook 01 share."""

from itertools import accumulate


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
