"""What performance figures share: one look for each kernel of a sweep, for its baseline and for axes."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, cast

from tutorlib.draw.palette import FAINT, INK, LINES
from tutorlib.measuring.results import Point, SweepResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART = 0.065  # of the height of a plot: the distance of two names
MARKERS = "os^vDP"  # so that a line is told without its color


def kernel_lines(swept: SweepResults, names: Sequence[str] = ()) -> Iterator[tuple[list[Point], dict[str, Any]]]:
    """Each kernel's points, from the smallest shape on, and how its line looks.

    names: all kernels of the sweep, where `swept` has a part of them: a kernel has one color in all figures.
    """
    names = names or swept.names
    for name in swept.names:
        number = names.index(name)
        yield (
            swept.of_kernel(name),
            {
                "color": LINES[number % len(LINES)],
                "marker": MARKERS[number % len(MARKERS)],
                "markersize": 7,
                "linewidth": 2,
                "label": name,
            },
        )


def label_ends(axes: "Axes") -> None:
    """Name each line at its right end, in its color, instead of a legend; names keep a distance from each other."""
    place, back = axes.transData, axes.transAxes.inverted()
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    last = {line: list(cast("Sequence[float]", line.get_ydata()))[-1] for line in lines}
    ends = {line: float(back.transform(place.transform((1, y)))[1]) for line, y in last.items()}
    lines.sort(key=ends.__getitem__)
    heights = [ends[line] for line in lines]
    for _ in range(100):  # two that are too near push each other away
        for n in range(len(heights) - 1):
            missing = max(0.0, APART - (heights[n + 1] - heights[n]))
            heights[n] -= missing / 2
            heights[n + 1] += missing / 2
    for line, height in zip(lines, heights, strict=True):
        look: dict[str, Any] = {"color": line.get_color(), "va": "center", "transform": axes.transAxes}
        axes.text(1.02, height, str(line.get_label()), **look)


def baseline_speeds(swept: SweepResults) -> dict[int, float]:
    """TFLOP/s of the baseline at each square size: the median of its times beside the kernels."""
    return {
        shape[0]: median(point.measurement.baseline_tflops or 0 for point in swept.at(shape)) for shape in swept.shapes
    }


def baseline_style(swept: SweepResults) -> dict[str, Any]:
    return {"color": INK, "linestyle": "--", "linewidth": 2.5, "label": swept.baseline}


def powers_of_two(swept: SweepResults) -> list[int]:
    """The square sizes that an axis names."""
    return [shape[0] for shape in swept.shapes if shape[0] & (shape[0] - 1) == 0]


def tidy_axes(axes: "Axes") -> None:
    """No frame where nothing is measured, a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=FAINT, alpha=0.3)


def draw_ratios(axes: "Axes", swept: SweepResults, names: Sequence[str] = ()) -> None:
    """Each kernel's speed as a fraction of the baseline's, over M = N = K. names: as `kernel_lines` takes them."""
    axes.axhline(1, **baseline_style(swept))
    for points, look in kernel_lines(swept, names):
        axes.plot([p.measurement.shape[0] for p in points], [p.measurement.ratio for p in points], **look)
    scale_sizes(axes, swept)
    axes.set_title(f"the same as a fraction of {swept.baseline}", loc="left", color=INK)
    axes.set_ylabel(f"speed as a fraction of {swept.baseline}")


def scale_sizes(axes: "Axes", swept: SweepResults) -> None:
    """M = N = K along x, so that sizes double at equal distances."""
    axes.set_xscale("log", base=2)
    ticks = powers_of_two(swept)
    axes.set_xticks(ticks, map(str, ticks))
    axes.set_xlabel("M = N = K")
    axes.set_ylim(bottom=0)
    tidy_axes(axes)
