"""The figure of notebook 14's levers: the gain of each, as a tree."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import FAINT, INK
from tutorlib.figures.style import tidy_axes
from tutorlib.measuring.levers import Gain, Stack, gains_of, stacks_of
from tutorlib.measuring.results import SweepResults, all_sweep_results
from tutorlib.problems.problem import Shape

POINTS_A_LETTER = 6.2  # on average, so that the tree of names begins left of the axis
WIDEST = 5.0  # percent: larger gains and losses are arrows with numbers


def hopper_levers(everything: Sequence[SweepResults] | None = None) -> Figure:
    """The gain of each lever over the kernel that it was added to, as a tree: a row of panels for each GPU.

    A panel for each size. Raises NoData.
    """
    everything = everything or all_sweep_results("hopper_levers")
    figure = Figure(figsize=(13, 5.6 * len(everything)), layout="constrained")
    for part, swept in zip(figure.subfigures(len(everything), squeeze=False)[:, 0], everything, strict=True):
        part.suptitle(f"{swept.gpu}, bf16, {swept.regime}", x=0.01, ha="left", color=INK)
        rows, gains = stacks_of(swept), {(gain.lever, gain.on): gain for gain in gains_of(swept)}
        rows = [row for row in rows if row.added or any(row.name == other.on for other in rows)]
        panels = part.subplots(1, len(swept.shapes), sharey=True, squeeze=False)[0]
        name_stacks(panels[0], rows)
        panels[0].set_ylim(len(rows) - 0.5, -0.5)
        for axes, shape in zip(panels, sorted(swept.shapes), strict=True):
            draw_gains(axes, rows, gains, shape)
    return figure


def name_stacks(axes: Axes, stacks: Sequence[Stack]) -> None:
    """Their labels, left-aligned, from top to bottom."""
    axes.set_yticks(range(len(stacks)), [stack.label for stack in stacks], ha="left")
    axes.tick_params(axis="y", length=0, pad=POINTS_A_LETTER * max(len(stack.label) for stack in stacks))


def draw_gains(axes: Axes, rows: Sequence[Stack], gains: dict[tuple[str, str], Gain], shape: Shape) -> None:
    """At one size: filled where a gain exceeds the spread of its two measurements, hollow within it."""
    speeds = {row.name: row.measured[shape] for row in rows if shape in row.measured}
    axes.axvline(0, color=INK, linestyle="--", linewidth=2)
    for place, row in enumerate(rows):
        axes.axhline(place, color=FAINT, linewidth=0.8, alpha=0.6, zorder=0)
        gain = gains.get((row.added, row.on))
        if gain is None or shape not in gain.gains:
            continue
        percent = 100 * gain.gains[shape]
        if abs(percent) > WIDEST:
            at: dict[str, Any] = {"va": "center", "ha": "left" if percent < 0 else "right", "color": INK}
            text = f"◀ {percent:.0f}" if percent < 0 else f"{percent:.0f} ▶"
            axes.text(WIDEST if percent > 0 else -WIDEST, place, text, **at)
            continue
        spread = 100 * sum(speeds[name].spread for name in (row.name, row.on)) / 2
        axes.errorbar(
            percent, place, xerr=spread, color=INK, marker="o", markersize=7, elinewidth=1.6,
            markerfacecolor="white" if shape in gain.noise else INK,
        )  # fmt: skip
    axes.set_xlim(-WIDEST, WIDEST)
    axes.set_title(f"M = N = K = {shape[0]}", loc="left", color=INK, fontsize=11)
    axes.set_xlabel("gain over the row that it is added to, %\n(bars: its spread; hollow: within it)")
    tidy_axes(axes)
    axes.grid(visible=False, axis="y")
