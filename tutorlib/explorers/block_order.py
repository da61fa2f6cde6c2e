"""The explorer of block orders: the block of each tile, and the L2 traffic of the order."""

from dataclasses import dataclass

import ipywidgets

from tutorlib.draw.blocks import order_grid
from tutorlib.explorers.explorer import Click, Explorer, Scene, wide_slider
from tutorlib.models.l2 import ORDERS, Order, TileGrid, Traffic, coverage, traffic, waves

BLOCK = (128, 128, 64)  # the tile of a block, in bf16


@dataclass(frozen=True)
class BlocksView:
    """An order of blocks, and its L2 traffic."""

    grid: TileGrid
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

    order: "raster" or "groups of 2", 4, 8, 16. in_flight: SMs × blocks per SM. The sliders: see `l2.traffic`.
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
    caption = (
        f"all waves: {view.traffic.hit_rate:.1%} of the loads hit L2; read from memory: "
        f"{view.traffic.fetched / 2**20:,.0f} MB; A and B together: {view.traffic.least / 2**20:,.0f} MB"
    )
    tile = (click[1][0] - 1, click[1][1] - 1) if click else (-1, -1)
    taker = coverage(view.grid, view.order).get(tile)
    if not taker:  # no click, or one on A, on B or on a tile that is gone
        grid = order_grid(view.grid, view.order, view.in_flight, view.name)
        return [grid], f"{caption}\nClick a tile to see its wave."
    wave = taker[0] // view.in_flight
    running = waves(view.grid, view.order, view.in_flight)[wave]
    row, column = sum(m == tile[0] for m, _ in running), sum(n == tile[1] for _, n in running)
    here = f"block {taker[0]}: {row} of its wave read the same row of A, {column} the same column of B"
    return [order_grid(view.grid, view.order, view.in_flight, view.name, wave)], f"{caption}\n{here}"
