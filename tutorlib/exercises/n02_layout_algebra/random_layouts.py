"""Random layouts: a seed draws the same ones every time.

Extents are powers of two. These divide each other, so every operator of the layout algebra has an answer.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tensor_layouts import Layout, cosize, flatten, size, unwrap

from tutorlib.checking.randomness import Drawn, beside


def drawn(seed: int, draw: Callable[[Random], tuple], n: int = 25) -> Drawn:
    """n argument tuples, drawn from a generator with this seed."""

    def calls(seed: int) -> list[tuple]:
        rng = Random(seed)
        return [draw(rng) for _ in range(n)]

    return Drawn(calls, seed)


def random_layout(rng: Random, largest: int = 64, holes: bool = True) -> Layout:
    """Up to four modes of extent 1, 2, 4 or 8, stored in any order, often nested: (2,(4,8)):(32,(1,4)).

    It has at most `largest` elements, at different offsets. holes: some offsets may be unused.
    """
    extents = [rng.choice((1, 2, 2, 4, 8)) for _ in range(rng.randint(1, 4))]
    while size(tuple(extents)) > largest:
        extents[extents.index(max(extents))] //= 2
    strides, step = [0] * len(extents), 1
    for n in rng.sample(range(len(extents)), len(extents)) if rng.random() < 0.6 else range(len(extents)):
        strides[n] = step
        step *= extents[n] * (rng.choice((1, 1, 2)) if holes else 1)
    cut = rng.randint(0, len(extents))
    nested = rng.random() < 0.5 and 0 < cut < len(extents)
    return Layout(*(in_two(modes, cut) if nested else unwrap(tuple(modes)) for modes in (extents, strides)))


def in_two(modes: list[int], cut: int) -> tuple:
    """[2, 4, 8] cut after 1 → (2, (4, 8))."""
    return unwrap(tuple(modes[:cut])), unwrap(tuple(modes[cut:]))


def one_layout(rng: Random) -> tuple[Layout]:
    """The arguments of an operator on one layout."""
    return (random_layout(rng),)


def composable(rng: Random) -> tuple[Layout, Layout]:
    """A layout A of up to 64 elements and a B whose offsets are all indices of A: cosize(B) <= size(A)."""
    a = random_layout(rng)
    while cosize(b := random_layout(rng, largest=size(a))) > size(a):
        pass
    return a, b


def layout_and_bound(rng: Random) -> tuple[Layout, int]:
    """A layout of up to 32 elements, and one, two or three times its cosize as the bound of its complement."""
    layout = random_layout(rng, largest=32)
    return layout, cosize(layout) * rng.choice((1, 2, 3))


def block_and_grid(rng: Random) -> tuple[Layout, Layout]:
    """A block of up to 32 elements, and a grid of up to 16 copies of it without holes."""
    return random_layout(rng, largest=32), random_layout(rng, largest=16, holes=False)


def matrix_of(rng: Random, largest: int) -> Layout:
    """A compact matrix by rows or by columns of up to `largest` elements."""
    rows, columns = rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 4, 8))
    while rows * columns > largest:
        rows, columns = (rows // 2, columns) if rows > columns else (rows, columns // 2)
    return Layout((rows, columns), rng.choice(((columns, 1), (1, rows))))


def two_matrices(rng: Random) -> tuple[Layout, Layout]:
    """Compact matrices of up to 8 and of up to 16 elements: a block and a grid, or threads and values."""
    return matrix_of(rng, 8), matrix_of(rng, 16)


def two_ways_to_store(rng: Random, apart: int = 1) -> tuple[Layout, Layout]:
    """Two layouts of one shape (rows, columns), each by rows or columns, some padded; elements are `apart`."""
    rows, columns = rng.choice((2, 4, 8)), rng.choice((2, 4, 8))

    def stored() -> Layout:
        pad = apart * rng.choice((1, 1, 2))
        return Layout((rows, columns), rng.choice(((columns * pad, apart), (apart, rows * pad))))

    return stored(), stored()


def alike(known: Sequence[tuple], n: int = 3) -> Drawn:
    """The known calls; the grader tries n more with layouts of other sizes, but of the same kind: see `resized`.

    A number beside a layout is the bound of its complement, and grows with it. One of the known calls has an extent
    above 1.
    """

    def draw(rng: Random) -> tuple:
        call = rng.choice(known)
        new: list[Any] = [resized(one, rng) if isinstance(one, Layout) else one for one in call]
        if isinstance(call[-1], int):
            new[-1] = -(-call[-1] * reach(new[0]) // reach(call[0]))
        return draw(rng) if tuple(new) in known else tuple(new)

    return beside(known, draw, n)


def resized(layout: Layout, rng: Random) -> Layout:
    """The layout with other extents above 1: nesting, the order of its strides and the gaps between them stay."""
    extents, strides = (list(flatten((part,))) for part in (layout.shape, layout.stride))
    new = [rng.choice((2, 4, 8)) if extent > 1 else 1 for extent in extents]
    steps, filled, now = list(strides), 1, 1  # the offsets that the modes of smaller strides fill, before and now
    for n in sorted(range(len(extents)), key=lambda n: strides[n]):
        if extents[n] > 1 and strides[n]:
            steps[n] = strides[n] // filled * now
            filled, now = extents[n] * strides[n], new[n] * steps[n]
    shapes, strides_left = iter(new), iter(steps)

    def nested(part: Any, values: Any) -> Any:
        return tuple(nested(one, values) for one in part) if isinstance(part, tuple) else next(values)

    return Layout(nested(layout.shape, shapes), nested(layout.stride, strides_left))


def reach(layout: Layout) -> int:
    """The first offset that a layout and its inner gaps leave free."""
    return max([1, *(n * step for n, step in zip(flatten((layout.shape,)), flatten((layout.stride,)), strict=True))])
