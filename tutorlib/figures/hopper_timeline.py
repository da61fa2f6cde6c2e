"""The figure of the warps of a Hopper kernel at work: timestamps from inside it, drawn as a timeline."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tutorlib.draw.palette import CATEGORIES, FAINT, INK, MARK
from tutorlib.measuring.results import Point, SweepResults, all_sweep_results

COLORS = {  # in the order of the legend
    "wgmma": CATEGORIES[0],
    "epilogue": CATEGORIES[2],
    "waiting for full or its turn": CATEGORIES[1],
    "waiting for empty": CATEGORIES[7],
}
LOADS = "TMA load issued"  # a stroke, not a stretch
NARROW = 0.025  # fraction of the window that is too narrow for a number
SCATTER = 100  # cycles by which two readings of the clock may be late: a shorter wait is none


class Stretch(NamedTuple):
    """One activity of a role, from one cycle to another. number: of the K tile or of the tile."""

    what: str
    number: int
    begin: int
    end: int


def stretches(timestamps: Sequence[tuple[str, int, int]], usual: int = 0) -> list[Stretch]:
    """A role's activities between its timestamps (event, number, cycle).

    The tensor cores multiply in order, so the wgmma of a K tile begins when it is issued or when the one before it
    retires, whichever is later. The time before SEE_FULL is the wait for it; before ISSUE_LOAD, for an empty stage.
    usual: cycles of it that pass even where nothing has to be waited for.
    """
    found: list[Stretch] = []
    issued: dict[int, int] = {}
    before = retired = timestamps[0][2] if timestamps else 0
    for event, number, cycle in timestamps:
        match event:
            case "SEE_FULL":
                found.append(Stretch("waiting for full or its turn", number, before + usual, cycle))
                issued[number] = cycle
            case "RETIRE_MMA":
                if number in issued:
                    found.append(Stretch("wgmma", number, max(issued[number], retired), cycle))
                retired = cycle
            case "STORE":
                found.append(Stretch("epilogue", number, before, cycle))
            case "ISSUE_LOAD":
                found.append(Stretch("waiting for empty", number, before + usual, cycle))
        before = cycle
    return found


def hopper_timeline(everything: Sequence[SweepResults] | None = None) -> Figure:
    """Three kernels on one scale of SM cycles, a row for each role, from the end of one tile into the next.

    Raises NoData.
    """
    everything = everything or all_sweep_results("hopper_timeline")
    tall = [len(point.facts["stamps"]) for point in everything[0].points]
    figure = Figure(
        figsize=(13, (1.1 + sum(0.9 + 0.75 * rows for rows in tall)) * len(everything)), layout="constrained"
    )
    panels = figure.subplots(
        len(tall) * len(everything), 1, squeeze=False, sharex=True, height_ratios=tall * len(everything)
    )[:, 0]
    points = [(swept, point) for swept in everything for point in swept.points]
    for axes, (swept, point) in zip(panels, points, strict=True):
        draw_kernel(axes, swept, point)
    panels[-1].set_xlabel("SM cycles")
    draw_key(figure)
    return figure


def draw_kernel(axes: Axes, swept: SweepResults, point: Point) -> None:
    """One kernel: the first block's roles from top to bottom, its loads as strokes with their K tile's number."""
    written_by = point.facts["stamps"]
    for row, written in enumerate(written_by.values()):
        for stretch in stretches([tuple(one) for one in written], point.facts["cycles"]["wait for full"]):
            draw_stretch(axes, row, stretch, point.facts["window"])
        for what, _, cycle in written:
            if what == "ISSUE_LOAD":
                axes.plot([cycle, cycle], [row - 0.42, row - 0.1], color=MARK, linewidth=1.6, zorder=4)
        axes.axhline(row + 0.5, color=FAINT, linewidth=0.6)
    axes.set_yticks(range(len(written_by)), list(written_by))
    axes.set_ylim(len(written_by) - 0.5, -0.5)
    axes.set_xlim(0, point.facts["window"])
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    measured = point.measurement
    slower = point.facts["stamped_us"] / measured.median_us - 1
    axes.set_title(
        f"{point.name}: {measured.median_us:.1f} µs, {measured.regime}; timestamps slow it by {slower:.1%}; "
        f"a K tile takes {point.facts['cycles']['per K tile']:,} cycles ({swept.gpu})",
        loc="left", color=INK, fontsize=11,
    )  # fmt: skip


def draw_stretch(axes: Axes, row: int, stretch: Stretch, window: int) -> None:
    """Waits below, work above: a warpgroup waits for the next stage while the tensor cores multiply the one before."""
    waits = stretch.what.startswith("waiting")
    if stretch.end - stretch.begin <= (SCATTER if waits else 0):
        return
    bottom, height = (row + 0.08, 0.3) if waits else (row - 0.42, 0.44)
    axes.broken_barh(
        [(stretch.begin, stretch.end - stretch.begin)], (bottom, height), facecolor=COLORS[stretch.what],
        edgecolor=INK, linewidth=0.6,
    )  # fmt: skip
    seen = [min(max(end, 0), window) for end in (stretch.begin, stretch.end)]
    if stretch.what == "wgmma" and seen[1] - seen[0] > NARROW * window:
        axes.text(
            sum(seen) / 2, bottom + height / 2, str(stretch.number), ha="center", va="center", color=INK, fontsize=9
        )


def draw_key(figure: Figure) -> None:
    handles: list[Patch | Line2D] = [
        Patch(facecolor=color, edgecolor=INK, linewidth=0.6, label=what) for what, color in COLORS.items()
    ]
    handles.append(Line2D([], [], color=MARK, linewidth=1.6, label=LOADS))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
