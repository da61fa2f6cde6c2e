"""The figure of notebook 07's ladder."""

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from tutorlib.draw.palette import FAINT, INK, LINES
from tutorlib.figures.style import MARKERS
from tutorlib.measuring.results import SweepResults, all_sweep_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def tile_ladder(everything: Sequence[SweepResults] | None = None) -> "Figure":
    """Each rung's speed as a fraction of cuBLAS, a mark for each size; a panel for each GPU. Raises NoData."""
    from matplotlib.figure import Figure

    everything = everything or all_sweep_results("tile_rungs")
    figure = Figure(figsize=(9.5, 4.2 * len(everything)), layout="constrained")
    for axes, swept in zip(figure.subplots(len(everything), squeeze=False)[:, 0], everything, strict=True):
        draw_marks(axes, swept)
    return figure


def draw_marks(axes: "Axes", swept: SweepResults) -> None:
    """Rungs from top to bottom in the order in which they were measured."""
    rows = range(len(swept.names))
    for row in rows:
        axes.axhline(row, color=FAINT, linewidth=0.8, zorder=0)
    for shape, colour, marker in zip(swept.shapes, LINES, MARKERS, strict=False):
        points = swept.at(shape)
        axes.scatter(
            [point.measurement.ratio for point in points],
            [swept.names.index(point.name) for point in points],
            color=colour,
            marker=marker,
            s=80,
            label=f"M = N = K = {shape[0]}",
            zorder=3,
        )
    axes.axvline(1, color=INK, linestyle="--", linewidth=2)
    axes.set_yticks(rows, swept.names)
    axes.invert_yaxis()
    ratios = [point.measurement.ratio for point in swept.points]
    left = max(
        0.0, 2 * median(ratios) - max(ratios) - 0.2
    )  # an outlier does not squeeze the others: its number is said
    axes.set_xlim(left=left)
    for row, name in enumerate(swept.names):
        if below := [ratio for point in swept.of_kernel(name) if (ratio := point.measurement.ratio) < left]:
            axes.annotate(
                f"← {min(below):.2f} to {max(below):.2f}", (left, row), (6, 4), textcoords="offset points", color=INK
            )
    axes.set_xlabel(f"speed as a fraction of {swept.baseline}")
    axes.set_title(f"{swept.gpu}, bf16, {swept.regime}", loc="left", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
