"""Every explorer, a click on a cell as the browser says it, and how often an explorer does its work."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tutorlib.explorers.explorer import Explorer
from tutorlib.explorers.layouts import (
    explore_compose,
    explore_divide,
    explore_layout,
    explore_swizzle,
    explore_tile_space,
    explore_tv,
)
from tutorlib.explorers.pipelines import explore_block_order, explore_mbarriers, explore_timeline

WIDE = "(32,32):(32,1)"
EXPLORERS = {
    "layout": lambda: explore_layout(WIDE),
    "compose": lambda: explore_compose(WIDE, WIDE),
    "divide": lambda: explore_divide(WIDE, "(4,8)"),
    "swizzle": lambda: explore_swizzle(WIDE),
    "tv": lambda: explore_tv("(4,8):(8,1)", "(1,4):(4,1)", "(32,32)"),
    "tile space": lambda: explore_tile_space((32, 32), (4, 8)),
    "block order": lambda: explore_block_order(32, 32),
    "timeline": explore_timeline,
    "mbarriers": explore_mbarriers,
}


def click(explorer: Explorer, grid: int, row: int, column: int) -> None:
    explorer.clicked(explorer.grids, {"grid": grid, "row": row, "column": column}, [])


@contextmanager
def counted(explorer: Explorer) -> Iterator[Counter[str]]:
    """While open, counts how often the explorer computes and how often it shows, and the cells that it sends."""
    counts: Counter[str] = Counter()
    compute, show = explorer.compute, explorer.show

    def computing(*args):
        counts["compute"] += 1
        return compute(*args)

    def showing(*args):
        counts["show"] += 1
        grids, said = show(*args)
        counts["cells"] += sum(grid.rows * grid.columns for grid in grids)
        return grids, said

    explorer.compute, explorer.show = computing, showing
    yield counts
    explorer.compute, explorer.show = compute, show
