"""Layouts' operations as views that pictures and explorers show: composition, division, tiled copies."""

from dataclasses import dataclass
from typing import Any

from tensor_layouts import (
    Layout,
    complement,
    compose,
    cosize,
    crd2flat,
    idx2crd,
    mode,
    raked_product,
    rank,
    right_inverse,
    size,
)

from tutorlib.layouts.matrix import Cell, Matrix, matrix
from tutorlib.layouts.notation import NotationError, Tiler, layout, text, tiler

# Composition ----------------------------------------------------------------------------------------------------------


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


def compose_view(a: Any, b: Any) -> ComposeView:
    """Raises NotationError, TooLarge, NoLayout, and tensor_layouts' LayoutError if that refuses to compose them.

    CuTe composes mode by mode of b. Where a sum of b's modes carries from one mode of a into the next, no layout is
    a∘b; CuTe returns one all the same, so the law (a∘b)(i) = a(b(i)) is tested here.
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
            raise NoLayout(f"No layout is a∘b, as a sum of b's modes carries: {wrong}.")
    return ComposeView(outer, inner, composed, picked, offsets)


# Division -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DivideView:
    """The zipped divide: `offsets` has inside the tile down and which tile across.

    sources: the cell of the layout's own matrix that each cell comes from. Both are None where a tile reaches past the
    edge.
    """

    layout: Layout
    tiler: Tiler
    divided: Layout
    offsets: tuple[tuple[int | None, ...], ...]
    sources: tuple[tuple[Cell | None, ...], ...]


def divide_view(source: Any, cut: Any) -> DivideView:
    """By the definition, mode by mode: L ⊘ T = L ∘ (T, T*), where T* is the complement of T in the mode's size.

    Raises NotationError, TooLarge, and tensor_layouts' LayoutError where the division is none.
    """
    whole, knife = layout(source), tiler(cut)
    rows = len(matrix(whole))
    parts, tiles = divided_modes(whole, knife)
    others = [complement(tile, size(part)) for tile, part in zip(tiles, parts, strict=False)]
    inside = [compose(part, tile) for part, tile in zip(parts, tiles, strict=False)]
    outside = [compose(part, other) for part, other in zip(parts, others, strict=False)]
    divided = Layout(bundle(inside), bundle(outside + parts[len(tiles) :]))
    uncut = [Layout(size(part)) for part in parts[len(tiles) :]]

    def origin(i: int, j: int) -> Cell | None:
        within = idx2crd(i, tuple(map(size, tiles)))
        which = idx2crd(j, tuple(map(size, others + uncut)))
        index = [tile(n) for tile, n in zip(tiles, within, strict=True)] + [0] * len(uncut)
        index = [start + other(n) for start, other, n in zip(index, others + uncut, which, strict=True)]
        if any(n >= size(part) for n, part in zip(index, parts, strict=True)):
            return None
        flat = crd2flat(tuple(index), tuple(map(size, parts)))
        return flat % rows, flat // rows

    sources = tuple(tuple(origin(i, j) for j in range(size(mode(divided, 1)))) for i in range(size(mode(divided, 0))))
    offsets = tuple(
        tuple(offset if cell else None for offset, cell in zip(*both, strict=True))
        for both in zip(matrix(divided), sources, strict=True)
    )
    return DivideView(whole, knife, divided, offsets, sources)


def divided_modes(whole: Layout, knife: Tiler) -> tuple[list[Layout], list[Layout]]:
    """(the modes that a tiler sees, its tile for each of the first of them); a layout sees a single mode."""
    if isinstance(knife, Layout):
        return [whole], [knife]
    parts = [mode(whole, n) for n in range(rank(whole))]
    if len(knife) > len(parts):
        raise NotationError(f"The tiler {text(knife)} has more modes than the shape {text(whole.shape)}.")
    if any(isinstance(part, tuple) for part in knife):
        raise NotationError(f"The tiler {text(knife)} is nested; give each mode one number or one layout.")
    return parts, [layout(part) for part in knife]


def bundle(parts: list[Layout]) -> Layout:
    """The layouts as modes of one; a single one stays as it is."""
    return parts[0] if len(parts) == 1 else Layout(*parts)


# Tiled copies ---------------------------------------------------------------------------------------------------------


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


def tiled_copy_view(threads: Layout, values: Layout, tile: Tiler) -> TiledCopyView:
    """The view, or a NotationError that says why no TiledCopy is like that."""
    for name, part in {"threads": threads, "values": values}.items():
        if not (isinstance(part.shape, tuple) and len(part.shape) == 2 and all(isinstance(n, int) for n in part.shape)):
            raise NotationError(f"The {name} {text(part)} are no matrix; write them like (2,4):(4,1).")
        if cosize(part) != size(part) or len({part(n) for n in range(size(part))}) != size(part):
            raise NotationError(f"The {name} {text(part)} do not number {size(part)} cells from 0 on, each once.")
    if not isinstance(tile, tuple) or len(tile) != 2 or not all(isinstance(n, int) and n > 0 for n in tile):
        raise NotationError(f"The tile {text(tile)} is no matrix; write it like (8,16).")
    view = TiledCopyView(threads, values, tile)
    if any(extent % step for extent, step in zip(tile, view.step, strict=True)):
        raise NotationError(f"One step covers {text(view.step)} elements, and {text(tile)} is not made of such pieces.")
    return view
