"""Gains: of levers, of fused epilogues, of ways to keep a compiled kernel."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import FAINT, INK
from tutorlib.figures.ladders import heads_name, heads_of
from tutorlib.figures.style import (
    draw_dots,
    say_where,
    tidy_axes,
)
from tutorlib.measuring.launch_costs import LATER, TORCH, recorded_launches
from tutorlib.measuring.levers import Gain, Stack, gains_of, stacks_of
from tutorlib.measuring.results import (
    NoData,
    SweepResults,
    all_sweep_results,
)
from tutorlib.problems.problem import Shape
from tutorlib.problems.wrong import by

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


def draw_attention_levers(axes: Axes, swept: SweepResults) -> None:
    """Rows from top to bottom as they were measured."""
    draw_dots(
        axes, swept.points, swept.names, swept.baseline,
        lambda shape: f"{shape[3]} tokens, {heads_name(heads_of(shape))}",
    )  # fmt: skip
    name_stacks(axes, stacks_of(swept))
    say_where(axes, swept)
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),
        borderaxespad=0.3,
        ncols=3,
        columnspacing=1,
        handletextpad=0.3,
        frameon=False,
    )


PLAIN = "the plain GEMM"


def fusion(epilogues: Sequence[SweepResults] | None = None) -> Figure:
    """The sweep fused_epilogues: a column for each GPU; above, the kernels timed in turn with the plain GEMM, below,
    those timed in turn with torch's. Raises NoData.
    """
    if epilogues is None:
        epilogues = all_sweep_results("fused_epilogues")
    rows = {True: list[str](), False: list[str]()}  # timed beside the plain GEMM → names
    for point in epilogues[0].points:
        named = rows[point.measurement.baseline == PLAIN]
        named += [point.name] if point.name not in named else []
    figure = Figure(figsize=(3 + 5.5 * len(epilogues), 6.4), layout="constrained")
    heights = [2 + len(names) for names in rows.values()]
    panels = figure.subplots(2, len(epilogues), sharex="row", sharey="row", squeeze=False, height_ratios=heights)
    for swept, column in zip(epilogues, panels.T, strict=True):
        for axes, (plain, names) in zip(column, rows.items(), strict=True):
            points = [point for point in swept.points if point.name in names]
            draw_dots(axes, points, names, PLAIN if plain else "torch", by)
            axes.set_yticks(range(len(names)), [name.replace(" beside ", "\nbeside ") for name in names])
        say_where(column[0], swept)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def launches(everything: Sequence[dict[str, Any]] | None = None) -> Figure:
    """A dot for each way: host time in µs, on a logarithmic axis; a panel for each GPU. Raises NoData."""
    found = [one for one in (recorded_launches() if everything is None else everything) if LATER in one]
    if not found:
        raise NoData("not measured yet: run `tutor sweep launches` on a machine with a GPU")
    figure = Figure(figsize=(11, 1.2 + 3.8 * len(found)), layout="constrained")
    for axes, one in zip(figure.subplots(len(found), squeeze=False)[:, 0], found, strict=True):
        draw_ways(axes, one)
    return figure


def draw_ways(axes: Axes, found: dict[str, Any]) -> None:
    """From top to bottom as they were measured; the dashed line is torch's own launch."""
    later = found[LATER]
    axes.scatter(list(later.values()), list(later), color=INK, s=60, zorder=3)
    axes.axvline(later[TORCH], color=INK, linestyle="--", linewidth=2, zorder=1)
    on_white: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    for row, us in enumerate(later.values()):
        axes.axhline(row, color=FAINT, linewidth=0.8, alpha=0.6, zorder=0)
        axes.annotate(number(us), (us, row), (9, 0), textcoords="offset points", va="center", color=INK, bbox=on_white)
    axes.set_xscale("log")
    axes.set_xlim(right=4 * max(later.values()))
    axes.invert_yaxis()
    axes.set_xlabel("host time of a launch of y = 2x, µs")
    axes.set_title(found["machine"]["gpu"], loc="left", color=INK)
    tidy_axes(axes)
    axes.grid(visible=False, axis="y")


def number(us: float) -> str:
    return f"{us:,.0f}" if us >= 1000 else f"{us:.1f}" if us >= 1 else f"{us:.2f}"
