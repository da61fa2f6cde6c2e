"""Pictures of thread-value layouts: the thread that holds each element of a tile."""

from collections.abc import Mapping
from typing import Any

from tensor_layouts import mode, size

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import category
from tutorlib.layouts.matrix import modes
from tutorlib.layouts.notation import Tree, layout, text


def show_tv(source: Any, tile_shape: Tree, title: str = "") -> Picture:
    """The tile with the thread and the value that hold each element, "T3 V1", colored by thread.

    source: a layout (thread, value) → flat index in the tile, whose first mode runs fastest.
    An element that no thread holds is hatched; if several hold it, the cell names the first and counts the others.
    Raises ValueError if the layout reaches past the tile.
    """
    return figure([tv_grid(source, tile_shape, title)])


def show_tvs(sources: Mapping[str, Any], tile_shape: Tree, axes: tuple[str, str] = ("", "")) -> Picture:
    """Layouts by their titles, side by side, as `show_tv` draws them. axes: names of the tile's modes."""
    return figure([tv_grid(source, tile_shape, title, axes) for title, source in sources.items()])


def tv_grid(source: Any, tile_shape: Tree, title: str = "", axes: tuple[str, str] = ("", "")) -> CellGrid:
    holds = layout(source)
    threads, values = size(mode(holds, 0)), size(mode(holds, 1))
    down, across = map(size, modes(tile_shape))
    holders: dict[int, list[tuple[int, int]]] = {}
    for value in range(values):
        for thread in range(threads):
            holders.setdefault(holds(thread, value), []).append((thread, value))
    if max(holders) >= down * across:
        raise ValueError(f"{text(holds)} reaches element {max(holders)}; a tile {text(tile_shape)} ends before")

    def label(index: int) -> str:
        if index not in holders:
            return ""
        thread, value = holders[index][0]
        more = f"\n+{len(holders[index]) - 1}" if len(holders[index]) > 1 else ""
        return f"T{thread}\nV{value}{more}"

    cells = [[row + column * down for column in range(across)] for row in range(down)]
    return CellGrid(
        title or f"{text(holds)}: {threads} threads × {values} values",
        [[label(index) for index in row] for row in cells],
        [[category(holders[index][0][0]) if index in holders else None for index in row] for row in cells],
        down=[f"{axes[0]} {row}".strip() for row in range(down)] if down > 1 else (),
        across=[f"{axes[1]} {column}".strip() for column in range(across)],
    )
