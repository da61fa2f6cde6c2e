"""A division, cell by cell: each element's tile, and its place in it."""

from dataclasses import dataclass
from typing import Any

from tensor_layouts import (
    Layout,
    complement,
    compose,
    crd2flat,
    idx2crd,
    mode,
    rank,
    size,
)

from tutorlib.layouts.matrix import Cell, matrix
from tutorlib.layouts.notation import NotationError, Tiler, layout, text, tiler


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

    def places(self, cell: Cell) -> tuple[Cell, ...]:
        """Every (inside, which tile) of a cell of the layout's matrix: one if tiles are disjoint."""
        return tuple(
            (inside, which)
            for inside, row in enumerate(self.sources)
            for which, source in enumerate(row)
            if source == cell
        )


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
