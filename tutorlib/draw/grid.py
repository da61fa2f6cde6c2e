"""The one kind of picture: labelled cells in a grid, several grids beside each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from tutorlib.palette import EMPTY, FAINT, INK, MARK, channels

WIDTH = 9.0  # inches of the widest figure: JupyterLab's text column
CELL = 0.46  # inches of a comfortable cell
SMALLEST = 4.6  # points; smaller labels are left out
GAP, MARGIN, NAMES, TITLE = 0.35, 0.08, 0.34, 0.34  # inches: between grids, around, coordinates, a line of title


class Picture(Figure):
    """A figure that a notebook shows once, as the cell's value, whether or not pyplot is there."""

    def _repr_png_(self) -> bytes:
        """The picture as a PNG of 160 colours, which is a quarter of the size and looks the same."""
        drawn = BytesIO()
        self.savefig(drawn, format="png", dpi=self.dpi)
        small = BytesIO()
        Image.open(drawn).convert("RGB").quantize(160, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
        return small.getvalue()


@dataclass(frozen=True)
class Grid:
    """What one grid shows. Every table is a sequence of rows.

    labels: text of each cell. colours: "#RRGGBB" of each cell; None is a hatched hole.
    down, across: names of the rows and columns; empty for none.
    row_breaks, column_breaks: {position: width in points} of the thick lines between blocks.
    outlined: (row, column) of the cells that the picture points at.
    """

    title: str
    labels: Sequence[Sequence[str]]
    colours: Sequence[Sequence[str | None]]
    down: Sequence[str] = ()
    across: Sequence[str] = ()
    row_breaks: Mapping[int, float] = field(default_factory=dict)
    column_breaks: Mapping[int, float] = field(default_factory=dict)
    outlined: frozenset[tuple[int, int]] = frozenset()

    @property
    def rows(self) -> int:
        return len(self.labels)

    @property
    def columns(self) -> int:
        return len(self.labels[0])


def figure(grids: Sequence[Grid], title: str = "", stacked: bool = False) -> Picture:
    """The grids side by side, or one below the other, with square cells of one size."""
    names = [(NAMES if grid.down else 0, NAMES if grid.across else 0) for grid in grids]
    if stacked:
        across, wide = max(grid.columns for grid in grids), max(left for left, _ in names)
    else:
        across, wide = sum(grid.columns for grid in grids), sum(left + GAP for left, _ in names) - GAP
    cell = min(CELL, (WIDTH - 2 * MARGIN - wide) / across)
    sizes = [
        (max(left + grid.columns * cell, title_width(grid.title)), TITLE * lines(grid.title) + top + grid.rows * cell)
        for grid, (left, top) in zip(grids, names, strict=True)
    ]
    pile, along = (max, add_gaps) if stacked else (add_gaps, max)
    width = pile(w for w, _ in sizes) + 2 * MARGIN
    head = TITLE if title else 0
    height = along(h for _, h in sizes) + 2 * MARGIN + head
    picture = Picture(figsize=(width, height), dpi=110, facecolor="white")
    x, y = MARGIN, height - MARGIN - head
    for grid, (left, top), (w, h) in zip(grids, names, sizes, strict=True):
        above = TITLE * lines(grid.title) + top
        box = (x + left, y - above - grid.rows * cell, grid.columns * cell, grid.rows * cell)
        axes = picture.add_axes((box[0] / width, box[1] / height, box[2] / width, box[3] / height))
        paint(axes, grid)
        if stacked:
            y -= h + GAP
        else:
            x += w + GAP
    if title:
        picture.text(MARGIN / width, 1 - MARGIN / height, title, va="top", size=11, color=INK, weight="bold")
    return picture


def add_gaps(sizes) -> float:
    sizes = list(sizes)
    return sum(sizes) + GAP * (len(sizes) - 1)


def lines(title: str) -> int:
    return title.count("\n") + 1 if title else 0


def title_width(title: str) -> float:
    """Inches that a title of 10 points takes, a little more rather than less."""
    return max(map(len, title.split("\n"))) * 0.082


def paint(axes: Axes, grid: Grid) -> Axes:
    """Draw the grid so that cell (row, column) covers [column, column + 1] × [row, row + 1]; row 0 is on top."""
    colours = np.array([[channels(colour or EMPTY) for colour in row] for row in grid.colours], dtype=np.uint8)
    axes.imshow(colours, extent=(0, grid.columns, grid.rows, 0), interpolation="nearest", aspect="equal")
    axes.set_xlim(0, grid.columns)
    axes.set_ylim(grid.rows, 0)
    axes.set_axis_off()
    draw_lines(axes, grid)
    box = axes.get_position()
    whole = axes.figure.get_size_inches()
    cell = min(box.width * whole[0] / grid.columns, box.height * whole[1] / grid.rows) * 72  # points
    for row, texts in enumerate(grid.labels):
        for column in range(len(texts)):
            if grid.colours[row][column] is None:
                axes.add_patch(
                    Rectangle((column, row), 1, 1, hatch="//////", facecolor=EMPTY, edgecolor="#C3CAD1", linewidth=0.4)
                )
    points = min(11.0, *(fitting(label, cell) for texts in grid.labels for label in texts))
    if points >= SMALLEST:
        for row, texts in enumerate(grid.labels):
            for column, label in enumerate(texts):
                if label:
                    axes.text(
                        column + 0.5, row + 0.52, label, ha="center", va="center", size=points, color=INK,
                        linespacing=1.05,
                    )  # fmt: skip
    name_cells(axes, grid, cell)
    for row, column in grid.outlined:
        axes.add_patch(
            Rectangle((column, row), 1, 1, fill=False, edgecolor=MARK, linewidth=2.4, clip_on=False, zorder=5)
        )
    if grid.title:
        axes.annotate(
            grid.title, (0, 1), xycoords="axes fraction", xytext=(0, (NAMES if grid.across else 0) * 72 + 5),
            textcoords="offset points", size=10, color=INK, annotation_clip=False, linespacing=1.3,
        )  # fmt: skip
    return axes


def fitting(label: str, cell: float) -> float:
    """The largest type, in points, in which a label fits into a cell of so many points."""
    if not label:
        return 99.0
    longest, count = max(map(len, label.split("\n"))), label.count("\n") + 1
    return min(cell * 0.86 / (0.62 * longest), cell * 0.8 / (1.15 * count))


def draw_lines(axes: Axes, grid: Grid) -> None:
    """Thin lines between cells, thick ones between blocks and around."""
    rows, columns = grid.rows, grid.columns
    thin = [((0, y), (columns, y)) for y in range(1, rows)] + [((x, 0), (x, rows)) for x in range(1, columns)]
    axes.add_collection(LineCollection(thin, colors="white", linewidths=0.7))
    thick = [(((0, y), (columns, y)), width) for y, width in grid.row_breaks.items()]
    thick += [(((x, 0), (x, rows)), width) for x, width in grid.column_breaks.items()]
    segments, widths = [segment for segment, _ in thick], [width for _, width in thick]
    axes.add_collection(LineCollection(segments, colors=INK, linewidths=widths))
    axes.add_patch(Rectangle((0, 0), columns, rows, fill=False, edgecolor=INK, linewidth=1.4, clip_on=False))


def name_cells(axes: Axes, grid: Grid, cell: float) -> None:
    """The coordinates of rows and columns, every second or fourth where they are too narrow."""
    if grid.across:
        longest = max(map(len, grid.across))
        step = next(n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n * cell > 4.9 * longest or n >= grid.columns)
        for column in range(0, grid.columns, step):
            axes.annotate(
                grid.across[column], (column + 0.5, 0), xytext=(0, 4), textcoords="offset points", ha="center",
                va="bottom", size=8, color=FAINT, annotation_clip=False,
            )  # fmt: skip
    if grid.down:
        step = next(n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n * cell > 9 or n >= grid.rows)
        for row in range(0, grid.rows, step):
            axes.annotate(
                grid.down[row], (0, row + 0.5), xytext=(-4, 0), textcoords="offset points", ha="right", va="center",
                size=8, color=FAINT, annotation_clip=False,
            )  # fmt: skip
