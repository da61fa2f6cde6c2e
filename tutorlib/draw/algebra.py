"""Pictures of the algebra's operators: operands and result, with the origin of each cell."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tensor_layouts import complement, logical_product, mode, size

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.layouts import layout_grid
from tutorlib.draw.palette import CATEGORIES, EMPTY, category, ramp
from tutorlib.layouts.composition import ComposeView, compose_view
from tutorlib.layouts.division import DivideView, divide_view
from tutorlib.layouts.matrix import Cell, matrix, modes
from tutorlib.layouts.notation import layout, text


def show_divide(source: Any, cut: Any) -> Picture:
    """Left the matrix, each tile in its color; right the zipped divide, inside the tile × which tile.

    cut: a tiler as `layouts.notation.tiler` takes it. Tile 0 is outlined on both sides. Cells of a tile outside the
    matrix are hatched. Raises NotationError, TooLarge, and tensor_layouts' LayoutError if the division is undefined.
    """
    view = divide_view(source, cut)
    return figure(divide_grids(view, {cell for row in view.sources if (cell := row[0])}))


def divide_grids(view: DivideView, pointed: set[Cell]) -> tuple[CellGrid, CellGrid]:
    """The two grids of a division. pointed: cells of the matrix to outline, on both sides."""
    tile_of = {cell: which for row in view.sources for which, cell in enumerate(row) if cell}
    rows, columns = map(size, modes(view.layout.shape))
    whole = layout_grid(
        view.layout,
        f"{text(view.layout)}\ntiles of {text(view.tiler)} in color{repeated(len(view.sources[0]))}",
        colors=[[category(tile_of[row, column]) for column in range(columns)] for row in range(rows)],
    )
    divided = layout_grid(
        view.divided,
        f"⊘ {text(view.tiler)} = {text(view.divided)}\ninside the tile (down) × which tile (across)",
        colors=[[category(which) if cell else None for which, cell in enumerate(row)] for row in view.sources],
    )
    divided = with_labels(divided, view.offsets)
    places = {place for cell in pointed for place in view.places(cell)}
    return replace(whole, outlined=frozenset(pointed)), replace(divided, outlined=frozenset(places))


def repeated(things: int) -> str:
    """The note that a title needs if there are more things than colors."""
    return f"; after {len(CATEGORIES)} they repeat" if things > len(CATEGORIES) else ""


def show_compose(a: Any, b: Any) -> Picture:
    """b, a and a∘b side by side. The values of b are indices of a; an index has one color in all three.

    Where b reaches past a's indices, a∘b is hatched.
    Raises NotationError, TooLarge, and NoLayout or tensor_layouts' LayoutError if a∘b is no layout.
    """
    return figure(compose_grids(compose_view(a, b)))


def compose_grids(view: ComposeView) -> tuple[CellGrid, CellGrid, CellGrid]:
    """b, a and a∘b."""
    rows, columns = map(size, modes(view.a.shape))
    last = max(rows * columns - 1, *(max(row) for row in view.picked))
    taken = {index for row in view.picked for index in row}
    by_index = [[ramp(index, 0, last) for index in row] for row in view.picked]
    inside = [
        [color if offset is not None else None for color, offset in zip(*both, strict=True)]
        for both in zip(by_index, view.offsets, strict=True)
    ]
    flat = [[row + column * rows for column in range(columns)] for row in range(rows)]
    composed = view.composed if isinstance(view.b.shape, tuple) else mode(view.composed, 0)
    return (
        layout_grid(view.b, f"b = {text(view.b)}\nindex of a", colors=by_index),
        layout_grid(
            view.a,
            f"a = {text(view.a)}\ncolored: the indices in b",
            colors=[[ramp(index, 0, last) if index in taken else EMPTY for index in row] for row in flat],
        ),
        with_labels(
            layout_grid(view.composed, f"a∘b = {text(composed)}\na's offset at b's index", colors=inside),
            view.offsets,
        ),
    )


def with_labels(grid: CellGrid, offsets: Sequence[Sequence[int | None]]) -> CellGrid:
    """The grid with these offsets; a cell without one stays empty."""
    return replace(grid, labels=[["" if offset is None else str(offset) for offset in row] for row in offsets])


def show_complement(source: Any, bound: int) -> Picture:
    """Memory of `bound` offsets: the layout's own are outlined, and copies shifted by the complement fill the rest.

    Each copy has a color and is labeled with its shift, an offset of the complement ("+8").
    """
    reaching = layout(source)
    filling = complement(reaching, bound)
    own = [reaching(index) for index in range(size(reaching))]
    moved: dict[int, tuple[int, int]] = {}
    for copy in range(size(filling)):
        for offset in own:
            moved.setdefault(offset + filling(copy), (copy, filling(copy)))
    end = max(bound, *(offset + 1 for offset in moved))
    wrap = min(end, 24)
    cells = [list(range(start, start + wrap)) for start in range(0, end, wrap)]
    grid = CellGrid(
        f"{text(reaching)} (outlined); its complement in {bound}: {text(filling)}\n"
        f"below each offset: the shift of its copy; a color is a copy{repeated(size(filling))}",
        [[f"{offset}\n+{moved[offset][1]}" if offset in moved else "" for offset in row] for row in cells],
        [[category(moved[offset][0]) if offset in moved else None for offset in row] for row in cells],
        outlined=frozenset((offset // wrap, offset % wrap) for offset in own),
    )
    return figure([grid])


def show_product(a: Any, b: Any) -> Picture:
    """Block a, the starts of its copies, and the logical product: inside the block × which copy, colored by copy."""
    block, copies = layout(a), layout(b)
    product = logical_product(block, copies)
    starts = mode(product, 1)
    rows, columns = map(size, modes(starts.shape))
    by_copy = [[category(row + column * rows) for column in range(columns)] for row in range(rows)]
    inside, copied = map(size, product.shape)
    grids = (
        layout_grid(block, f"a = {text(block)}\nthe block", colors=[[category(0)] * len(row) for row in matrix(block)]),
        layout_grid(starts, f"b = {text(copies)}\nstart of each copy: {text(starts)}", colors=by_copy),
        layout_grid(
            product,
            f"product = {text(product)}\ninside the block (down) × which copy (across), in color{repeated(copied)}",
            colors=[[category(copy) for copy in range(copied)] for _ in range(inside)],
        ),
    )
    return figure(grids)
