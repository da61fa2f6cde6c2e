"""01.4 and 01.5: NumPy views, and nested shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import product
from math import prod

import numpy as np
from tensor_layouts import Layout, crd2offset, flatten, size

from tutorlib.checking.drawn import Drawn
from tutorlib.checking.values import equals
from tutorlib.exercises.n01_layouts.functions import compact
from tutorlib.exercises.words import mistakes
from tutorlib.failure import FailureKind, Flaw


def random_nested(rng: random.Random, depth: int = 2) -> tuple[tuple, tuple]:
    """A shape and a stride of the same nesting, rank 2 at the top."""

    def mode(depth: int) -> tuple:
        if depth == 0 or rng.random() < 0.4:
            return rng.randint(1, 4), rng.choice((0, 1, 1, 2, 3, 4, 8, 16))
        shapes, strides = zip(*(mode(depth - 1) for _ in range(2)), strict=True)
        return shapes, strides

    shapes, strides = zip(*(mode(depth) for _ in range(2)), strict=True)
    return shapes, strides


def nested_cases(seed: int, depth: int = 2) -> list[tuple[tuple, tuple]]:
    rng = random.Random(seed)
    return [random_nested(rng, depth) for _ in range(40)]


# 01.4 a NumPy view as a layout ----------------------------------------------------------------------------------


VIEWS: dict[str, list[Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {  # of a matrix, and of a block of three modes
    "a whole array": [lambda base, cube: base, lambda base, cube: cube],
    "a transposed one": [lambda base, cube: base.T, lambda base, cube: cube.transpose(2, 0, 1)],
    "slices with steps": [
        lambda base, cube: base[2:10, 5:],
        lambda base, cube: base[::3, ::5],
        lambda base, cube: cube[1:, ::2, 3:7],
    ],
    "a broadcast row": [lambda base, cube: np.broadcast_to(base[0], (5, base.shape[1]))],
    "backwards": [lambda base, cube: base[::-1], lambda base, cube: cube[:, ::-2, ::-1]],
}


def views(name: str) -> Drawn:
    """Calls with the views of this kind; the grader takes them of arrays of other sizes and dtypes as well."""

    def calls(shape: tuple[int, ...], three: tuple[int, ...], *dtypes: str) -> list[tuple]:
        base, cube = (
            np.arange(prod(n)).astype(dtype).reshape(n) for n, dtype in zip((shape, three), dtypes, strict=True)
        )
        return [(view(base, cube),) for view in VIEWS[name]]

    def draw(seed: int) -> list[tuple]:
        rng = random.Random(seed)
        three = tuple(rng.randint(least, 11) for least in (3, 4, 8))
        return calls((rng.randint(12, 40), rng.randint(12, 40)), three, *rng.sample(("i1", "f2", "f4", "f8"), 2))

    return Drawn(draw, known=calls((24, 30), (4, 6, 10), "f4", "i8"))


class ViewFlaw(FailureKind):
    """Errors in a view's layout: its shape, the offsets of its elements [dtype: of the array]."""

    SHAPE = "a view's shape"
    PLACE = "a view's place"


def describes(got: Layout, array: np.ndarray) -> str | None:
    """The law: element c of the view is offset(c) elements after its first one."""
    if not isinstance(got, Layout):
        return "it should be a Layout"
    if (got.shape if isinstance(got.shape, tuple) else (got.shape,)) != array.shape:
        return Flaw(f"its shape should be {array.shape}", ViewFlaw.SHAPE)
    first = array.__array_interface__["data"][0]
    for coord in product(*(range(0, extent, max(1, extent - 1)) for extent in array.shape)):
        wanted = array[tuple(slice(c, c + 1) for c in coord)].__array_interface__["data"][0] - first
        if got(*coord) * array.itemsize != wanted:
            apart = f"{wanted // array.itemsize} elements after the first, not {got(*coord)}"
            return Flaw(f"element {coord} lies {apart}", ViewFlaw.PLACE(dtype=array.dtype))
    return None


VIEWING = mistakes(
    "01.4",
    in_bytes=lambda array: Layout(array.shape, array.strides),
    fresh=lambda array: Layout(array.shape, compact(array.shape, "row")),
)

# 01.5 nested shapes ---------------------------------------------------------------------------------------------


def flat_calls(cases: list[tuple[tuple, tuple]], seed: int) -> list[tuple]:
    rng = random.Random(seed)
    return [(rng.randrange(size(case[0])), *case) for case in cases]


def flat_call(rng: random.Random) -> tuple:
    shape = rng.randint(2, 9), rng.randint(2, 9)
    return rng.randrange(prod(shape)), shape, (rng.randint(1, 20), rng.randint(1, 20))


def nested_call(rng: random.Random) -> tuple:
    extents, strides = ([rng.randint(2, 9) for _ in range(3)] for _ in range(2))
    shape, stride = ((first, tuple(others)) for first, *others in (extents, strides))
    return rng.randrange(prod(extents)), shape, stride


def last_mode_fastest(index: int, shape: tuple, stride: tuple) -> int:
    total = 0
    for extent, step in reversed(list(zip(flatten(shape), flatten(stride), strict=True))):
        total += index % extent * step
        index //= extent
    return total


PEELING = mistakes(
    "01.5",
    last_first=last_mode_fastest,
    undivided_offset=lambda index, shape, stride: sum(
        index % extent * step for extent, step in zip(flatten(shape), flatten(stride), strict=True)
    ),
)

peeling = partial(equals, wanted=crd2offset, mistakes=PEELING)
