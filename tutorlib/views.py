"""What pictures and explorers of layouts show, as plain numbers."""

from functools import reduce
from operator import mul
from typing import Any

from tensor_layouts import Layout, complement, crd2flat, idx2crd

from tutorlib.notation import NotationError, Tiler, Tree, layout, text

LARGEST = 128 * 128  # cells; beyond that nobody sees anything


class TooLarge(ValueError):
    """More cells than a picture can show. The message is one line for the reader."""


def extent(shape: Tree) -> int:
    """How many coordinates a shape has."""
    return reduce(mul, map(extent, shape), 1) if isinstance(shape, tuple) else shape


def modes(shape: Tree) -> tuple[Tree, Tree]:
    """A shape as (rows, columns): the first mode down, all others across; rank 1 is one row."""
    if not isinstance(shape, tuple):
        return 1, shape
    if len(shape) == 1:
        return 1, shape[0]
    return shape[0], shape[1] if len(shape) == 2 else shape[1:]


def coordinate(shape: Tree, row: int, column: int) -> Tree:
    """The natural coordinate of a cell of the matrix that `modes` makes of the shape."""
    down, across = modes(shape)
    i, j = idx2crd(row, down), idx2crd(column, across)
    if not isinstance(shape, tuple):
        return j
    return (j,) if len(shape) == 1 else (i, j) if len(shape) == 2 else (i, *j)


def matrix(source: Any) -> tuple[tuple[int, ...], ...]:
    """The offsets of a layout as rows of a matrix. Raises TooLarge, NotationError."""
    drawn = layout(source)
    rows, columns = map(extent, modes(drawn.shape))
    if rows * columns > LARGEST:
        raise TooLarge(f"{text(drawn)} has {rows * columns:,} elements; a picture holds {LARGEST:,}.")
    return tuple(tuple(drawn(coordinate(drawn.shape, row, column)) for column in range(columns)) for row in range(rows))


def divide_sources(shape: Tree, cut: Tiler) -> list[list[tuple[int, int] | None]]:
    """Where the elements of a zipped divide come from, by its definition: tile T and rest T* = complement of T.

    Entry [inside][outside] is the (row, column) in the matrix of `shape`, or None where the last tile reaches past the
    edge. Raises NotationError, and tensor_layouts' LayoutError where T has no complement.
    """
    if isinstance(cut, Layout):
        tiles, extents, rest = [cut], [extent(shape)], []
    else:
        parts = shape if isinstance(shape, tuple) else (shape,)
        if len(cut) > len(parts):
            raise NotationError(f"The tiler {text(cut)} has more modes than the shape {text(shape)}.")
        if any(isinstance(part, tuple) for part in cut):
            raise NotationError(f"The tiler {text(cut)} is nested; give each mode one number or one layout.")
        tiles, extents = [layout(part) for part in cut], [extent(part) for part in parts]
        rest = extents[len(cut) :]
    others = [complement(tile, size) for tile, size in zip(tiles, extents, strict=False)]
    inside = tuple(extent(tile.shape) for tile in tiles)
    outside = (*(extent(other.shape) for other in others), *rest)
    rows = extent(modes(shape)[0])

    def source(i: int, j: int) -> tuple[int, int] | None:
        within, which = idx2crd(i, inside), idx2crd(j, outside)
        index = [tile(a) + other(b) for tile, other, a, b in zip(tiles, others, within, which, strict=False)]
        index += which[len(index) :]
        if any(n >= size for n, size in zip(index, extents, strict=True)):
            return None
        flat = crd2flat(tuple(index), tuple(extents))
        return flat % rows, flat // rows

    return [[source(i, j) for j in range(extent(outside))] for i in range(extent(inside))]
