"""Which thread of a TiledCopy holds which element of a tile, as plain numbers."""

from dataclasses import dataclass

from tensor_layouts import Layout, compose, cosize, raked_product, right_inverse, size

from tutorlib.layouts.matrix import Cell
from tutorlib.layouts.notation import NotationError, text


@dataclass(frozen=True)
class TiledCopyView:
    """A tile copied by `threads`, a matrix of thread numbers, each of which takes a matrix of `values` at a time.

    One step of all threads covers `step` elements; steps are repeated down the tile, then across, as CuTe's
    partition_S lists them: a thread's value v + V·n is its value v of step n.
    """

    threads: Layout
    values: Layout
    tile: tuple[int, int]

    @property
    def step(self) -> tuple[int, int]:
        """Rows and columns that one step covers."""
        (thread_rows, thread_columns), (value_rows, value_columns) = self.threads.shape, self.values.shape
        return thread_rows * value_rows, thread_columns * value_columns

    @property
    def layout(self) -> Layout:
        """(thread, value) → flat index in the step, its first mode fastest: what CuTe's make_layout_tv returns."""
        inverse = right_inverse(raked_product(self.threads, self.values))
        return compose(inverse, Layout((size(self.threads), size(self.values))))

    def holder(self, cell: Cell) -> tuple[int, int]:
        """The thread and the value that an element belongs to. Values are contiguous, threads around them."""
        (row, column), (rows, columns) = cell, self.step
        value_rows, value_columns = self.values.shape
        within = row % rows, column % columns
        thread = self.threads(within[0] // value_rows, within[1] // value_columns)
        value = self.values(within[0] % value_rows, within[1] % value_columns)
        n = row // rows + column // columns * (self.tile[0] // rows)
        return thread, value + n * size(self.values)

    def cells(self, thread: int) -> frozenset[Cell]:
        """Every element that a thread holds."""
        return frozenset(cell for cell in self.places if self.holder(cell)[0] == thread)

    @property
    def places(self) -> list[Cell]:
        """The tile's elements, row by row."""
        return [(row, column) for row in range(self.tile[0]) for column in range(self.tile[1])]


def tiled_copy_view(threads: Layout, values: Layout, tile: tuple[int, ...]) -> TiledCopyView:
    """The view, or a NotationError that says why no TiledCopy is like that."""
    for name, part in {"threads": threads, "values": values}.items():
        if not (isinstance(part.shape, tuple) and len(part.shape) == 2 and all(isinstance(n, int) for n in part.shape)):
            raise NotationError(f"The {name} {text(part)} are no matrix; write them like (2,4):(4,1).")
        if cosize(part) != size(part) or len({part(n) for n in range(size(part))}) != size(part):
            raise NotationError(f"The {name} {text(part)} do not number {size(part)} cells from 0 on, each once.")
    if len(tile) != 2 or not all(isinstance(n, int) and n > 0 for n in tile):
        raise NotationError(f"The tile {text(tile)} is no matrix; write it like (8,16).")
    view = TiledCopyView(threads, values, tile)
    if any(extent % step for extent, step in zip(tile, view.step, strict=True)):
        raise NotationError(f"One step covers {text(view.step)} elements, and {text(tile)} is not made of such pieces.")
    return view
