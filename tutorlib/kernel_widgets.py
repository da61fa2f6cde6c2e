"""Explorers of kernels: who copies what, and when; which block computes which tile."""

from dataclasses import dataclass
from typing import Any

import ipywidgets

from tutorlib.banks import WARP
from tutorlib.draw.blocks import order_grid
from tutorlib.draw.tiled import tiled_grid
from tutorlib.draw.timeline import timeline_grid
from tutorlib.l2 import ORDERS, Order, Traffic, coverage, traffic, waves
from tutorlib.l2 import Grid as Tiles
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
        wide_slider("stages", stages, 1, 6),
        wide_slider("latency", latency, 0, 12),
        wide_slider("transfer", transfer, 1, 6),
        wide_slider("compute", compute, 1, 6),
    ]

    def view(stages: int, latency: int, transfer: int, compute: int, _: Click | None) -> Timeline:
        return Timeline(stages, latency, transfer, compute, tiles)

    return Explorer(sliders, view, timeline_scene)


def wide_slider(name: str, value: int, low: int, high: int) -> ipywidgets.IntSlider:
    return ipywidgets.IntSlider(value, low, high, description=name, layout=ipywidgets.Layout(width="250px"))


def timeline_scene(view: Timeline, _: Click | None) -> Scene:
    round_trip = view.latency + view.transfer + view.compute
    said = (
        f"one tile every max(compute {view.compute}, transfer {view.transfer}, "
        f"round of a buffer {round_trip} / {view.stages} stages) = {view.period:g} ticks"
    )
    return [timeline_grid(view, min(view.total, TICKS))], said


BLOCK = (128, 128, 64)  # the tile of a block, in bf16


@dataclass(frozen=True)
class BlocksView:
    """An order of blocks, and what it makes of L2."""

    grid: Tiles
    name: str
    in_flight: int
    traffic: Traffic

    @property
    def order(self) -> Order:
        return ORDERS[self.name]


def explore_block_order(
    rows: int = 16, columns: int = 16, order: str = "groups of 8", in_flight: int = 32, l2_mb: int = 8, k: int = 4096
) -> Explorer:
    """The order of the blocks of a bf16 GEMM over K = k in tiles of 128×128×64; click a tile to see its wave.

    order: "raster" or "groups of 2", 4, 8, 16. in_flight: SMs × blocks on each. What the sliders mean: `l2.traffic`.
    """
    boxes = [
        wide_slider("rows", rows, 1, 32),
        wide_slider("columns", columns, 1, 32),
        ipywidgets.Dropdown(options=list(ORDERS), value=order, description="order"),
        wide_slider("in flight", in_flight, 8, 320),
        wide_slider("L2, MB", l2_mb, 1, 64),
        ipywidgets.FloatSlider(
            0,
            min=0,
            max=0.5,
            step=0.125,
            readout_format=".3f",
            description="drift",
            layout=ipywidgets.Layout(width="250px"),
        ),
    ]

    def compute(
        rows: int, columns: int, name: str, in_flight: int, l2_mb: int, drift: float, _: Click | None
    ) -> BlocksView:
        m, n, depth = BLOCK
        tile_bytes = 2 * m * depth, 2 * n * depth
        seen = traffic((rows, columns), ORDERS[name], -(-k // depth), tile_bytes, in_flight, l2_mb * 2**20, drift)
        return BlocksView((rows, columns), name, in_flight, seen)

    return Explorer(boxes, compute, blocks_scene)


def blocks_scene(view: BlocksView, click: Click | None) -> Scene:
    said = (
        f"all waves: {view.traffic.hit_rate:.1%} of the loads hit L2; memory sends {view.traffic.fetched / 2**20:,.0f} "
        f"MB, and A and B are {view.traffic.least / 2**20:,.0f} MB"
    )
    tile = (click[1][0] - 1, click[1][1] - 1) if click else (-1, -1)
    taker = coverage(view.grid, view.order).get(tile)
    if not taker:  # no click, or one on A, on B or on a tile that is gone
        return [order_grid(view.grid, view.order, view.in_flight, view.name)], f"{said}\nClick a tile to see its wave."
    wave = taker[0] // view.in_flight
    running = waves(view.grid, view.order, view.in_flight)[wave]
    row, column = sum(m == tile[0] for m, _ in running), sum(n == tile[1] for _, n in running)
    here = f"block {taker[0]}: {row} of its wave read the same row of A, {column} the same column of B"
    return [order_grid(view.grid, view.order, view.in_flight, view.name, wave)], f"{said}\n{here}"
