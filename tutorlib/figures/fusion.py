"""The figure of notebook 16: the cost of an epilogue, its savings, and the gain of a model's MLP."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure, SubFigure

from tutorlib.draw.palette import INK
from tutorlib.figures.style import draw_dots
from tutorlib.measuring.results import Point, SweepResults, all_sweep_results, known_sweeps
from tutorlib.problems.problem import Shape
from tutorlib.problems.wrong import by

PLAIN = "the plain GEMM"
MLPS = {"mlp_forward": "forward", "mlp_training": "forward and backward"}


class Panel(NamedTuple):
    """Kernels that were timed beside one baseline. named: how the key calls a shape."""

    title: str
    points: Sequence[Point]
    baseline: str
    named: Callable[[Shape], str]

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(point.name for point in self.points))


def fusion(
    epilogues: Sequence[SweepResults] | None = None, mlps: Sequence[tuple[str, SweepResults]] | None = None
) -> Figure:
    """For each GPU the epilogues of the sweep fused_epilogues on the left, the MLPs on the right: speeds.

    mlps: title and sweep of each; a GPU without any has none on the right. Raises NoData.
    """
    if epilogues is None:
        epilogues = all_sweep_results("fused_epilogues")
        mlps = [(title, swept) for name, title in MLPS.items() for swept in known_sweeps(name)]
    figure = Figure(figsize=(14, 6.4 * len(epilogues)), layout="constrained")
    for part, swept in zip(figure.subfigures(len(epilogues), squeeze=False)[:, 0], epilogues, strict=True):
        left, right = part.subfigures(1, 2, width_ratios=(1.15, 1))
        plain = [point for point in swept.points if point.measurement.baseline == PLAIN]
        others = [point for point in swept.points if point.measurement.baseline != PLAIN]
        draw_panels(
            left,
            Panel(f"beside {PLAIN}", plain, PLAIN, by),
            Panel("beside the same result by torch", others, "torch", by),
        )
        left.suptitle(f"{swept.gpu}, bf16, {swept.regime}", x=0.01, ha="left", color=INK)
        here = [(title, mlp) for title, mlp in mlps or () if mlp.gpu == swept.gpu]
        draw_panels(
            right, *(Panel(f"Llama 3 8B's MLP, {title}", mlp.points, mlp.baseline, tokens_of) for title, mlp in here)
        )
    return figure


def tokens_of(shape: Shape) -> str:
    return f"{shape[0]:,} tokens"


def draw_panels(figure: SubFigure, *panels: Panel) -> None:
    """The panels below each other, each as high as its rows, and two more for its axis."""
    if not panels:
        return
    stacked = figure.subplots(len(panels), 1, squeeze=False, height_ratios=[2 + len(panel.rows) for panel in panels])
    for axes, panel in zip(stacked[:, 0], panels, strict=True):
        draw_dots(axes, panel.points, panel.rows, panel.baseline, panel.named)
        axes.set_yticks(range(len(panel.rows)), [row.replace(" beside ", "\nbeside ") for row in panel.rows])
        axes.set_title(panel.title, loc="left", color=INK, fontsize=11)
    figure.legend(*stacked[-1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
