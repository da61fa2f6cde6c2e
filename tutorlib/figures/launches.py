"""The figure of notebook 17: the host time of a launch, for each way of keeping the compiled kernel."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import FAINT, INK
from tutorlib.figures.style import tidy_axes
from tutorlib.measuring.launch_costs import LATER, TORCH, recorded_launches
from tutorlib.measuring.results import NoData


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
