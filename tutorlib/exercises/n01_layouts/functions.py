"""01.1 to 01.3: a layout as a function."""

from __future__ import annotations

import random
from functools import partial
from math import prod

import numpy as np
from tensor_layouts import idx2crd

from tutorlib.checking.values import equals
from tutorlib.exercises.words import mistakes


def random_shapes(seed: int, rank: int = 3, largest: int = 7) -> list[tuple[int, ...]]:
    rng = random.Random(seed)
    return [tuple(rng.randint(1, largest) for _ in range(rng.randint(1, rank))) for _ in range(40)]


# 01.1 offset ----------------------------------------------------------------------------------------------------


def offset(coord: tuple[int, ...], stride: tuple[int, ...]) -> int:
    return sum(c * d for c, d in zip(coord, stride, strict=True))


PLACING = mistakes(
    "01.1",
    swapped=lambda coord, stride: offset(coord[::-1], stride),
    from_one=lambda coord, stride: offset(coord, stride) + 1,
    to_zero=lambda coord, stride: offset(tuple(c - 1 for c in coord), stride),
)

placing = partial(equals, wanted=offset, mistakes=PLACING)


def offset_calls(seed: int) -> list[tuple]:
    rng = random.Random(seed)
    return [
        (tuple(rng.randrange(extent) for extent in shape), tuple(rng.randint(-16, 64) for _ in shape))
        for shape in random_shapes(seed, rank=5, largest=9)
    ]


def offset_in_rows(rng: random.Random) -> tuple:
    """In the (4,3):(3,1) of which the first case is."""
    return (rng.randrange(4), rng.randrange(3)), (3, 1)


def offset_of_one_mode(rng: random.Random) -> tuple:
    return (rng.randrange(100),), (rng.randint(1, 100),)


# 01.2 compact strides -------------------------------------------------------------------------------------------


def compact(shape: tuple[int, ...], order: str) -> tuple[int, ...]:
    """NumPy's own strides, in elements: "row" is its C order, "column" its F order."""
    return np.empty(shape, dtype=np.int8, order="C" if order == "row" else "F").strides


STRIDES = mistakes(
    "01.2",
    other_order=lambda shape, order: compact(shape, "column" if order == "row" else "row"),
    own_extent=lambda shape, order: tuple(d * s for d, s in zip(compact(shape, order), shape, strict=True)),
)


def of_rank_4(rng: random.Random) -> tuple:
    return tuple(rng.randint(2, 7) for _ in range(4)), rng.choice(("row", "column"))


# 01.3 index → coordinate ----------------------------------------------------------------------------------------


def coordinate(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(idx2crd(index, shape)) if len(shape) > 1 else (index,)


COORDINATES = mistakes(
    "01.3",
    numpy_order=lambda index, shape: tuple(int(c) for c in np.unravel_index(index, shape)),
    undivided=lambda index, shape: tuple(index % extent for extent in shape),
)


NO_TABLE = [(2**61 + 7, (4, 2**60))]  # more coordinates than any memory has room for


def coordinate_calls(seed: int) -> list[tuple]:
    rng = random.Random(seed)
    return [(rng.randrange(prod(shape)), shape) for shape in random_shapes(seed)]


def in_a_matrix(rng: random.Random) -> tuple:
    shape = rng.randint(2, 9), rng.randint(2, 9)
    return rng.randrange(prod(shape)), shape


def in_one_mode(rng: random.Random) -> tuple:
    extent = rng.randint(1, 99)
    return rng.randrange(extent), (extent,)
