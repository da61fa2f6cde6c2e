"""Pictures of a TiledMma: the part of a tile of C that each warp holds, and the columns that are adjacent in a lane."""

from itertools import product
from typing import Any, Literal

from tensor_layouts import mode, size

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import category
from tutorlib.layouts.notation import layout

WARP, PIECE = 32, 8  # threads; rows and columns of a piece, two of which make an mma.m16n8k16

Digit = Literal["value", "lane", "warp", "atom"]


def show_warps(source: Any, covers: tuple[int, int], tile: tuple[int, int]) -> Picture:
    """Pieces of 8×8 with the warp that holds them: the extent of a TiledMma once, beside a whole tile.

    source: a layout (thread, value) → column-major index in `covers`. The left grid also names a thread's values.
    """
    holds = layout(source)
    owner = {
        holds(thread, value): (thread // WARP, value)
        for thread in range(size(mode(holds, 0)))
        for value in range(size(mode(holds, 1)))
    }

    def piece(row: int, column: int) -> tuple[int, list[int]]:
        """The warp that holds the piece at this row and column, and its values in a thread."""
        inside = [
            owner[row % covers[0] + down + covers[0] * (column % covers[1] + across)]
            for down, across in product(range(PIECE), repeat=2)
        ]
        return inside[0][0], sorted({value for _, value in inside})

    def grid(title: str, shape: tuple[int, int], values: bool) -> CellGrid:
        down, across = (range(0, extent, PIECE) for extent in shape)
        found = [[piece(row, column) for column in across] for row in down]
        return CellGrid(
            title,
            [[f"warp {warp}\nV{held[0]}-{held[-1]}" if values else f"{warp}" for warp, held in row] for row in found],
            [[category(warp) for warp, _ in row] for row in found],
            [str(row) for row in down],
            [str(column) for column in across],
            {} if values else {row: 2.0 for row in range(covers[0] // PIECE, len(down), covers[0] // PIECE)},
            {} if values else {column: 2.0 for column in range(covers[1] // PIECE, len(across), covers[1] // PIECE)},
        )

    once = grid(f"once: {covers[0]}×{covers[1]}", covers, True)
    return figure([once, grid(f"{tile[0]}×{tile[1]} of C, pieces of 8×8", tile, False)], stacked=False)


def show_columns(*orders: tuple[Digit, ...], warps: tuple[int, int] = (2, 2)) -> Picture:
    """A row of C, two columns to a cell, with the lane (T0 to T3) and the atom (a0 to a3) that hold them.

    orders: modes of the row, fastest first: ("value", "lane", "warp", "atom") as the MMA counts columns.
    warps: down and across, numbered down first.
    """
    extents = {"value": 2, "lane": 4, "warp": warps[1], "atom": 4}

    def grid(order: tuple[Digit, ...]) -> CellGrid:
        cells = []
        for column in range(0, 2 * 4 * warps[1] * 4, 2):
            digit, rest = {}, column
            for name in order:
                rest, digit[name] = divmod(rest, extents[name])
            cells.append(digit)
        return CellGrid(
            "columns by " + ", ".join(order) + ": a cell is two columns of one row",
            [[f"T{cell['lane'] + WARP * warps[0] * cell['warp']}\na{cell['atom']}" for cell in cells]],
            [[category(cell["lane"] + 4 * cell["warp"]) for cell in cells]],
            across=[str(2 * n) for n in range(len(cells))],
            column_breaks={n: 2.0 for n in range(8, len(cells), 8)},
        )

    return figure([grid(order) for order in orders], stacked=True)
