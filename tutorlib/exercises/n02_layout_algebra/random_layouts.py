"""Random layouts: a seed draws the same ones every time.

Extents are powers of two and at most 64 elements are drawn. Powers of two divide each other, so every operator of the
layout algebra has an answer, and a law can be tested at every index.
"""

from collections.abc import Callable, Sequence
from random import Random

from tensor_layouts import Layout, cosize, size, unwrap

from tutorlib.checking.drawn import Drawn, beside, scaled


def drawn(seed: int, draw: Callable[[Random], tuple], n: int = 25) -> Drawn:
    """n argument tuples, drawn from a generator with this seed."""

    def calls(seed: int) -> list[tuple]:
        rng = Random(seed)
        return [draw(rng) for _ in range(n)]

    return Drawn(calls, seed)


def a_few_beside(known: Sequence[tuple], draw: Callable[[Random], tuple], n: int = 3) -> Drawn:
    """`beside`, with few random calls: a law takes long."""
    return beside(known, draw, n)


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


def two_ways_to_store(rng: Random) -> tuple[Layout, Layout]:
    """Two layouts of one shape (rows, columns), each by rows or columns, some padded."""
    rows, columns = rng.choice((2, 4, 8)), rng.choice((2, 4, 8))

    def stored() -> Layout:
        pad = rng.choice((1, 1, 2))
        return Layout((rows, columns), rng.choice(((columns * pad, 1), (1, rows * pad))))

    return stored(), stored()


def continuing(rng: Random) -> tuple[Layout]:
    """A layout whose modes continue each other."""
    first, *rest = (rng.randint(2, 6) for _ in range(3))
    step = rng.randint(1, 9)
    strides = step * first, step * first * rest[0]
    return (Layout((first, tuple(rest)), (step, strides)),)


def by_rows(rng: Random, pad: bool = False) -> tuple[Layout]:
    """A row-major matrix, whose modes stay apart. pad: its rows may be padded."""
    rows, columns = rng.randint(2, 9), rng.randint(2, 9)
    return (Layout((rows, columns), (columns + (rng.randint(1, 9) if pad else 0), 1)),)


def with_ones(rng: Random) -> tuple[Layout]:
    """A layout with modes of extent 1, whose strides mean nothing."""
    (layout,) = by_rows(rng)
    ones = [(1, rng.randint(0, 99)), *zip(layout.shape, layout.stride, strict=True), (1, rng.randint(0, 99))]
    shape, stride = zip(*ones[: rng.randint(2, 4)], strict=True)
    return (Layout(shape, stride),)


def compact(rng: Random) -> tuple[Layout]:
    """A layout without holes, of any number of modes in any order."""
    return (random_layout(rng, holes=False),)


def apart(rng: Random) -> tuple[Layout]:
    """A layout without an element at offset 1."""
    return (scaled(random_layout(rng), rng.randint(2, 9)),)


def filled(rng: Random, copies: tuple[int, ...] = (1, 2, 3, 5), holes: int = 1, more: int = 0) -> tuple[Layout, int]:
    """(layout, bound) for a complement: modes in any order; room for `copies` copies, and up to `more` elements beyond.

    holes: how far apart its elements can be.
    """
    first, second, step, gap = rng.randint(2, 5), rng.randint(2, 5), rng.randint(1, holes), rng.randint(1, holes)
    modes = [(first, step), (second, first * step * gap)]
    shape, stride = zip(*rng.sample(modes, 2), strict=True)
    bound = first * second * step * gap * rng.choice(copies)
    return Layout(shape, stride), bound + (rng.randint(1, more) if more else 0)


def reaching_nothing_new(rng: Random) -> tuple[Layout, int]:
    """(layout, bound) for a complement, with a mode of extent 1 or of stride 0."""
    n, step = rng.randint(2, 9), rng.choice((1, 2, 4))
    idle = rng.choice(((1, rng.randint(0, 9)), (rng.randint(2, 5), 0)))
    shape, stride = zip(*rng.sample([(n, step), idle], 2), strict=True)
    return Layout(shape, stride), n * step * rng.randint(1, 4)


def sticking_out(rng: Random) -> tuple[Layout, Layout]:
    """A vector, and a tile that does not divide it."""
    tile, tiles = rng.randint(3, 9), rng.randint(2, 6)
    return Layout(tile * tiles - rng.randint(1, tile - 1), rng.randint(1, 9)), Layout(tile, 1)


def copies_of_a_row(rng: Random) -> tuple[Layout, Layout]:
    return Layout(rng.randint(2, 9), 1), random_layout(rng, largest=16, holes=False)


def grid_with_holes(rng: Random) -> tuple[Layout, Layout]:
    return Layout(rng.choice((2, 4, 8)), rng.choice((1, 2, 4))), random_layout(rng, largest=8)


def block_with_holes(rng: Random) -> tuple[Layout, Layout]:
    block, grid = two_matrices(rng)
    return scaled(block, rng.choice((2, 4))), grid


def nothing_side_by_side(rng: Random) -> tuple[Layout, Layout]:
    one, other = two_ways_to_store(rng)
    return scaled(one, rng.choice((2, 3, 4))), scaled(other, rng.choice((2, 3, 4)))


def one_value(rng: Random) -> tuple[Layout, Layout]:
    """(threads, values) where each thread has one value, or where there is one thread."""
    one, many = Layout((1, 1), (1, 1)), matrix_of(rng, 64)
    return rng.choice(((many, one), (one, many)))
