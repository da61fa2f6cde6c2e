"""Pictures of one layout, or of several to compare."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tensor_layouts import crd2flat, idx2crd, size

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, ramp
from tutorlib.layouts.matrix import PICTURES, coordinate, matrix, modes
from tutorlib.layouts.notation import Tree, layout, text

THICK, THIN = 2.4, 1.3  # points: lines between outer and inner blocks


def show_layout(source: Any, title: str = "", highlight: Iterable = ()) -> Picture:
    """The layout as a grid of offsets; darker is larger. Thick lines separate the blocks of nested modes.

    source: anything that `layouts.notation.layout` takes; mode 0 runs down, the others across; rank 1 is a row.
    highlight: coordinates to outline, such as (1, 2); a number is a flat index.
    """
    return figure([layout_grid(source, title or None, highlight)])


def show_layouts(sources: Mapping[str, Any]) -> Picture:
    """Several layouts side by side, {title: layout}, on one color scale."""
    tables = [matrix(source) for source in sources.values()]
    everything = [offset for table in tables for row in table for offset in row]
    scale = min(everything), max(everything)
    grids = [layout_grid(source, f"{title}\n{text(layout(source))}", scale=scale) for title, source in sources.items()]
    return figure(grids)


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
    wrap = min(high - low + 1, 16)
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
    """Offsets alone, without names or lines that would reveal the modes."""
    grids = []
    for name, offsets in PICTURES.items():
        last = max(map(max, offsets))
        colors = [[ramp(offset, 0, last) for offset in row] for row in offsets]
        grids.append(CellGrid(name, [[str(offset) for offset in row] for row in offsets], colors))
    return figure(grids)
