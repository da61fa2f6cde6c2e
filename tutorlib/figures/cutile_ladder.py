"""The figure of notebook 07's ladder."""

from collections.abc import Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import INK
from tutorlib.figures.style import draw_dots, panel_for_each_gpu, square_name
from tutorlib.measuring.results import SweepResults


def tile_ladder(everything: Sequence[SweepResults] | None = None) -> Figure:
    """Each rung's speed as a fraction of cuBLAS's, a dot for each size; a panel for each GPU. Raises NoData."""
    return panel_for_each_gpu("tile_rungs", everything, (9.5, 4.2), draw_rungs)


def draw_rungs(axes: Axes, swept: SweepResults) -> None:
    """Rungs from top to bottom in the order in which they were measured.

    The axis leaves out a rung that is far slower than the others; its numbers are printed where its dots would be.
    """
    draw_dots(axes, swept.points, swept.names, swept.baseline, square_name)
    ratios = [point.measurement.ratio for point in swept.points]
    left = max(0.0, 2 * median(ratios) - max(ratios) - 0.2)
    axes.set_xlim(left=left)
    for row, name in enumerate(swept.names):
        if below := [ratio for point in swept.of_kernel(name) if (ratio := point.measurement.ratio) < left]:
            axes.annotate(
                f"← {min(below):.2f} to {max(below):.2f}", (left, row), (6, 4), textcoords="offset points", color=INK
            )
    axes.set_title(f"{swept.gpu}, bf16, {swept.regime}", loc="left", color=INK)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
