"""A layout as a matrix of offsets."""

from typing import Any

from tensor_layouts import idx2crd, size

from tutorlib.layouts.notation import Tree, layout, text

LARGEST = 128 * 128  # cells; a larger picture shows nothing
Cell = tuple[int, int]  # row, column
Matrix = tuple[tuple[int, ...], ...]


class TooLarge(ValueError):
    """More cells than a picture can show. The message is one line for the reader."""


def modes(shape: Tree) -> tuple[Tree, Tree]:
    """A shape as (rows, columns): the first mode down, all others across; rank 1 is one row."""
    if not isinstance(shape, tuple):
        return 1, shape
    if len(shape) == 1:
        return 1, shape[0]
    return shape[0], shape[1] if len(shape) == 2 else shape[1:]


def coordinate(shape: Tree, cell: Cell) -> Tree:
    """The natural coordinate of a cell of the matrix that `modes` makes of the shape."""
    return idx2crd(cell[0] + cell[1] * size(modes(shape)[0]), shape)


def matrix(source: Any) -> Matrix:
    """The offsets of a layout as rows of a matrix. Raises TooLarge, NotationError."""
    shown = layout(source)
    rows, columns = map(size, modes(shown.shape))
    if rows * columns > LARGEST:
        raise TooLarge(f"{text(shown)} has {rows * columns:,} elements; a picture holds {LARGEST:,}.")
    return tuple(tuple(shown(row + column * rows) for column in range(columns)) for row in range(rows))


PICTURES = {  # notebook 01 asks which layouts these matrices show: A and B of offsets, C of ldmatrix's threads
    "A": ((0, 1, 2, 3, 4, 5), (8, 9, 10, 11, 12, 13), (16, 17, 18, 19, 20, 21), (24, 25, 26, 27, 28, 29)),
    "B": ((0, 1, 8, 9, 16, 17), (2, 3, 10, 11, 18, 19), (4, 5, 12, 13, 20, 21), (6, 7, 14, 15, 22, 23)),
    "C": tuple(tuple(4 * row + column // 2 for column in range(8)) for row in range(8)),
}
