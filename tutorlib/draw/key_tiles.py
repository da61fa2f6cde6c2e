"""A picture of causal attention's scores in tiles: whole, masked in part, and skipped."""

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, category


def show_key_tiles(queries: int, keys: int, tm: int, tn: int) -> Picture:
    """The tiles (tm, tn) of a head's scores: blocks of queries down, tiles of keys across. Query i sees keys 0 … i."""
    return figure([key_grid(queries, keys, tm, tn)])


def key_grid(queries: int, keys: int, tm: int, tn: int) -> CellGrid:
    rows, columns = -(-queries // tm), -(-keys // tn)

    def kind(m: int, n: int) -> str:
        if n * tn >= min((m + 1) * tm, keys):
            return ""
        return "whole" if (n + 1) * tn <= min(m * tm + 1, keys) else "mask"

    kinds = [[kind(m, n) for n in range(columns)] for m in range(rows)]
    colors = {"whole": category(0), "mask": category(1), "": EMPTY}
    return CellGrid(
        f"{queries} queries in tiles of {tm}, {keys} keys in tiles of {tn}",
        kinds,
        [[colors[one] for one in row] for row in kinds],
        down=[str(m) for m in range(rows)],
        across=[str(n) for n in range(columns)],
    )
