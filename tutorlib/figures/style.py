"""What performance figures share: one look for each kernel of a sweep, for its baseline and for axes."""

from collections.abc import Iterator
from itertools import cycle
from statistics import median
from typing import TYPE_CHECKING, Any

from tutorlib.draw.palette import FAINT, INK, LINES
from tutorlib.measuring.results import Point, SweepResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "os^vDP"  # so that a line is told without its colour


def kernel_lines(swept: SweepResults) -> Iterator[tuple[list[Point], dict[str, Any]]]:
    """Each kernel's points, from the smallest shape on, and how its line looks."""
    for number, (name, marker) in enumerate(zip(swept.names, cycle(MARKERS), strict=False)):
        again = number >= len(LINES)
        yield (
            swept.of_kernel(name),
            {
                "color": LINES[number % len(LINES)],
                "linestyle": "-." if again else "-",
                "marker": marker,
                "markersize": 7,
                "linewidth": 2,
                "label": name,
            },
        )


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


def draw_ratios(axes: "Axes", swept: SweepResults) -> None:
    """The baseline's time over each kernel's, over M = N = K."""
    axes.axhline(1, **baseline_style(swept))
    for points, look in kernel_lines(swept):
        axes.plot([p.measurement.shape[0] for p in points], [p.measurement.ratio for p in points], **look)
    scale_sizes(axes, swept)
    axes.set_title(f"the same as a fraction of {swept.baseline}", loc="left", color=INK)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def scale_sizes(axes: "Axes", swept: SweepResults) -> None:
    """M = N = K along x, so that sizes double at equal distances."""
    axes.set_xscale("log", base=2)
    ticks = powers_of_two(swept)
    axes.set_xticks(ticks, map(str, ticks))
    axes.set_xlabel("M = N = K")
    axes.set_ylim(bottom=0)
    tidy_axes(axes)
