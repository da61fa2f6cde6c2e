"""Pictures of layouts: a layout, its memory, the operations of the algebra, threads and values."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

from tensor_layouts import Layout, Swizzle, complement, compose, crd2flat, idx2crd, mode, size

from tutorlib.draw.grid import CELL, CellGrid, Picture, figure
from tutorlib.draw.palette import CATEGORIES, EMPTY, category, ramp
from tutorlib.layouts.matrix import PICTURES, coordinate, matrix, modes
from tutorlib.layouts.notation import Tree, layout, text
from tutorlib.layouts.views import ComposeView, DivideView, TiledCopyView, divide_view

THICK, THIN = 2.4, 1.3  # points: lines between outer and inner blocks


def show_layout(source: Any, title: str = "", highlight: Iterable = ()) -> Picture:
    """The layout as a grid of offsets; darker is larger. Thick lines separate the blocks of nested modes.

    source: anything that `layouts.notation.layout` takes; mode 0 runs down, the others across; rank 1 is a row.
    highlight: coordinates to outline, such as (1, 2); a number is a flat index.
    """
    return figure([layout_grid(source, title or None, highlight)])


def show_layouts(sources: Mapping[str, Any], outlined: Collection[int] = ()) -> Picture:
    """Several layouts side by side, {title: layout}, on one color scale. outlined: offsets."""
    tables = [matrix(source) for source in sources.values()]
    everything = [offset for table in tables for row in table for offset in row]
    scale = min(everything), max(everything)
    shown = {f"{title}\n{text(layout(source))}": layout(source) for title, source in sources.items()}
    marks = [[n for n in range(size(one)) if one(n) in outlined] for one in shown.values()]
    return figure([layout_grid(shown[title], title, mark, scale) for title, mark in zip(shown, marks, strict=True)])


def show_memory(source: Any, title: str = "") -> Picture:
    """Memory in order, one cell per offset, with the coordinate that is stored there; holes are hatched.

    Cells after the largest offset are blank. If several coordinates share an offset (a stride of 0), the cell names
    the first and counts the others.
    """
    shown = layout(source)
    rows, columns = map(size, modes(shown.shape))
    table = matrix(shown)
    stored: dict[int, list[str]] = {}
    for column in range(columns):
        for row in range(rows):
            stored.setdefault(table[row][column], []).append(two_lines(coordinate(shown.shape, (row, column))))
    low, high = min(0, *stored), max(stored)
    wrap = min(high - low + 1, 18)
    starts = range(low, high + 1, wrap)

    def label(offset: int) -> str:
        here = stored.get(offset, [])
        return here[0] + (f"\n+{len(here) - 1}" if len(here) > 1 else "") if here else ""

    cells = [[start + n for n in range(wrap)] for start in starts]
    end = dict.fromkeys(range(high + 1, cells[-1][-1] + 1), EMPTY)
    grid = CellGrid(
        title or f"memory of {text(shown)}",
        [[label(offset) for offset in row] for row in cells],
        [[ramp(offset, low, high) if offset in stored else end.get(offset) for offset in row] for row in cells],
        down=[str(start) for start in starts] if len(starts) > 1 else (),
        across=[f"{'+' if len(starts) > 1 else ''}{n if len(starts) > 1 else low + n}" for n in range(wrap)],
    )
    return figure([grid])


def two_lines(at: Tree) -> str:
    """A coordinate for a narrow cell: nested modes below each other."""
    if isinstance(at, tuple) and any(isinstance(part, tuple) for part in at):
        return "\n".join(map(text, at))
    return text(at)


def layout_grid(
    source: Any,
    title: str | None = None,
    highlight: Iterable = (),
    scale: tuple[int, int] | None = None,
    colors: Sequence[Sequence[str | None]] | None = None,
) -> CellGrid:
    """A layout's offsets in a grid. scale: the offsets of the lightest and the darkest color."""
    shown = layout(source)
    table = matrix(shown)
    low, high = scale or (min(map(min, table)), max(map(max, table)))
    down, across = modes(shown.shape)
    return CellGrid(
        text(shown) if title is None else title,
        [[str(offset) for offset in row] for row in table],
        colors or [[ramp(offset, low, high) for offset in row] for row in table],
        names(down) if len(table) > 1 else (),
        names(across),
        breaks(down),
        breaks(across),
        frozenset(cell_of(shown.shape, at) for at in highlight),
    )


def names(mode: Tree) -> list[str]:
    """The coordinates along one side of the grid, "2" or "(0,1)"; flat indices if these would be long."""
    natural = [text(idx2crd(index, mode)) for index in range(size(mode))]
    return natural if len(natural[-1]) <= 6 else [str(index) for index in range(size(mode))]


def breaks(mode: Tree) -> dict[int, float]:
    """The borders between the blocks of a nested mode: {index: line width}."""
    if not isinstance(mode, tuple):
        return {}
    found: dict[int, float] = {}
    block = 1
    inner = mode[:-1]
    for depth, part in enumerate(inner):
        block *= size(part)
        width = THIN + (THICK - THIN) * (depth + 1) / len(inner)
        found |= {index: width for index in range(block, size(mode), block)}
    return found


def cell_of(shape: Tree, at: int | tuple) -> tuple[int, int]:
    """The (row, column) of a natural coordinate, a pair of indices, or a flat index."""
    down, across = modes(shape)
    rows = size(down)
    if isinstance(at, tuple) and len(at) == 2 and isinstance(shape, tuple) and len(shape) > 1:
        return crd2flat(at[0], down), crd2flat(at[1], across)
    index = crd2flat(at, shape)
    return index % rows, index // rows


def show_pictures() -> Picture:
    """The numbers alone, without names or lines that would reveal the modes."""
    grids = []
    for name, offsets in PICTURES.items():
        last = max(map(max, offsets))
        colors = [[ramp(offset, 0, last) for offset in row] for row in offsets]
        grids.append(CellGrid(name, [[str(offset) for offset in row] for row in offsets], colors))
    return figure(grids)


# The algebra ----------------------------------------------------------------------------------------------------------


def show_divide(source: Any, cut: Any) -> Picture:
    """Left the matrix, each tile in its color; right the zipped divide, inside the tile × which tile.

    cut: a tiler as `layouts.notation.tiler` takes it. Tile 0 is outlined on both sides. Cells of a tile outside the
    matrix are hatched. Raises NotationError, TooLarge, and tensor_layouts' LayoutError if the division is undefined.
    """
    return figure(divide_grids(divide_view(source, cut)))


def divide_grids(view: DivideView) -> tuple[CellGrid, CellGrid]:
    """The two grids of a division, with tile 0 outlined."""
    first = {cell for row in view.sources if (cell := row[0])}
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
    places = {(i, j) for i, row in enumerate(view.sources) for j, cell in enumerate(row) if cell in first}
    return replace(whole, outlined=frozenset(first)), replace(divided, outlined=frozenset(places))


def repeated(things: int) -> str:
    """The note that a title needs if there are more things than colors."""
    return f"; after {len(CATEGORIES)} they repeat" if things > len(CATEGORIES) else ""


def compose_grids(view: ComposeView) -> tuple[CellGrid, CellGrid, CellGrid]:
    """b, a and a∘b. An index of a has one color in all three; a∘b is hatched where b reaches past a's indices."""
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
            layout_grid(view.composed, f"a∘b = {text(composed)}\na's offset at b's index", colors=inside), view.offsets
        ),
    )


def show_picked(source: Any, orders: Iterable[Any]) -> Picture:
    """A matrix once for each layout of its indices, which are numbered in that order; a column has one color."""
    shown = layout(source)
    rows, columns = map(size, modes(shown.shape))
    grids = []
    for picks in map(layout, orders):
        number = {picks(n): n for n in range(size(picks))}
        table = [[number.get(row + column * rows) for column in range(columns)] for row in range(rows)]
        grids.append(
            CellGrid(
                f"B = {text(picks)}",
                [["" if n is None else str(n) for n in row] for row in table],
                [[ramp(0, 0, 1) if n is None else category(column) for column, n in enumerate(row)] for row in table],
                names(modes(shown.shape)[0]),
                names(modes(shown.shape)[1]),
            )
        )
    return figure(grids, stacked=False)


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


# Threads and values ---------------------------------------------------------------------------------------------------


def show_tv(source: Any, tile_shape: Tree, title: str = "") -> Picture:
    """The tile with the thread and the value that hold each element, "T3 V1", colored by thread.

    source: a layout (thread, value) → flat index in the tile, whose first mode runs fastest.
    An element that no thread holds is hatched; if several hold it, the cell names the first and counts the others.
    Raises ValueError if the layout reaches past the tile.
    """
    return figure([tv_grid(source, tile_shape, title)])


def show_tvs(
    sources: Mapping[str, Any],
    tile_shape: Tree,
    axes: tuple[str, str] = ("", ""),
    outlined: Sequence[Iterable[tuple[int, int]]] = (),
    largest: int = CELL,
) -> Picture:
    """Layouts by their titles, side by side, as `show_tv` draws them.

    axes: names of the tile's modes. outlined: cells, for each layout. largest: pixels of a cell.
    """
    grids = [tv_grid(source, tile_shape, title, axes) for title, source in sources.items()]
    marked = zip(grids, chain(outlined, repeat(())), strict=False)
    return figure([replace(grid, outlined=frozenset(cells)) for grid, cells in marked], largest=largest)


def show_path() -> Picture:
    """16 rows of a tile of A, (128, 64), on their way through cp.async: a cell is 16 bytes, which thread T copies.

    Outlined: a K block.
    """
    rows = range(16)
    titles = "gA, in global memory", "sA, in shared memory, swizzled:\na row of cells is all 32 banks"
    plain = Layout(((8, 16), 1), ((16, 1), 0))  # (thread, value) → row + 16 · column
    moved = compose(Swizzle(3, 0, -4), plain)  # the row's lowest bits are XORed into the column's
    blocks = [[(row, column ^ row % 8 * swizzled) for row in rows for column in (0, 1)] for swizzled in (0, 1)]
    return show_tvs(dict(zip(titles, (plain, moved), strict=True)), (16, 8), outlined=blocks, largest=30)


def tv_grid(source: Any, tile_shape: Tree, title: str = "", axes: tuple[str, str] = ("", "")) -> CellGrid:
    holds = layout(source)
    threads, values = size(mode(holds, 0)), size(mode(holds, 1))
    rows, columns = map(size, modes(tile_shape))
    holders: dict[int, list[tuple[int, int]]] = {}
    for value in range(values):
        for thread in range(threads):
            holders.setdefault(holds(thread, value), []).append((thread, value))
    if max(holders) >= rows * columns:
        raise ValueError(f"{text(holds)} reaches element {max(holders)}; a tile {text(tile_shape)} ends before")
    held = [[holders.get(row + column * rows, []) for column in range(columns)] for row in range(rows)]
    grid = held_grid(held, title or f"{text(holds)}: {threads} threads × {values} values")
    down = [f"{axes[0]} {row}".strip() for row in range(rows)] if rows > 1 else ()
    return replace(grid, down=down, across=[f"{axes[1]} {column}".strip() for column in range(columns)])


def held_grid(held: Sequence[Sequence[Sequence[tuple[int, int]]]], title: str) -> CellGrid:
    """Each element with the first (thread, value) that holds it and the number of the others, colored by thread."""

    def label(holders: Sequence[tuple[int, int]]) -> str:
        more = f"\n+{len(holders) - 1}" if len(holders) > 1 else ""
        return f"T{holders[0][0]}\nV{holders[0][1]}{more}" if holders else ""

    return CellGrid(
        title,
        [[label(holders) for holders in row] for row in held],
        [[category(holders[0][0]) if holders else None for holders in row] for row in held],
        [str(row) for row in range(len(held))],
        [str(column) for column in range(len(held[0]))],
    )


def tiled_copy_grid(view: TiledCopyView) -> CellGrid:
    """The tile of a TiledCopy as `show_tv` draws one; thick lines between steps."""
    (rows, columns), (down, across) = view.tile, view.step
    held = [[[view.holder((row, column))] for column in range(columns)] for row in range(rows)]
    title = f"threads {text(view.threads)}, values {text(view.values)}: (thread, value) → {text(view.layout)}"
    steps = dict.fromkeys(range(down, rows, down), 2.0), dict.fromkeys(range(across, columns, across), 2.0)
    return replace(held_grid(held, title), row_breaks=steps[0], column_breaks=steps[1])
