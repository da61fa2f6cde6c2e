"""Labeled cells in a grid, and several grids in a picture: the form of almost all pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from PIL import Image

from tutorlib.draw.palette import EMPTY, FAINT, INK, MARK, channels

# Pixels. Cells are whole pixels, so equal labels look alike and the PNG stays small.
DPI = 110
WIDTH = 990  # of the widest figure: JupyterLab's text column
CELL = 50  # the largest cell
GAP, MARGIN, TITLE = 38, 9, 20  # between grids, around, a line of title
LEGEND = 34
BESIDE, ABOVE = 40, 30  # for the coordinates of rows and of columns
NAME = 7  # pixels per letter of a row's name, rounded up
SMALLEST = 4.6  # points; smaller labels are left out


class Picture(Figure):
    """A figure that a notebook shows once, as the cell's value, whether or not pyplot is imported."""

    def _repr_png_(self) -> bytes:
        """The picture as a PNG of 64 colors, which is a fifth of the size and looks the same."""
        drawn = BytesIO()
        self.savefig(drawn, format="png", dpi=self.dpi)
        small = BytesIO()
        Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
        return small.getvalue()


@dataclass(frozen=True)
class CellGrid:
    """One grid. Every table is a sequence of rows.

    labels: text of each cell. colors: "#RRGGBB" of each cell; None is a hatched hole.
    down, across: names of the rows and columns; empty for none.
    row_breaks, column_breaks: {position: width in points} of the thick lines between blocks.
    outlined: (row, column) of the cells that the picture points at.
    """

    title: str
    labels: Sequence[Sequence[str]]
    colors: Sequence[Sequence[str | None]]
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

    @property
    def left(self) -> int:
        """Pixels beside the cells, for the names of the rows."""
        return max(BESIDE, NAME * max(map(len, self.down))) if self.down else 0

    @property
    def above(self) -> int:
        """Pixels over the cells, for the title and the names of the columns."""
        return TITLE * len(self.title.splitlines()) + self.names_above

    @property
    def names_above(self) -> int:
        """Pixels between the cells and the title."""
        return ABOVE if self.across else 8

    @property
    def title_width(self) -> int:
        """Pixels of a title in 10 points, rounded up."""
        return 9 * max(map(len, self.title.splitlines()), default=0)


def figure(
    grids: Sequence[CellGrid],
    stacked: bool | None = None,
    largest: int = CELL,
    legend: Mapping[str, str | None] | None = None,
) -> Picture:
    """The grids in one row, or stacked below each other, with square cells of one size.

    stacked: by default if a row would make the cells small or cut titles off. largest: pixels of a cell.
    legend: what each shade means, in a line below the grids; None: hatched.
    """
    if stacked is None:
        titled = sum(grid.left + grid.title_width + GAP for grid in grids) - GAP
        stacked = sum(grid.columns for grid in grids) > 26 or titled > WIDTH - 2 * MARGIN
    widest = max(grid.columns for grid in grids) if stacked else sum(grid.columns for grid in grids)
    beside = max(grid.left for grid in grids) if stacked else sum(grid.left + GAP for grid in grids) - GAP
    cell = min(largest, (WIDTH - 2 * MARGIN - beside) // widest)
    widths = [grid.left + max(grid.columns * cell, grid.title_width) for grid in grids]
    heights = [grid.above + grid.rows * cell for grid in grids]
    gaps = GAP // 2 * (len(grids) - 1) if stacked else GAP * (len(grids) - 1)
    width = 2 * MARGIN + (max(widths) if stacked else sum(widths) + gaps)
    height = 2 * MARGIN + (sum(heights) + gaps if stacked else max(heights)) + (LEGEND if legend else 0)
    picture = Picture(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
    x, y = MARGIN, height - MARGIN
    for grid, wide, high in zip(grids, widths, heights, strict=True):
        left, bottom = x + grid.left, y - high
        box = left / width, bottom / height, grid.columns * cell / width, grid.rows * cell / height
        paint(picture.add_axes(box), grid)
        x, y = (x, bottom - GAP // 2) if stacked else (x + wide + GAP, y)
    if legend:
        hatched = Patch(facecolor=EMPTY, edgecolor="#C3CAD1", hatch="//////")
        patches = [Patch(facecolor=shade, edgecolor=FAINT) if shade else hatched for shade in legend.values()]
        picture.legend(
            patches, legend.keys(), loc="lower left", ncols=len(legend), frameon=False, fontsize=8, labelcolor=INK,
            handlelength=1.3, handleheight=1.1, columnspacing=1.4,
        )  # fmt: skip
    return picture


def paint(axes: Axes, grid: CellGrid) -> None:
    """Draw the grid so that cell (row, column) covers [column, column + 1] × [row, row + 1]; row 0 is on top."""
    colors = np.array([[channels(color or EMPTY) for color in row] for row in grid.colors], dtype=np.uint8)
    axes.imshow(colors, extent=(0, grid.columns, grid.rows, 0), interpolation="nearest", aspect="equal")
    axes.set_axis_off()
    box = axes.get_window_extent()
    cell = min(box.width / grid.columns, box.height / grid.rows) * 72 / axes.figure.dpi  # points
    draw_cells(axes, grid, cell)
    draw_lines(axes, grid)
    name_cells(axes, grid, cell)
    if grid.title:
        axes.annotate(
            grid.title, (0, 1), xycoords="axes fraction", xytext=(0, grid.names_above * 72 / DPI),
            textcoords="offset points", size=10, color=INK, annotation_clip=False, linespacing=1.25,
        )  # fmt: skip


def draw_cells(axes: Axes, grid: CellGrid, cell: float) -> None:
    """Labels, as large as the longest allows, and hatching. cell: points."""
    points = min(11.0, *(fitting(label, cell) for labels in grid.labels for label in labels))
    for row, labels in enumerate(grid.labels):
        for column, label in enumerate(labels):
            if grid.colors[row][column] is None:
                hole: dict[str, Any] = {"hatch": "//////", "facecolor": EMPTY, "edgecolor": "#C3CAD1", "linewidth": 0.4}
                axes.add_patch(Rectangle((column, row), 1, 1, **hole))
            if label and points >= SMALLEST:
                at: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.05}
                axes.text(column + 0.5, row + 0.52, label, size=points, color=INK, **at)


def fitting(label: str, cell: float) -> float:
    """The largest type, in points, in which a label fits into a cell. cell: its side in points."""
    if not label:
        return 99.0
    lines = label.split("\n")
    longest = max(map(len, lines))
    room = 0.72 if longest > 2 and max(lines, key=len).isdigit() else 0.86  # otherwise adjacent numbers read as one
    return min(cell * room / (0.62 * longest), cell * 0.8 / (1.15 * len(lines)))


def draw_lines(axes: Axes, grid: CellGrid) -> None:
    """Thin lines between cells, thick ones between and around blocks, marks around outlined cells."""
    rows, columns = grid.rows, grid.columns
    thin = [((0, y), (columns, y)) for y in range(1, rows)] + [((x, 0), (x, rows)) for x in range(1, columns)]
    axes.add_collection(LineCollection(thin, colors="white", linewidths=0.7))
    thick = [(((0, y), (columns, y)), width) for y, width in grid.row_breaks.items()]
    thick += [(((x, 0), (x, rows)), width) for x, width in grid.column_breaks.items()]
    widths = [width for _, width in thick]
    axes.add_collection(LineCollection([line for line, _ in thick], colors=INK, linewidths=widths))
    axes.add_patch(Rectangle((0, 0), columns, rows, fill=False, edgecolor=INK, linewidth=1.4, clip_on=False))
    mark: dict[str, Any] = {"colors": MARK, "linewidths": 2.6, "capstyle": "projecting", "clip_on": False, "zorder": 5}
    axes.add_collection(LineCollection(outline(grid.outlined), **mark))


def outline(cells: frozenset[tuple[int, int]]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The border of a set of cells, as lines from (x, y) to (x, y); none between two cells of the set."""
    return [
        line
        for row, column in cells
        for beside, line in (
            ((row - 1, column), ((column, row), (column + 1, row))),
            ((row + 1, column), ((column, row + 1), (column + 1, row + 1))),
            ((row, column - 1), ((column, row), (column, row + 1))),
            ((row, column + 1), ((column + 1, row), (column + 1, row + 1))),
        )
        if beside not in cells
    ]


def name_cells(axes: Axes, grid: CellGrid, cell: float) -> None:
    """The coordinates of rows and columns, as many as fit. cell: points."""
    style: dict[str, Any] = {"textcoords": "offset points", "size": 8, "color": FAINT, "annotation_clip": False}
    wide = 5.2 * max(map(len, grid.across), default=0)
    for column in range(0, len(grid.across), stride(wide, cell)):
        at = (column + 0.5, 0)
        axes.annotate(grid.across[column], at, xytext=(0, 4), ha="center", va="bottom", **style)
    for row in range(0, len(grid.down), stride(9, cell)):
        axes.annotate(grid.down[row], (0, row + 0.5), xytext=(-4, 0), ha="right", va="center", **style)


def stride(room: float, cell: float) -> int:
    """The step between named cells so that names of this width do not overlap: a power of two."""
    step = 1
    while step * cell < room:
        step *= 2
    return step
