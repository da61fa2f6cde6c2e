"""The figure of notebook 16: what an epilogue costs a GEMM, what it saves, and what a model's MLP gains."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tutorlib.draw.palette import CATEGORIES, FAINT, INK, LINES
from tutorlib.figures.style import MARKERS, tidy_axes
from tutorlib.measuring.results import Point, SweepResults, all_sweep_results, known_sweeps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

PLAIN = "the plain GEMM"
MLPS = {"mlp_forward": "forward", "mlp_training": "forward and backward"}


def fusion(
    epilogues: Sequence[SweepResults] | None = None, mlps: Sequence[tuple[str, SweepResults]] | None = None
) -> "Figure":
    """For each GPU on the left the epilogues of the sweep fused_epilogues, on the right the MLPs.

    mlps: what was computed, and its sweep; a GPU without any has none on the right. Raises NoData.
    """
    from matplotlib.figure import Figure

    if epilogues is None:
        epilogues = all_sweep_results("fused_epilogues")
        mlps = [(what, swept) for name, what in MLPS.items() for swept in known_sweeps(name)]
    figure = Figure(figsize=(13, 6.2 * len(epilogues)), layout="constrained")
    for part, swept in zip(figure.subfigures(len(epilogues), squeeze=False)[:, 0], epilogues, strict=True):
        left, right = part.subfigures(1, 2, width_ratios=(1.15, 1))
        draw_epilogues(left, swept)
        draw_mlps(right, [(what, mlp) for what, mlp in mlps or () if mlp.gpu == swept.gpu])
    return figure


def draw_epilogues(figure: "SubFigure", swept: SweepResults) -> None:
    """Above beside the plain GEMM, so that 1 minus the speed is the cost; below, beside the others."""
    groups: dict[str, Callable[[Point], bool]] = {
        f"beside {PLAIN}": lambda point: point.measurement.baseline == PLAIN,
        "beside the same result by torch": lambda point: point.measurement.baseline != PLAIN,
    }
    rows = [[point for point in swept.points if belongs(point)] for belongs in groups.values()]
    tall = [len({point.name for point in points}) for points in rows]
    panels = figure.subplots(2, 1, squeeze=False, height_ratios=tall)[:, 0]
    for axes, title, points in zip(panels, groups, rows, strict=True):
        draw_fusion_speeds(axes, points, swept.shapes)
        axes.set_title(title, loc="left", color=INK, fontsize=11)
    panels[-1].set_xlabel("speed as a fraction of that")
    panels[-1].legend(loc="upper left", bbox_to_anchor=(0, -0.28), ncols=2, frameon=False)
    figure.suptitle(f"{swept.gpu}, bf16, {swept.regime}", x=0.01, ha="left", color=INK)


def draw_fusion_speeds(axes: "Axes", points: Sequence[Point], shapes: Sequence[tuple[int, ...]]) -> None:
    """A row for each kernel from top to bottom, a mark for each shape."""
    names = list(dict.fromkeys(point.name for point in points))
    for row in range(len(names)):
        axes.axhline(row, color=FAINT, linewidth=0.8, alpha=0.6, zorder=0)
    for shape, colour, marker in zip(shapes, LINES[1:], MARKERS, strict=False):
        here = [point for point in points if point.measurement.shape == shape]
        axes.scatter(
            [point.measurement.ratio for point in here], [names.index(point.name) for point in here],
            color=colour, marker=marker, s=60, label="×".join(map(str, shape)), zorder=3,
        )  # fmt: skip
    axes.axvline(1, color=INK, linestyle="--", linewidth=2)
    axes.set_yticks(range(len(names)), [name.replace(" beside ", "\nbeside ") for name in names])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
    tidy_axes(axes)
    axes.grid(visible=False, axis="y")


def draw_mlps(figure: "SubFigure", mlps: Sequence[tuple[str, SweepResults]]) -> None:
    """A panel for each."""
    if not mlps:
        return
    tall = [len(swept.points) for _, swept in mlps]
    panels = figure.subplots(len(mlps), 1, squeeze=False, height_ratios=tall)[:, 0]
    for axes, (what, swept) in zip(panels, mlps, strict=True):
        draw_mlp(axes, swept)
        axes.set_title(f"Llama 3 8B's MLP, {what}", loc="left", color=INK, fontsize=10)
    panels[-1].set_xlabel(f"tokens: speed as a fraction of {mlps[0][1].baseline}'s")


def draw_mlp(axes: "Axes", swept: SweepResults) -> None:
    """For each way a bar for each number of tokens: its speed, the baseline's being 1."""
    thick = 0.8 / len(swept.shapes)
    for row, name in enumerate(swept.names):
        points = swept.of_kernel(name)
        places = [row + thick * (number - (len(points) - 1) / 2) for number in range(len(points))]
        speeds = [point.measurement.ratio for point in points]
        bars = axes.barh(places, speeds, 0.9 * thick, color=CATEGORIES[row])
        words = [f"{point.measurement.shape[0]:,}: {point.measurement.ratio:.3f}" for point in points]
        on_white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.bar_label(bars, words, padding=5, color=INK, fontsize=10, bbox=on_white)
    axes.axvline(1, color=INK, linestyle="--", linewidth=2, zorder=0)
    axes.set_yticks(range(len(swept.names)), [name.replace(", ", ",\n") for name in swept.names])
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.3 * max(point.measurement.ratio for point in swept.points))
    axes.set_ylim(len(swept.names) - 0.5, -0.5)
    tidy_axes(axes)
    axes.grid(visible=False, axis="y")
