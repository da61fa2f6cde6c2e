"""The figure of notebook 05: bandwidth of each rung of the copy ladder."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import CATEGORIES, INK, MARK
from tutorlib.exercises import find
from tutorlib.machine.hardware import hardware_of
from tutorlib.measuring.measurement import Measurement
from tutorlib.measuring.results import NoData, Results, all_results


def copy_ladder(everything: Sequence[Results] | None = None) -> Figure:
    """Bandwidth of each rung of notebook 05, beside torch's copy in the same run and the datasheet; a row for each GPU.

    Raises NoData.
    """
    ladders = [
        (found.gpu, {find(id).title: measured for id, measured in found.timed("05").items()})
        for found in (all_results() if everything is None else everything)
        if found.timed("05")
    ]
    if not ladders:
        raise NoData("no copy kernel was measured yet: run `tutor evidence 05` on a machine with a GPU")
    figure = Figure(figsize=(9.5, 0.9 + 0.42 * sum(len(rungs) + 2 for _, rungs in ladders)), layout="constrained")
    panels = figure.subplots(len(ladders), squeeze=False)[:, 0]
    for axes, (gpu, rungs) in zip(panels, ladders, strict=True):
        draw_bandwidths(axes, gpu, rungs)
    return figure


def draw_bandwidths(axes: Axes, gpu: str, rungs: Mapping[str, Measurement]) -> None:
    """A bar for each rung, a stroke for torch's copy in the same run, a line for the datasheet's bandwidth."""
    speeds = [(measured.gbps or 0) / 1000 for measured in rungs.values()]
    beside = [(measured.baseline_gbps or 0) / 1000 for measured in rungs.values()]
    axes.barh(list(rungs), speeds, color=CATEGORIES[0])
    for row, speed in enumerate(speeds):
        axes.text(0.05, row, f"{speed:.2f}", va="center", color=INK)
    axes.scatter(
        beside, list(rungs), marker="|", s=420, color=INK, linewidths=2, label="torch copy_ in the same run", zorder=3
    )
    if hardware := hardware_of(gpu):
        axes.axvline(hardware.bandwidth / 1e12, color=MARK, linestyle="--", label="datasheet's bandwidth")
    axes.invert_yaxis()
    regime = next(iter(rungs.values())).regime
    axes.set_title(f"{gpu}, {regime}", loc="left", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("speed, TB/s read and written")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
