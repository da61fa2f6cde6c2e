"""Random layouts for checks: a seed draws the same ones every time.

Extents are powers of two and at most 64 elements are drawn. Powers of two divide each other, so every operator of the
layout algebra has an answer, and a law can be tested at every index.
"""

from collections.abc import Callable
from random import Random

from tensor_layouts import Layout, cosize, size, unwrap

from tutorlib.checking.values import Drawn


def drawn(seed: int, draw: Callable[[Random], tuple], n: int = 25) -> Drawn:
    """n argument tuples, drawn one after the other with dice of this seed."""

    def calls(seed: int) -> list[tuple]:
        dice = Random(seed)
        return [draw(dice) for _ in range(n)]

    return Drawn(calls, seed)


def random_layout(dice: Random, largest: int = 64, holes: bool = True) -> Layout:
    """Up to four modes of extent 1, 2, 4 or 8, stored in any order, often nested: (2,(4,8)):(32,(1,4)).

    It has at most `largest` elements and sends no two of them to one place. holes: some places may be left free.
    """
    extents = [dice.choice((1, 2, 2, 4, 8)) for _ in range(dice.randint(1, 4))]
    while size(tuple(extents)) > largest:
        extents[extents.index(max(extents))] //= 2
    strides, step = [0] * len(extents), 1
    for n in dice.sample(range(len(extents)), len(extents)) if dice.random() < 0.6 else range(len(extents)):
        strides[n] = step
        step *= extents[n] * (dice.choice((1, 1, 2)) if holes else 1)
    cut = dice.randint(0, len(extents))
    nested = dice.random() < 0.5 and 0 < cut < len(extents)
    return Layout(*(in_two(modes, cut) if nested else unwrap(tuple(modes)) for modes in (extents, strides)))


def in_two(modes: list[int], cut: int) -> tuple:
    """[2, 4, 8] cut after 1 → (2, (4, 8))."""
    return unwrap(tuple(modes[:cut])), unwrap(tuple(modes[cut:]))


def one_layout(dice: Random) -> tuple[Layout]:
    """What an operator on one layout takes."""
    return (random_layout(dice),)


def composable(dice: Random) -> tuple[Layout, Layout]:
    """A layout A of up to 64 elements and a B whose offsets are all indices of A: cosize(B) <= size(A)."""
    a = random_layout(dice)
    while cosize(b := random_layout(dice, largest=size(a))) > size(a):
        pass
    return a, b


def layout_and_bound(dice: Random) -> tuple[Layout, int]:
    """A layout of up to 32 elements, and one, two or three times its cosize as the bound of its complement."""
    layout = random_layout(dice, largest=32)
    return layout, cosize(layout) * dice.choice((1, 2, 3))


def block_and_grid(dice: Random) -> tuple[Layout, Layout]:
    """A block of up to 32 elements, and a grid of up to 16 copies of it without holes."""
    return random_layout(dice, largest=32), random_layout(dice, largest=16, holes=False)


def matrix_of(dice: Random, largest: int) -> Layout:
    """A compact matrix by rows or by columns of up to `largest` elements."""
    rows, columns = dice.choice((1, 2, 4, 8)), dice.choice((1, 2, 4, 8))
    while rows * columns > largest:
        rows, columns = (rows // 2, columns) if rows > columns else (rows, columns // 2)
    return Layout((rows, columns), dice.choice(((columns, 1), (1, rows))))


def two_matrices(dice: Random) -> tuple[Layout, Layout]:
    """Compact matrices of up to 8 and of up to 16 elements: a block and a grid, or threads and values."""
    return matrix_of(dice, 8), matrix_of(dice, 16)


def two_ways_to_store(dice: Random) -> tuple[Layout, Layout]:
    """Two layouts of one shape (rows, columns), each by rows or columns, some padded."""
    rows, columns = dice.choice((2, 4, 8)), dice.choice((2, 4, 8))

    def stored() -> Layout:
        pad = dice.choice((1, 1, 2))
        return Layout((rows, columns), dice.choice(((columns * pad, 1), (1, rows * pad))))

    return stored(), stored()
