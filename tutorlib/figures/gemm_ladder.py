"""The figure of the GEMM ladder: speed of each rung over square sizes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tutorlib.draw.palette import INK
from tutorlib.figures.style import baseline_speeds, baseline_style, draw_ratios, kernel_lines, scale_sizes
from tutorlib.measuring.results import SweepResults, all_sweep_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def gemm_ladder(everything: Sequence[SweepResults] | None = None) -> "Figure":
    """Speed of each rung of notebooks 09 to 12 over square sizes, and as a fraction of cuBLAS; a row for each GPU.

    Raises NoData.
    """
    from matplotlib.figure import Figure

    everything = everything or all_sweep_results("gemm_rungs")
    figure = Figure(figsize=(13, 4.6 * len(everything)), layout="constrained")
    for (speed, ratio), swept in zip(figure.subplots(len(everything), 2, squeeze=False), everything, strict=True):
        draw_speeds(speed, swept)
        draw_ratios(ratio, swept)
    return figure


def draw_speeds(axes: "Axes", swept: SweepResults) -> None:
    """TFLOP/s over M = N = K."""
    baseline = baseline_speeds(swept)
    axes.plot(list(baseline), list(baseline.values()), **baseline_style(swept))
    for points, look in kernel_lines(swept):
        axes.plot([p.measurement.shape[0] for p in points], [p.measurement.tflops or 0 for p in points], **look)
    scale_sizes(axes, swept)
    axes.set_title(f"{swept.gpu}, bf16: TFLOP/s", loc="left", color=INK)
