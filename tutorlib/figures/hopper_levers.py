"""The figure of notebook 14's levers: the speed of each combination, as a tree."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import INK
from tutorlib.figures.style import draw_dots, panel_for_each_gpu, square_name
from tutorlib.measuring.levers import stacks_of
from tutorlib.measuring.results import SweepResults
from tutorlib.problems.problem import Shape

POINTS_A_LETTER = 6.2  # on average, so that the tree of names begins left of the axis


def hopper_levers(everything: Sequence[SweepResults] | None = None) -> Figure:
    """Each configuration's speed as a fraction of cuBLAS's, a dot for each size, as a tree: lever upon lever.

    A panel for each GPU. Raises NoData.
    """
    return panel_for_each_gpu("hopper_levers", everything, (12, 7.8), draw_levers)


def draw_levers(axes: Axes, swept: SweepResults, named: Callable[[Shape], str] = square_name) -> None:
    """Rows from top to bottom as they were measured; on the right the cycles that a K tile took.

    named: how the key calls a shape.
    """
    draw_dots(axes, swept.points, swept.names, swept.baseline, named)
    stacks = stacks_of(swept)
    for row, stack in enumerate(stacks):
        if stack.cycles:
            at: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center", "color": INK}
            axes.annotate(f"{stack.cycles:,}", (1.01, row), **at)
    if any(stack.cycles for stack in stacks):
        above: dict[str, Any] = {
            "xycoords": "axes fraction",
            "textcoords": "offset points",
            "color": INK,
            "fontsize": 9,
        }
        axes.annotate("SM cycles\nper K tile", (1.01, 1), (0, 4), **above)
    axes.set_yticks(range(len(stacks)), [stack.label for stack in stacks], ha="left")
    axes.tick_params(axis="y", pad=POINTS_A_LETTER * max(len(stack.label) for stack in stacks))
    axes.set_title(f"{swept.gpu}, bf16, {swept.regime}", loc="left", color=INK)
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),
        borderaxespad=0.3,
        ncols=3,
        columnspacing=1,
        handletextpad=0.3,
        frameon=False,
    )
