"""Pictures of the order in which blocks compute the tiles of C, and of the tiles that a wave reads."""

from collections.abc import Mapping

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, category
from tutorlib.models.l2 import Order, TileGrid, coverage, waves

WIDEST = 72  # cells in a row of the figure; with more, the grids are stacked
READ = "#8FD3C1"  # a row of A's tiles or a column of B's that the wave reads


def show_block_order(grid: TileGrid, orders: Mapping[str, Order], in_flight: int) -> Picture:
    """The tiles of C under their titles, each with the number of its block, colored by wave of `in_flight` blocks.

    On the left and on top, green: the rows of A's tiles and the columns of B's that the first wave reads. Hatched is a
    tile that no block computes; a tile that several compute has all of their numbers and a red outline.
    """
    grids = [order_grid(grid, order, in_flight, title) for title, order in orders.items()]
    return figure(grids, stacked=sum(one.columns for one in grids) > WIDEST)


def order_grid(grid: TileGrid, order: Order, in_flight: int, title: str, wave: int = 0) -> CellGrid:
    """One order as a grid of (1 + rows) × (1 + columns): B on top, A on the left, C below and right of them."""
    rows, columns = grid
    takers = coverage(grid, order)
    running = waves(grid, order, in_flight)[wave]
    read_a, read_b = {m for m, _ in running}, {n for _, n in running}
    labels = [["", *("B" if n in read_b else "" for n in range(columns))]]
    colors: list[list[str | None]] = [[EMPTY, *(READ if n in read_b else EMPTY for n in range(columns))]]
    for m in range(rows):
        mine = [takers[m, n] for n in range(columns)]
        labels.append(["A" if m in read_a else "", *("\n".join(map(str, blocks)) for blocks in mine)])
        colors.append(
            [READ if m in read_a else EMPTY, *(category(blocks[0] // in_flight) if blocks else None for blocks in mine)]
        )
    twice = frozenset((m + 1, n + 1) for (m, n), blocks in takers.items() if len(blocks) > 1)
    reads = f"reads {len(read_a)} rows of A and {len(read_b)} columns of B"
    return CellGrid(
        f"{title}: wave {wave}, {len(running)} blocks,\n{reads}",
        labels,
        colors,
        ("", *map(str, range(rows))),
        ("", *map(str, range(columns))),
        {1: 2.0},
        {1: 2.0},
        twice,
    )
