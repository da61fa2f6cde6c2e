"""Pictures of the algebra's operators: what goes in, what comes out, and which cell came from where."""

from dataclasses import replace
from typing import Any

from tensor_layouts import complement, compose, logical_product, mode, size, zipped_divide

from tutorlib.draw.grid import Grid, Picture, figure
from tutorlib.draw.layouts import layout_grid
from tutorlib.notation import layout, text, tiler
from tutorlib.palette import EMPTY, category, ramp
from tutorlib.views import divide_sources, extent, matrix, modes


def show_divide(source: Any, cut: Any) -> Picture:
    """Left the matrix, each tile in its colour; right the zipped divide, inside the tile × which tile.

    cut: a tiler as `tutorlib.notation.tiler` takes it. Tile 0 is outlined on both sides; a tile that reaches past the
    edge has hatched cells on the right.
    """
    whole, knife = layout(source), tiler(cut)
    divided = zipped_divide(whole, knife)
    sources = divide_sources(whole.shape, knife)
    tile_of = {cell: which for row in sources for which, cell in enumerate(row) if cell is not None}
    table = matrix(whole)
    left = layout_grid(
        whole,
        f"{text(whole)}\nits tiles of {text(knife)}, coloured",
        colours=[[category(tile_of[row, column]) for column in range(len(table[0]))] for row in range(len(table))],
    )
    right = layout_grid(
        divided,
        f"⊘ {text(knife)} = {text(divided)}\ninside the tile (down) × which tile (across)",
        colours=[[category(which) if cell else None for which, cell in enumerate(row)] for row in sources],
    )
    first = [row[0] for row in sources]
    return side_by_side(
        replace(left, outlined=frozenset(cell for cell in first if cell)),
        replace(right, outlined=frozenset((row, 0) for row, cell in enumerate(first) if cell)),
    )


def show_compose(a: Any, b: Any) -> Picture:
    """b, a and a∘b side by side. b's values say which cell of a is taken; that cell's colour is the same in all three.

    Raises tensor_layouts' LayoutError where a∘b is no layout.
    """
    outer, inner = layout(a), layout(b)
    composed = compose(outer, inner)
    picked = matrix(inner)
    last = max(size(outer) - 1, *(max(row) for row in picked))
    rows = extent(modes(outer.shape)[0])
    chosen = [[ramp(index, 0, last) for index in row] for row in picked]
    flat = [[row + column * rows for column in range(size(outer) // rows)] for row in range(rows)]
    reached = {index for row in picked for index in row}
    source = [[ramp(index, 0, last) if index in reached else EMPTY for index in row] for row in flat]
    return side_by_side(
        layout_grid(inner, f"b = {text(inner)}\nwhich index of a", colours=chosen),
        layout_grid(outer, f"a = {text(outer)}\nwhat b takes is coloured", colours=source),
        layout_grid(composed, f"a∘b = {text(composed)}\na's offset at b's index", colours=chosen),
    )


def show_complement(source: Any, bound: int) -> Picture:
    """Memory of `bound` offsets: the layout's own are outlined, and its copies, moved by the complement, fill the rest.

    Each copy has a colour and is labelled by the complement's offset that moves it there ("+8").
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
    grid = Grid(
        f"{text(reaching)} (outlined); its complement in {bound}: {text(filling)}\n"
        "below each offset: how far its copy moved",
        [[f"{offset}\n+{moved[offset][1]}" if offset in moved else "" for offset in row] for row in cells],
        [[category(moved[offset][0]) if offset in moved else None for offset in row] for row in cells],
        outlined=frozenset((offset // wrap, offset % wrap) for offset in own),
    )
    return figure([grid])


def show_product(a: Any, b: Any) -> Picture:
    """Block a, where b puts its copies, and the logical product, inside the block × which copy, coloured by copy."""
    block, copies = layout(a), layout(b)
    product = logical_product(block, copies)
    starts = mode(product, 1)
    rows, columns = map(extent, modes(starts.shape))
    by_copy = [[category(row + column * rows) for column in range(columns)] for row in range(rows)]
    inside, copied = map(size, product.shape)
    return side_by_side(
        layout_grid(
            block, f"a = {text(block)}\nthe block", colours=[[category(0)] * len(row) for row in matrix(block)]
        ),
        layout_grid(starts, f"b = {text(copies)}\nwhere each copy begins: {text(starts)}", colours=by_copy),
        layout_grid(
            product,
            f"product = {text(product)}\ninside the block (down) × which copy (across)",
            colours=[[category(copy) for copy in range(copied)] for _ in range(inside)],
        ),
    )


def side_by_side(*grids: Grid) -> Picture:
    """Beside each other while the cells stay readable, else below each other."""
    return figure(grids, stacked=sum(grid.columns for grid in grids) > 26)
