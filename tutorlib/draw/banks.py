"""Pictures of shared memory: in which bank each element lies, and what an access costs."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tensor_layouts import ComposedLayout, Layout, Swizzle, compose

from tutorlib.banks import bank, bank_group, wavefronts
from tutorlib.draw.grid import Grid, Picture, figure
from tutorlib.draw.layouts import cell_of, layout_grid
from tutorlib.notation import layout, text
from tutorlib.palette import category
from tutorlib.views import matrix


def show_banks(source: Any, access: Iterable | None = None, element_bytes: int = 4, vector: int = 1) -> Picture:
    """Each element with its bank's number, 0 to 31; the colour is its 16-byte group of four banks.

    access: the coordinates that a warp's threads read at once, one per thread; they are outlined, and the title says
    how many wavefronts they cost (`tutorlib.banks.wavefronts`, whose errors these are).
    vector: consecutive elements that each thread reads, from its coordinate on.
    """
    shown = layout(source)
    table = matrix(shown)
    title = f"banks of {text(shown)}, {element_bytes}-byte elements"
    outlined = frozenset()
    if access is not None:
        threads = list(access)
        cells = [cell_of(shown.shape, at) for at in threads]
        cost = wavefronts([table[row][column] for row, column in cells], element_bytes, vector)
        title += f"\n{len(threads)} threads × {element_bytes * vector} bytes: {cost} wavefront{'s' if cost > 1 else ''}"
        outlined = frozenset((row, column + n) for row, column in cells for n in range(vector))
    grid = layout_grid(shown, title, colours=bank_colours(table, element_bytes))
    labels = [[str(bank(offset, element_bytes)) for offset in row] for row in table]
    return figure([replace(grid, labels=labels, outlined=outlined)])


def show_swizzle(swizzle: Any, source: Any, element_bytes: int = 2) -> Picture:
    """The offsets of a layout before and after the swizzle, coloured by their 16-byte group of four banks.

    swizzle: a tensor_layouts Swizzle or (B, M, S). Where the swizzle keeps 16-byte vectors whole, a cell of a wide
    layout is one vector, labelled by the offset of its first element.
    """
    mixing = swizzle if isinstance(swizzle, Swizzle) else Swizzle(*swizzle)
    before = layout(source)
    after = compose(mixing, before)
    grids = [swizzle_grid(shown, element_bytes) for shown in (before, after)]
    vector = 16 // element_bytes
    if grids[0].columns > 16 and all(keeps_vectors(matrix(shown), vector) for shown in (before, after)):
        grids = [by_vector(grid, vector) for grid in grids]
    return figure(grids, stacked=sum(grid.columns for grid in grids) > 34)


def swizzle_grid(shown: Layout | ComposedLayout, element_bytes: int) -> Grid:
    return layout_grid(shown, colours=bank_colours(matrix(shown), element_bytes))


def bank_colours(table: Iterable[Iterable[int]], element_bytes: int) -> list[list[str]]:
    return [[category(bank_group(offset, element_bytes)) for offset in row] for row in table]


def keeps_vectors(table: Iterable[tuple[int, ...]], vector: int) -> bool:
    """Whether every `vector` columns from the left hold consecutive offsets that begin at a multiple of `vector`."""
    return all(
        len(row) % vector == 0 and all(row[n] == row[n - n % vector] + n % vector for n in range(len(row)))
        and all(row[n] % vector == 0 for n in range(0, len(row), vector))
        for row in table
    )  # fmt: skip


def by_vector(grid: Grid, vector: int) -> Grid:
    """The grid with one cell for every `vector` columns."""
    return replace(
        grid,
        title=f"{grid.title}\neach cell: {vector} elements, 16 bytes",
        labels=[row[::vector] for row in grid.labels],
        colours=[row[::vector] for row in grid.colours],
        across=grid.across[::vector],
        column_breaks={n // vector: width for n, width in grid.column_breaks.items() if n % vector == 0},
    )
