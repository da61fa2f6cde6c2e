"""01.1 to 01.3: a layout as a function."""

from __future__ import annotations

import random
from functools import partial
from math import prod

import numpy as np
from tensor_layouts import idx2crd

from tutorlib.checking.values import Mistake, equals


def random_shapes(seed: int, rank: int = 3, largest: int = 7) -> list[tuple[int, ...]]:
    rng = random.Random(seed)
    return [tuple(rng.randint(1, largest) for _ in range(rng.randint(1, rank))) for _ in range(40)]


# 01.1 offset ----------------------------------------------------------------------------------------------------


def offset(coord: tuple[int, ...], stride: tuple[int, ...]) -> int:
    return sum(c * d for c, d in zip(coord, stride, strict=True))


SWAPPED = Mistake(
    "That is the offset with the coordinate's modes in reverse: pair mode 0 with stride 0.",
    lambda coord, stride: offset(coord[::-1], stride),
)

FROM_ONE = Mistake(
    "Coordinates start at 0, so nothing is added for the first element.",
    lambda coord, stride: offset(coord, stride) + 1,
)

TO_ZERO = Mistake(
    "Coordinates start at 0 already: nothing is taken off them.",
    lambda coord, stride: offset(tuple(c - 1 for c in coord), stride),
)

placing = partial(equals, wanted=offset, mistakes=(SWAPPED, FROM_ONE, TO_ZERO))


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


OTHER_ORDER = Mistake(
    'These are the strides of the other order: "row" makes the last mode contiguous, "column" the first.',
    lambda shape, order: compact(shape, "column" if order == "row" else "row"),
)

OWN_EXTENT = Mistake(
    "A mode's stride is the product of the extents that vary faster than it; its own extent is not among them.",
    lambda shape, order: tuple(d * s for d, s in zip(compact(shape, order), shape, strict=True)),
)


def of_rank_4(rng: random.Random) -> tuple:
    return tuple(rng.randint(2, 7) for _ in range(4)), rng.choice(("row", "column"))


# 01.3 index → coordinate ----------------------------------------------------------------------------------------


def coordinate(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(idx2crd(index, shape)) if len(shape) > 1 else (index,)


UNDIVIDED = Mistake(
    "Every mode takes its remainder, but the index has to be divided by the extents that come before the mode.",
    lambda index, shape: tuple(index % extent for extent in shape),
)

NUMPY_ORDER = Mistake(
    "That is NumPy's order, last mode fastest. CuTe counts the first mode fastest.",
    lambda index, shape: tuple(int(c) for c in np.unravel_index(index, shape)),
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
