"""The picture of a TiledCopy: the thread that holds each element of a tile."""

from tutorlib.draw.grid import CellGrid
from tutorlib.draw.palette import category
from tutorlib.layouts.notation import text
from tutorlib.layouts.tiled_copy import TiledCopyView


def tiled_grid(view: TiledCopyView, outlined: frozenset[tuple[int, int]] = frozenset()) -> CellGrid:
    """The tile, each cell with its thread and value, "T3 V1", colored by thread; thick lines between steps."""
    rows, columns = view.tile
    held = [[view.holder((row, column)) for column in range(columns)] for row in range(rows)]
    return CellGrid(
        f"threads {text(view.threads)}, values {text(view.values)}: (thread, value) → {text(view.layout)}",
        [[f"T{thread}\nV{value}" for thread, value in row] for row in held],
        [[category(thread) for thread, _ in row] for row in held],
        tuple(map(str, range(rows))),
        tuple(map(str, range(columns))),
        {row: 2.0 for row in range(view.step[0], rows, view.step[0])},
        {column: 2.0 for column in range(view.step[1], columns, view.step[1])},
        outlined,
    )
