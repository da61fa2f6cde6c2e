"""Explorers of kernels: who copies what, and when."""

from typing import Any

import ipywidgets

from tutorlib.banks import WARP
from tutorlib.draw.tiled import tiled_grid
from tutorlib.draw.timeline import timeline_grid
from tutorlib.notation import NotationError, text, tiler
from tutorlib.pipeline import Timeline
from tutorlib.threads import TiledView, tiled_view
from tutorlib.widgets import Click, Explorer, Scene, layout_box, small, text_box

TICKS = 96  # columns that a browser shows without scrolling


def explore_tv(threads: Any = "(2,4):(4,1)", values: Any = "(1,4):(4,1)", tile: Any = "(8,16)") -> Explorer:
    """The threads and values of a TiledCopy over a tile; click an element to see all that its thread holds."""
    boxes = [layout_box("threads", threads), layout_box("values", values), text_box("tile", tile_text(tile))]

    def compute(threads: str, values: str, tile: str, _: Click | None) -> TiledView:
        cut = tiler(tile)
        if not isinstance(cut, tuple):
            raise NotationError(f"The tile {tile.strip()} is no matrix; write it like (8,16).")
        small(tile)
        return tiled_view(small(threads), small(values), cut)

    return Explorer(boxes, compute, tiled_scene)


def tile_text(tile: Any) -> str:
    return tile if isinstance(tile, str) else text(tile)


def tiled_scene(view: TiledView, click: Click | None) -> Scene:
    if not click:
        return [tiled_grid(view)], f"One step of all threads covers {text(view.step)} elements. Click one."
    thread, value = view.holder(click[1])
    mine = view.cells(thread)
    said = (
        f"{text(click[1])} is value {value} of thread {thread}, in warp {thread // WARP}; it holds {len(mine)} values"
    )
    return [tiled_grid(view, mine)], said


def explore_timeline(
    stages: int = 2, latency: int = 4, transfer: int = 2, compute: int = 3, tiles: int = 8
) -> Explorer:
    """A software pipeline: how many buffers keep the arithmetic busy, for how slow a memory."""
    sliders = [
        ipywidgets.IntSlider(value, low, high, description=name, layout=ipywidgets.Layout(width="250px"))
        for name, value, low, high in (
            ("stages", stages, 1, 6),
            ("latency", latency, 0, 12),
            ("transfer", transfer, 1, 6),
            ("compute", compute, 1, 6),
        )
    ]

    def view(stages: int, latency: int, transfer: int, compute: int, _: Click | None) -> Timeline:
        return Timeline(stages, latency, transfer, compute, tiles)

    return Explorer(sliders, view, timeline_scene)


def timeline_scene(view: Timeline, _: Click | None) -> Scene:
    round_trip = view.latency + view.transfer + view.compute
    said = (
        f"one tile every max(compute {view.compute}, transfer {view.transfer}, "
        f"round of a buffer {round_trip} / {view.stages} stages) = {view.period:g} ticks"
    )
    return [timeline_grid(view, min(view.total, TICKS))], said
