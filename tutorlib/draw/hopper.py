"""Pictures of a Hopper SM at work: the path of a K tile, an mbarrier's state, and the accumulators of a wgmma."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from tutorlib.draw.grid import DPI, WIDTH, CellGrid, Picture, figure
from tutorlib.draw.palette import CATEGORIES, EMPTY, INK, RAMP, category
from tutorlib.models.mbarrier import KIB, Mbarrier, fresh

HEIGHT = 470
BLUE, YELLOW, ORANGE, PALE, GREEN = (category(number) for number in (0, 1, 2, 3, 4))


def canvas(height: int) -> tuple[Picture, Axes]:
    """An empty picture, and axes over all of it that count its pixels from the top left."""
    picture = Picture(figsize=(WIDTH / DPI, height / DPI), dpi=DPI, facecolor="white")
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.set_axis_off()
    return picture, axes


def show_sm(stages: int = 4) -> Picture:
    """A block's SM while a GEMM's main loop runs: the numbers follow a K tile from step to step."""
    picture, axes = canvas(HEIGHT)
    box(axes, (10, 85, 130, 375), "global memory", EMPTY)
    for number, (name, color) in enumerate((("A", BLUE), ("B", PALE), ("C", GREEN))):
        box(axes, (30, 115 + 115 * number, 90, 80), name, color, middle=True)
    box(axes, (200, 10, 782, 450), "one SM, one block of 256 threads", EMPTY)
    box(axes, (220, 130, 110, 190), "TMA unit\n\ncomputes\naddresses,\nmoves boxes,\ncounts bytes", ORANGE, middle=True)
    box(axes, (420, 85, 250, 250), "shared memory: a ring of stages", EMPTY)
    for stage in range(stages):
        y = 112 + 55 * stage
        box(axes, (432, y, 70, 46), "A", BLUE, middle=True)
        box(axes, (506, y, 92, 46), "B", PALE, middle=True)
        box(axes, (604, y, 54, 21), "full", YELLOW, middle=True)
        box(axes, (604, y + 25, 54, 21), "empty", YELLOW, middle=True)
    for group in range(2):
        says = f"warpgroup {group}\n4 warps\n64 × 256\naccumulators\nin registers"
        box(axes, (768 + 98 * group, 85, 94, 105), says, category(7), middle=True)
    box(axes, (768, 240, 192, 95), "tensor cores", category(5), middle=True)
    box(axes, (420, 385, 250, 55), "the tile of C, in boxes of 16 × 64\n(where the stages were)", GREEN, middle=True)

    arrow(
        axes,
        [(815, 85), (815, 55), (275, 55), (275, 130)],
        (545, 51),
        "1  warp 0: arrive with expect-tx, issue the loads of a K tile",
    )
    arrow(axes, [(140, 225), (220, 225)], (170, 221), "2  boxes")
    arrow(axes, [(330, 225), (420, 225)], (375, 221), "3  tiles,\ncounted\non full")
    arrow(axes, [(670, 137), (768, 137)], (719, 133), "4  wait: full\n6  arrive:\nempty", both=True)
    arrow(axes, [(670, 290), (768, 290)], (719, 286), "5  operands,\nno registers")
    arrow(axes, [(864, 190), (864, 240)], (884, 222), "acc", both=True)
    arrow(axes, [(962, 130), (973, 130), (973, 412), (670, 412)], (820, 408), "7  stmatrix")
    arrow(axes, [(420, 412), (140, 412)], (310, 408), "8  TMA store")
    return picture


def box(axes: Axes, place: tuple[int, int, int, int], says: str, color: str, middle: bool = False) -> None:
    """A rounded box at (x, y, width, height) in pixels, its text at the top or in the middle."""
    x, y, width, height = place
    look: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=5", "facecolor": color, "edgecolor": INK}
    axes.add_patch(FancyBboxPatch((x, y), width, height, linewidth=1.0, **look))
    axes.text(
        x + width / 2,
        y + (height / 2 if middle else 6),
        says,
        ha="center",
        va="center" if middle else "top",
        size=8,
        color=INK,
        linespacing=1.2,
    )


def arrow(axes: Axes, points: Sequence[tuple[int, int]], words: tuple[int, int], says: str, both: bool = False) -> None:
    """An arrow through these points; its text ends above (x, y) `words`."""
    for start, end in pairwise(points[:-1]):
        axes.plot(*zip(start, end, strict=True), color=INK, linewidth=1.3, solid_capstyle="projecting")
    style: dict[str, Any] = {"arrowstyle": "<|-|>" if both else "-|>", "mutation_scale": 10, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(points[-2], points[-1], color=INK, linewidth=1.3, **style))
    axes.text(*words, says, ha="center", va="bottom", size=8, color=INK, linespacing=1.15)


def show_wgmma(columns: int = 64) -> Picture:
    """A warpgroup's 64 × `columns` accumulators, the first of N, by thread: in 8 × 8 blocks, and one of these."""
    pieces = columns // 8
    whole = CellGrid(
        f"64 × {columns} in blocks of 8 × 8: warp, registers",
        [[registers(row, n) for n in range(pieces)] for row in range(8)],
        [[category(row // 2)] * pieces for row in range(8)],
        [f"{8 * row}" for row in range(8)],
        [f"{8 * n}" for n in range(pieces)],
        {row: 2.0 for row in (2, 4, 6)},
    )
    one = CellGrid(
        "one block: lane of the warp, which of its two registers",
        [[f"T{4 * row + column // 2}\n{column % 2}" for column in range(8)] for row in range(8)],
        [[category(4 * row + column // 2) for column in range(8)] for row in range(8)],
        [str(row) for row in range(8)],
        [str(column) for column in range(8)],
    )
    return figure([whole, one])


def registers(row: int, column: int) -> str:
    """The warp and the two registers that hold the 8 × 8 block at this row and column of blocks."""
    first = 4 * column + 2 * (row % 2)
    return f"W{row // 2}\nR{first},{first + 1}"


def show_mbarrier(count: int, events: Sequence[tuple[str, int]]) -> Picture:
    """A column after initialization and after each event; bytes in KiB. Colored: a wait that returns.

    count: arrivals that a phase takes. events: ("arrive", bytes that it announces) or ("bytes", bytes written), in
    order. Raises ValueError for an event of another name, and for an arrival too many.
    """
    barrier, names = fresh(count), ["init"]
    columns = [state(barrier)]
    for name, size in events:
        if name not in ("arrive", "bytes"):
            raise ValueError(f'an event is ("arrive", bytes) or ("bytes", bytes), not {(name, size)!r}')
        barrier = barrier.arrive(size) if name == "arrive" else barrier.deliver(size)
        columns.append(state(barrier))
        names.append("arrive" if name == "arrive" else f"{size // KIB}K in")
    rows = ["arrivals pending", "KiB pending", "phase", "wait(0)", "wait(1)"]
    labels = [list(row) for row in zip(*columns, strict=True)]
    colors: list[list[str | None]] = [
        [RAMP[0] if number < 2 and label != "0" else CATEGORIES[6] if label == "go" else EMPTY for label in row]
        for number, row in enumerate(labels)
    ]
    flips = {n: 2.5 for n in range(1, len(columns)) if columns[n][2] != columns[n - 1][2]}
    title = "an mbarrier after each event; the thick line is the end of a phase"
    return figure([CellGrid(title, labels, colors, rows, names, {3: 2.0}, flips)], largest=64)


def state(barrier: Mbarrier) -> list[str]:
    waits = ["go" if barrier.lets_pass(parity) else "wait" for parity in (0, 1)]
    return [str(barrier.missing), f"{barrier.pending / KIB:g}", str(barrier.phase), *waits]
