"""Explorers of what happens over time: mbarriers, a pipeline's timeline, the order of blocks."""

from dataclasses import dataclass

import ipywidgets

from tutorlib.draw.grid import CellGrid
from tutorlib.draw.palette import EMPTY, category
from tutorlib.draw.tiles import order_grid
from tutorlib.draw.timelines import timeline_grid
from tutorlib.explorers.explorer import Click, Explorer, Scene, wide_slider
from tutorlib.models.l2 import ORDERS, Order, TileGrid, Traffic, coverage, traffic, waves
from tutorlib.models.mbarrier import FAULTS, KIB, LOOPS, OPERANDS, RingModel, Side
from tutorlib.models.timelines import Timeline
from tutorlib.problems.differences import count

ACTORS: tuple[Side | None, ...] = ("producer", None, "consumer")  # None: TMA
BUSY = "#F1F3F5"
TICKS = 96  # columns that a browser shows without scrolling
COLUMNS = ("A", "B", "phase", "arrive", "KiB", "phase", "arrive")  # contents, state of full, state of empty


def explore_mbarriers(stages: int = 2, fault: str = FAULTS[0]) -> Explorer:
    """A ring of stages: click a row to execute the next instruction of its side, or a transfer to complete it.

    TMA transfers complete in any order. fault: the error to inject, one of FAULTS.
    """
    boxes = [
        wide_slider("stages", stages, 1, 4),
        ipywidgets.Dropdown(options=FAULTS, value=fault, description="break", layout={"width": "370px"}),
    ]
    rings: list[RingModel] = []  # the current one

    def compute(stages: int, fault: str, click: Click | None) -> RingModel:
        if [(ring.stages, ring.fault) for ring in rings] != [(stages, fault)]:
            rings[:] = [RingModel(stages, fault)]
        elif click is not None:
            play(rings[0], click)
        return rings[0]

    return Explorer(boxes, compute, ring_scene)


def play(ring: RingModel, click: Click) -> None:
    """Execute a click; clicks on the stages do nothing."""
    grid, (row, column) = click
    if grid != 0:
        return
    side = ACTORS[row]
    if side is not None:
        ring.step(side)
    elif column < len(ring.in_flight):
        ring.arrive(column)


def ring_scene(ring: RingModel, _: Click | None) -> Scene:
    caption = [ring.said or "Click the producer's row to execute its first instruction, then continue in any order."]
    for side in LOOPS:
        here = ring.place(side)
        caption.append(f"{side}: index {here.index}, phase {here.phase}, count {here.count}")
    caption.append(f"{count(ring.multiplied, 'tile')} multiplied" + (f". WRONG: {ring.wrong}" if ring.wrong else ""))
    return [instructions_grid(ring), stages_grid(ring)], "\n".join(caption)


def instructions_grid(ring: RingModel) -> CellGrid:
    """The loops of the two sides, and the transfers in flight between them; the next instruction is outlined."""
    width = max(max(map(len, LOOPS.values())), len(ring.in_flight))
    labels, colors, outlined = [], [], set()
    for row, side in enumerate(ACTORS):
        if side is None:
            names = [f"{transfer.operand} {transfer.tile}" for transfer in ring.in_flight]
            tints: list[str | None] = [category(transfer.tile) for transfer in ring.in_flight]
        else:
            here, names = ring.place(side), list(ring.loop(side))
            tints = [category(here.count) if n == here.instruction else BUSY for n in range(len(names))]
            outlined.add((row, here.instruction))
        rest = width - len(names)
        labels.append(names + [""] * rest)
        colors.append(tints + [EMPTY] * rest)
    title = "click a row: its next instruction" + (" (both wait forever)" if ring.stuck else "")
    return CellGrid(title, labels, colors, ["loads", "TMA", "math"], outlined=frozenset(outlined))


def stages_grid(ring: RingModel) -> CellGrid:
    """A row for each stage: its tiles, and the phase and pending counts of its two mbarriers."""
    labels, colors = [], []
    for stage in range(ring.stages):
        tiles_here, full, empty = ring.holds[stage], ring.full[stage], ring.empty[stage]
        tiles = [tiles_here.get(operand) for operand in OPERANDS]
        numbers = (full.phase % 2, full.missing, full.pending // KIB, empty.phase % 2, empty.missing)
        labels.append(["" if tile is None else str(tile) for tile in tiles] + [str(number) for number in numbers])
        colors.append([None if tile is None else category(tile) for tile in tiles] + [EMPTY] * len(numbers))
    read = frozenset() if ring.reading is None else frozenset({(ring.reading, 0), (ring.reading, 1)})
    down = [f"[{stage}]" for stage in range(ring.stages)]
    breaks = {2: 2.0, 5: 2.0}
    return CellGrid(
        "stages: tiles · full: phase, pending arrivals and KiB · empty: phase, pending arrivals",
        labels,
        colors,
        down,
        COLUMNS,
        {},
        breaks,
        read,
    )


def explore_timeline(
    stages: int = 2, latency: int = 4, transfer: int = 2, compute: int = 3, tiles: int = 8
) -> Explorer:
    """A software pipeline: the number of buffers that keeps the arithmetic busy at a given memory latency."""
    sliders = [
        wide_slider("stages", stages, 1, 6),
        wide_slider("latency", latency, 0, 12),
        wide_slider("transfer", transfer, 1, 6),
        wide_slider("compute", compute, 1, 6),
    ]

    def view(stages: int, latency: int, transfer: int, compute: int, _: Click | None) -> Timeline:
        return Timeline(stages, latency, transfer, compute, tiles)

    return Explorer(sliders, view, timeline_scene)


def timeline_scene(view: Timeline, _: Click | None) -> Scene:
    round_trip = view.latency + view.transfer + view.compute
    caption = (
        f"one tile every max(compute {view.compute}, transfer {view.transfer}, "
        f"round trip of a buffer {round_trip} / {view.stages} stages) = {view.period:.3g} ticks"
    )
    return [timeline_grid(view, min(view.total, TICKS))], caption


# The order of blocks --------------------------------------------------------------------------------------------------

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
