"""A composition, cell by cell: which index of a each cell of b takes."""

from dataclasses import dataclass
from typing import Any

from tensor_layouts import (
    Layout,
    compose,
    size,
)

from tutorlib.layouts.matrix import Cell, Matrix, matrix, modes
from tutorlib.layouts.notation import layout, text


class NoLayout(ValueError):
    """The result would be no layout. The message is one line for the reader."""


@dataclass(frozen=True)
class ComposeView:
    """a∘b. `picked` holds b's values, which are flat indices of a; `offsets` a∘b's, in the matrix of b.

    Where b is a single mode, `composed` is too: CuTe's composition may make several modes of it. An offset is None
    where b leaves a's indices: there a has no value, and libraries differ in how they go on.
    """

    a: Layout
    b: Layout
    composed: Layout
    picked: Matrix
    offsets: tuple[tuple[int | None, ...], ...]

    def source(self, cell: Cell) -> Cell | None:
        """The cell of a from which a cell of the result comes; None where b leaves a's indices."""
        index, rows = self.picked[cell[0]][cell[1]], size(modes(self.a.shape)[0])
        return (index % rows, index // rows) if 0 <= index < size(self.a) else None

    def takers(self, source: Cell) -> set[Cell]:
        """The cells of the result that come from a cell of a."""
        cells = ((row, column) for row, indices in enumerate(self.picked) for column in range(len(indices)))
        return {cell for cell in cells if self.source(cell) == source}


def compose_view(a: Any, b: Any) -> ComposeView:
    """Raises NotationError, TooLarge, NoLayout, and tensor_layouts' LayoutError if that refuses to compose them.

    CuTe composes mode by mode of b. Where b's modes overlap, the sum may carry from one mode of a into the next, and
    no layout is a∘b; CuTe returns one all the same, so the law (a∘b)(i) = a(b(i)) is tested here.
    """
    outer, inner = layout(a), layout(b)
    composed = compose(outer, inner)
    if not isinstance(inner.shape, tuple) and isinstance(composed.shape, tuple):
        composed = Layout((composed.shape,), (composed.stride,))
    inside = range(size(outer))
    picked = matrix(inner)
    offsets = tuple(
        tuple(offset if index in inside else None for index, offset in zip(*rows, strict=True))
        for rows in zip(picked, matrix(composed), strict=True)
    )
    for index, offset in zip(sum(picked, ()), sum(offsets, ()), strict=True):
        if offset is not None and offset != outer(index):
            wrong = f"{text(composed)} has {offset} where a({index}) = {outer(index)}"
            raise NoLayout(f"No layout is a∘b, as b's modes overlap: {wrong}.")
    return ComposeView(outer, inner, composed, picked, offsets)
