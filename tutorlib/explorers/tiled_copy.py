"""The explorer of a TiledCopy: the thread that copies each element."""

from typing import Any

from tutorlib.draw.grid import CellGrid
from tutorlib.draw.palette import category
from tutorlib.explorers.explorer import Click, Explorer, Scene, layout_box, small, text_box
from tutorlib.layouts.notation import NotationError, text, tiler
from tutorlib.layouts.tiled_copy import TiledCopyView, tiled_copy_view
from tutorlib.models.banks import WARP


def explore_tv(threads: Any = "(2,4):(4,1)", values: Any = "(1,4):(4,1)", tile: Any = "(8,16)") -> Explorer:
    """The threads and values of a TiledCopy over a tile; click an element to see all elements of its thread."""
    boxes = [layout_box("threads", threads), layout_box("values", values), text_box("tile", tile_text(tile))]

    def compute(threads: str, values: str, tile: str, _: Click | None) -> TiledCopyView:
        cut = tiler(tile)
        if not isinstance(cut, tuple):
            raise NotationError(f"The tile {tile.strip()} is no matrix; write it as (8,16).")
        small(tile)
        return tiled_copy_view(small(threads), small(values), cut)

    return Explorer(boxes, compute, tiled_scene)


def tile_text(tile: Any) -> str:
    return tile if isinstance(tile, str) else text(tile)


def tiled_scene(view: TiledCopyView, click: Click | None) -> Scene:
    if not click:
        return [tiled_grid(view)], f"One step of all threads covers {text(view.step)} elements. Click one."
    thread, value = view.holder(click[1])
    mine = view.cells(thread)
    caption = (
        f"{text(click[1])} is value {value} of thread {thread}, in warp {thread // WARP}; it holds {len(mine)} values"
    )
    return [tiled_grid(view, mine)], caption


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
