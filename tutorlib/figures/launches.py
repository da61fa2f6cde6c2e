"""The figure of notebook 17: what a launch costs in each way of keeping the kernel."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tutorlib.draw.palette import CATEGORIES, INK, LINES
from tutorlib.figures.style import tidy_axes
from tutorlib.measuring.launch_costs import LATER, TORCH, recorded_launches
from tutorlib.measuring.results import NoData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def launches(everything: Sequence[dict[str, Any]] | None = None) -> "Figure":
    """A bar for each way, in µs of the host's time on a logarithmic axis; a panel for each GPU. Raises NoData."""
    from matplotlib.figure import Figure

    found = [one for one in (recorded_launches() if everything is None else everything) if LATER in one]
    if not found:
        raise NoData("not measured yet: run python -m tutorlib.instruments.launches on a machine with a GPU")
    figure = Figure(figsize=(11, 1.2 + 3.8 * len(found)), layout="constrained")
    for axes, one in zip(figure.subplots(len(found), squeeze=False)[:, 0], found, strict=True):
        draw_ways(axes, one)
    return figure


def draw_ways(axes: "Axes", found: dict[str, Any]) -> None:
    """From top to bottom as they were measured; the dashed line is torch's own launch."""
    later = found[LATER]
    colours = [CATEGORIES[2] if us > later[TORCH] else CATEGORIES[6] for us in later.values()]
    bars = axes.barh(list(later), list(later.values()), color=colours)
    axes.axvline(later[TORCH], color=LINES[1], linestyle="--", linewidth=2, zorder=0)
    on_white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    axes.bar_label(bars, [number(us) for us in later.values()], padding=5, color=INK, bbox=on_white)
    axes.set_xscale("log")
    axes.set_xlim(right=4 * max(later.values()))
    axes.invert_yaxis()
    axes.set_xlabel("µs of the host's time for a launch of y = 2x")
    axes.set_title(found["machine"]["gpu"], loc="left", color=INK)
    tidy_axes(axes)
    axes.grid(visible=False, axis="y")


def number(us: float) -> str:
    return f"{us:,.0f}" if us >= 1000 else f"{us:.1f}" if us >= 1 else f"{us:.2f}"
