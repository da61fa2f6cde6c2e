"""Pictures of shared memory: the bank of each element, and the wavefronts of an access."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tensor_layouts import Swizzle, compose

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.layouts import cell_of, layout_grid
from tutorlib.draw.palette import category
from tutorlib.layouts.matrix import Matrix, matrix
from tutorlib.layouts.notation import layout, text
from tutorlib.models.memory import WORD, bank, bank_group, wavefronts

COLOR = "a color is four banks, 16 bytes"
CROWDED = 32  # columns; with more, a cell is a 16-byte vector if vectors stay whole


def show_banks(source: Any, access: Iterable | None = None, element_bytes: int = 4, vector: int = 1) -> Picture:
    """Each element with its bank's number, 0 to 31; the color is its 16-byte group of four banks.

    access: the coordinates that the threads of a warp read in one instruction, one per thread; they are outlined, and
    the title counts their wavefronts (`tutorlib.models.memory.wavefronts`, whose errors it raises).
    vector: consecutive elements that each thread reads, starting at its coordinate.
    With more than 32 columns, if 16-byte vectors are contiguous, a cell is one vector: "0-3".
    """
    return figure([access_grid(source, access, element_bytes, vector)])


def access_grid(source: Any, access: Iterable | None, element_bytes: int, vector: int) -> CellGrid:
    shown = layout(source)
    table = matrix(shown)
    title = f"banks of {text(shown)}, {element_bytes}-byte elements"
    outlined: frozenset[tuple[int, int]] = frozenset()
    if access is not None:
        cells = [cell_of(shown.shape, at) for at in access]
        cost = wavefronts([table[row][column] for row, column in cells], element_bytes, vector)
        title += f"\n{len(cells)} threads × {element_bytes * vector} bytes: {cost} wavefront{'s' if cost > 1 else ''}"
        outlined = frozenset((row, column + n) for row, column in cells for n in range(vector))
    labels = [[str(bank(offset, element_bytes)) for offset in row] for row in table]
    grid = layout_grid(shown, f"{title}\n{COLOR}", colors=bank_colors(table, element_bytes))
    grid = replace(grid, labels=labels, outlined=outlined)
    vector = 16 // element_bytes  # of a cell, from here on
    if grid.columns <= CROWDED or not keeps_vectors(table, vector):
        return grid
    last = [[int(label) + 16 // WORD - 1 for label in row[::vector]] for row in labels]
    grid = by_vector(grid, vector)
    spans = [[f"{a}-{b}" for a, b in zip(*row, strict=True)] for row in zip(grid.labels, last, strict=True)]
    return replace(grid, labels=spans)


def show_swizzle(swizzle: Any, source: Any, element_bytes: int = 2) -> Picture:
    """The offsets of a layout before and after the swizzle, colored by their 16-byte group of four banks.

    swizzle: a tensor_layouts Swizzle or (B, M, S). If the swizzle keeps 16-byte vectors whole, a cell of a layout
    of more than 16 columns is one vector, labeled with the offset of its first element.
    """
    mixing = swizzle if isinstance(swizzle, Swizzle) else Swizzle(*swizzle)
    both = layout(source), compose(mixing, layout(source))
    tables = [matrix(shown) for shown in both]
    grids = [
        layout_grid(shown, f"{text(shown)}\n{COLOR}", colors=bank_colors(table, element_bytes))
        for shown, table in zip(both, tables, strict=True)
    ]
    vector = 16 // element_bytes
    if grids[0].columns > CROWDED // 2 and all(keeps_vectors(table, vector) for table in tables):
        grids = [by_vector(grid, vector) for grid in grids]
    return figure(grids)


def bank_colors(table: Matrix, element_bytes: int) -> list[list[str]]:
    return [[category(bank_group(offset, element_bytes)) for offset in row] for row in table]


def keeps_vectors(table: Matrix, vector: int) -> bool:
    """Whether every `vector` columns from the left hold consecutive offsets that begin at a multiple of `vector`."""
    if len(table[0]) % vector:
        return False
    pieces = [row[n : n + vector] for row in table for n in range(0, len(row), vector)]
    return all(piece[0] % vector == 0 and piece == tuple(range(piece[0], piece[0] + vector)) for piece in pieces)


def by_vector(grid: CellGrid, vector: int) -> CellGrid:
    """The grid with one cell for every `vector` columns."""
    return replace(
        grid,
        title=f"{grid.title}\neach cell: {vector} elements, 16 bytes",
        labels=[row[::vector] for row in grid.labels],
        colors=[row[::vector] for row in grid.colors],
        across=grid.across[::vector],
        column_breaks={n // vector: width for n, width in grid.column_breaks.items() if n % vector == 0},
        outlined=frozenset((row, column // vector) for row, column in grid.outlined),
    )
