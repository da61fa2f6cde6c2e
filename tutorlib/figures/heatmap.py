"""A heat map of speeds: numbers on colors, the fastest outlined, impossible configurations hatched."""

from collections.abc import Collection, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from tutorlib.draw.palette import FAINT, INK, MARK, RAMP

Square = tuple[str, str]  # names of its row and of its column


def draw_heatmap(
    axes: Axes,
    rows: Sequence[str],
    columns: Sequence[str],
    speeds: Mapping[Square, float],
    notes: Mapping[Square, str],
    hatched: Collection[Square],
) -> None:
    """TFLOP/s and, below, a note in each square. A square that has no speed and is not hatched stays blank."""
    fastest = max(speeds, key=speeds.__getitem__)
    table = [[speeds.get((row, column), float("nan")) for column in columns] for row in rows]
    picture = axes.imshow(table, cmap=LinearSegmentedColormap.from_list("ramp", RAMP), aspect="auto")
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            square, corner = (row, column), (x - 0.5, y - 0.5)
            if square in hatched:
                axes.add_patch(Rectangle(corner, 1, 1, hatch="////", facecolor="white", edgecolor=FAINT, linewidth=0))
            if square in speeds:
                words = "\n".join(filter(None, (f"{speeds[square]:.0f}", notes.get(square))))
                axes.text(x, y, words, ha="center", va="center", color=INK, fontsize=9 if notes else None)
            if square == fastest:
                axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=MARK, linewidth=3, zorder=3))
    axes.figure.colorbar(picture, ax=axes, label="TFLOP/s")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
