"""Conventions of performance figures: a color for each rung of the ladder, lines over sizes, dots with their spread."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from statistics import median
from typing import Any, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import FAINT, INK, LINES, SHADES
from tutorlib.measuring.results import Point, SweepResults, all_sweep_results
from tutorlib.measuring.timing import Measurement

APART = 0.065  # of the height of a plot: the least distance between two labels
MARKERS = "os^vDP"  # a line differs from its neighbors in more than color


@cache
def rung_looks() -> dict[str, tuple[str, str]]:
    """A rung's title → the color and marker that it has in every figure."""
    from tutorlib.kernels.ladder import LADDER

    return {
        rung.title: (color, MARKERS[n % len(MARKERS)])
        for n, (rung, color) in enumerate(zip(LADDER, LINES, strict=True))
    }


def kernel_style(name: str, number: int) -> dict[str, Any]:
    """How a kernel's line looks. number: its place in the figure, for a kernel that is no rung of the ladder."""
    if name.startswith("NVIDIA's"):
        return {"color": INK, "linestyle": ":", "linewidth": 2, "marker": "x", "label": name}
    plain = SHADES[number % len(SHADES)], MARKERS[number % len(MARKERS)]
    color, marker = rung_looks().get(name, plain)
    return {"color": color, "marker": marker, "markersize": 7, "linewidth": 2, "label": name}


def kernel_lines(swept: SweepResults) -> Iterator[tuple[list[Point], dict[str, Any]]]:
    """Each kernel's points, smallest shape first, and the style of its line."""
    for number, name in enumerate(swept.names):
        yield swept.of_kernel(name), kernel_style(name, number)


def rows(
    sweep: str,
    size: tuple[float, float],
    draw: Callable[..., None],
    everything: Sequence[SweepResults] | None = None,
    columns: int = 1,
) -> Figure:
    """A figure with a row for each GPU on which a sweep ran. Raises NoData.

    size: of a row, in inches. draw: takes the axes of its panels and the sweep's results. everything: these results;
    None: all that are stored.
    """
    found = everything or all_sweep_results(sweep)
    figure = Figure(figsize=(size[0], size[1] * len(found)), layout="constrained")
    for panels, swept in zip(figure.subplots(len(found), columns, squeeze=False), found, strict=True):
        draw(*panels, swept)
    return figure


def say_where(axes: Axes, swept: SweepResults, more: str = "") -> None:
    """The title: GPU, regime, and what else there is to say."""
    axes.set_title(f"{swept.gpu}, bf16, {more}{swept.regime}", loc="left", color=INK)


def label_ends(axes: Axes) -> None:
    """Label each line at its right end, in its color, instead of a legend; labels keep their distance."""
    place, back = axes.transData, axes.transAxes.inverted()
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    last = {line: list(cast("Sequence[float]", line.get_ydata()))[-1] for line in lines}
    ends = {line: float(back.transform(place.transform((1, y)))[1]) for line, y in last.items()}
    lines.sort(key=ends.__getitem__)
    heights = [ends[line] for line in lines]
    for _ in range(100):  # two that are too close push each other apart
        for n in range(len(heights) - 1):
            missing = max(0.0, APART - (heights[n + 1] - heights[n]))
            heights[n] -= missing / 2
            heights[n + 1] += missing / 2
    for line, height in zip(lines, heights, strict=True):
        axes.text(1.02, height, str(line.get_label()), color=line.get_color(), va="center", transform=axes.transAxes)


def baseline_speeds(swept: SweepResults) -> dict[int, float]:
    """TFLOP/s of the baseline at each square size: the median of its times beside the kernels."""
    return {shape[0]: median(point.measurement.speeds[1] for point in swept.at(shape)) for shape in swept.shapes}


def baseline_style(swept: SweepResults) -> dict[str, Any]:
    return {"color": INK, "linestyle": "--", "linewidth": 2.5, "label": swept.baseline}


def powers_of_two(swept: SweepResults) -> list[int]:
    """The square sizes that an axis names."""
    return [shape[0] for shape in swept.shapes if shape[0] & (shape[0] - 1) == 0]


def tidy_axes(axes: Axes) -> None:
    """A faint grid, and a frame on the left and below only."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=FAINT, alpha=0.3)


def draw_speeds(axes: Axes, swept: SweepResults) -> None:
    """TFLOP/s of the baseline and of each kernel, over M = N = K."""
    baseline = baseline_speeds(swept)
    axes.plot(list(baseline), list(baseline.values()), **baseline_style(swept))
    draw_sizes(axes, swept, lambda measured: measured.tflops or 0)
    axes.set_ylabel("speed, TFLOP/s")


def draw_ratios(axes: Axes, swept: SweepResults) -> None:
    """Each kernel's speed as a fraction of the baseline's, over M = N = K."""
    axes.axhline(1, **baseline_style(swept))
    draw_sizes(axes, swept, lambda measured: measured.ratio)
    axes.set_ylabel(f"speed as a fraction of {swept.baseline}'s")


def draw_sizes(axes: Axes, swept: SweepResults, height: Callable[[Measurement], float]) -> None:
    """A line for each kernel over M = N = K, along which sizes double at equal distances."""
    for points, look in kernel_lines(swept):
        measured = [point.measurement for point in points]
        axes.plot([each.shape[0] for each in measured], [height(each) for each in measured], **look)
    axes.set_xscale("log", base=2)
    ticks = powers_of_two(swept)
    axes.set_xticks(ticks, map(str, ticks))
    axes.set_xlabel("M = N = K, elements")
    axes.set_ylim(bottom=0)
    tidy_axes(axes)
