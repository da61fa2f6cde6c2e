"""The figure of notebook 14's levers: what each of them gains, on what."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tutorlib.draw.palette import FAINT, INK, LINES
from tutorlib.figures.style import MARKERS, tidy_axes
from tutorlib.measuring.levers import stacks_of
from tutorlib.measuring.results import SweepResults, all_sweep_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS_A_LETTER = 6.2  # on average, so that the tree of names begins left of the axis


def hopper_levers(everything: Sequence[SweepResults] | None = None) -> "Figure":
    """Each configuration's speed as a fraction of cuBLAS, a mark for each size, as a tree: lever upon lever.

    A panel for each GPU. Raises NoData.
    """
    from matplotlib.figure import Figure

    everything = everything or all_sweep_results("hopper_levers")
    figure = Figure(figsize=(12, 1.4 * len(everything) + 0.42 * sum(len(s.names) for s in everything)))
    figure.set_layout_engine("constrained")
    for axes, swept in zip(figure.subplots(len(everything), squeeze=False)[:, 0], everything, strict=True):
        draw_levers(axes, swept)
    return figure


def draw_levers(axes: "Axes", swept: SweepResults) -> None:
    """Rows from top to bottom as they were measured; on the right the cycles that a K tile took."""
    stacks = stacks_of(swept)
    for row, stack in enumerate(stacks):
        axes.axhline(row, color=FAINT, linewidth=0.8, alpha=0.6, zorder=0)
        if stack.cycles:
            axes.annotate(
                f"{stack.cycles:,}", (1.01, row), xycoords=("axes fraction", "data"), va="center", color=INK,
            )  # fmt: skip
    if any(stack.cycles for stack in stacks):
        axes.annotate(
            "SM cycles\na K tile", (1.01, 1), (0, 4), xycoords="axes fraction", textcoords="offset points", color=INK,
            fontsize=9,
        )  # fmt: skip
    for shape, colour, marker in zip(swept.shapes, LINES[1:], MARKERS, strict=False):
        found = [(stack.ratios[shape], row) for row, stack in enumerate(stacks) if shape in stack.ratios]
        axes.scatter(
            [ratio for ratio, _ in found], [row for _, row in found],
            color=colour, marker=marker, s=60, label=f"M = N = K = {shape[0]}", zorder=3,
        )  # fmt: skip
    axes.axvline(1, color=INK, linestyle="--", linewidth=2)
    axes.set_yticks(range(len(stacks)), [stack.label for stack in stacks], ha="left")
    axes.tick_params(axis="y", pad=POINTS_A_LETTER * max(len(stack.label) for stack in stacks), length=0)
    axes.invert_yaxis()
    axes.set_xlabel(f"speed as a fraction of {swept.baseline}")
    axes.set_title(f"{swept.gpu}, bf16, {swept.regime}", loc="left", color=INK)
    axes.legend(loc="upper right", bbox_to_anchor=(1, -0.08), ncols=3, frameon=False)
    axes.set_ylim(len(stacks) - 0.4, -0.6)
    tidy_axes(axes)
    axes.grid(visible=False, axis="y")
