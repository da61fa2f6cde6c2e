"""The explorer of tile space: the elements of a tile, and those past the edge of the array."""

from typing import NamedTuple

import ipywidgets

from tutorlib.draw.tile_space import Size, array_grid, space_grid, tiles_of
from tutorlib.explorers.explorer import Click, Explorer, Scene

LARGEST = 40  # rows and columns that a browser shows without scrolling
POWERS = (1, 2, 4, 8, 16)


class Cut(NamedTuple):
    """An array cut into tiles."""

    array: Size
    tile: Size


def explore_tile_space(array: Size = (10, 20), tile: Size = (4, 8)) -> Explorer:
    """An array of any size in tiles of powers of two; click an element to see its tile, a tile to see its elements."""
    boxes = [
        *(size_slider(name, n) for name, n in zip(("rows", "columns"), array, strict=True)),
        *(power_menu(name, n) for name, n in zip(("tile rows", "tile columns"), tile, strict=True)),
    ]

    def compute(rows: int, columns: int, tm: int, tn: int, _: Click | None) -> Cut:
        return Cut((rows, columns), (tm, tn))

    return Explorer(boxes, compute, scene)


def size_slider(name: str, value: int) -> ipywidgets.IntSlider:
    return ipywidgets.IntSlider(value, 1, LARGEST, description=name)


def power_menu(name: str, value: int) -> ipywidgets.Dropdown:
    return ipywidgets.Dropdown(options=POWERS, value=value, description=name)


def scene(cut: Cut, click: Click | None) -> Scene:
    (tm, tn), (grid, (row, column)) = cut.tile, click or (0, (-1, -1))
    i, j = (row, column) if grid else (row // tm, column // tn)
    down, across = tiles_of(*cut)
    if not (0 <= i < down and 0 <= j < across):  # no click, or one on a tile that no longer exists
        return [array_grid(*cut), space_grid(*cut)], "Click an element of the array, or a tile."
    inside = frozenset((i * tm + r, j * tn + c) for r in range(tm) for c in range(tn))
    shown = [array_grid(*cut, inside), space_grid(*cut, frozenset({(i, j)}))]
    held = sum(r < cut.array[0] and c < cut.array[1] for r, c in inside)
    caption = f"ct.load(x, ({i}, {j}), ({tm}, {tn})): {held} of its {tm * tn} elements exist"
    if grid == 0:
        place = f"element ({row}, {column}) is ({row % tm}, {column % tn}) of tile ({i}, {j})"
        if row >= cut.array[0] or column >= cut.array[1]:
            place = f"({row}, {column}) is outside: a load pads it, a store drops it"
        caption = f"{place}\n{caption}"
    return shown, caption
