"""The figure of the GEMM ladder: speed of each rung over square sizes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tutorlib.draw.palette import INK, MARK
from tutorlib.figures.style import baseline_speeds, baseline_style, draw_ratios, kernel_lines, scale_sizes
from tutorlib.measuring.results import SweepResults, all_sweep_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAMILIES: dict[str, Callable[[str], bool]] = {  # a rung's title begins with its notebook
    "mma.sync": lambda title: title < "13",
    "WGMMA": lambda title: title >= "13",
}


def gemm_ladder(everything: Sequence[SweepResults] | None = None) -> "Figure":
    """Speed of each rung of notebooks 09 to 14 over square sizes, and as a fraction of cuBLAS.

    For each GPU a row with the rungs of mma.sync and, where it has that, one with those of WGMMA. Raises NoData.
    """
    from matplotlib.figure import Figure

    rows = [
        (family, part)
        for swept in everything or all_sweep_results("gemm_rungs")
        for family, belongs in FAMILIES.items()
        if (part := replace(swept, points=tuple(point for point in swept.points if belongs(point.name)))).points
    ]
    figure = Figure(figsize=(13, 4.6 * len(rows)), layout="constrained")
    speeds = []
    for (speed, ratio), (family, part) in zip(figure.subplots(len(rows), 2, squeeze=False), rows, strict=True):
        draw_speeds(speed, part, family)
        if family == "mma.sync" and (ceiling := part.facts.get("mma_sync_tflops")):
            speed.axhline(ceiling, color=MARK, linestyle=":", linewidth=2)
            speed.annotate(
                f"mma.sync alone, {ceiling:,.0f} TFLOP/s", (0, ceiling), (6, 4), color=INK,
                xycoords=("axes fraction", "data"), textcoords="offset points",
            )  # fmt: skip
        draw_ratios(ratio, part)
        lowest = min(point.measurement.ratio for point in part.points)
        ratio.set_ylim(bottom=math.floor(10 * lowest) / 10 if lowest > 0.5 else 0)
        speeds.append(speed)
    for axes, (_, part) in zip(speeds, rows, strict=True):  # TFLOP/s have one scale on each GPU
        same_gpu = [other for other, (_, of) in zip(speeds, rows, strict=True) if of.gpu == part.gpu]
        axes.set_ylim(0, max(other.get_ylim()[1] for other in same_gpu))
    return figure


def draw_speeds(axes: "Axes", swept: SweepResults, family: str) -> None:
    """TFLOP/s over M = N = K."""
    baseline = baseline_speeds(swept)
    axes.plot(list(baseline), list(baseline.values()), **baseline_style(swept))
    for points, look in kernel_lines(swept):
        axes.plot([p.measurement.shape[0] for p in points], [p.measurement.tflops or 0 for p in points], **look)
    scale_sizes(axes, swept)
    axes.set_title(f"{swept.gpu}, bf16, {family}, {swept.regime}: TFLOP/s", loc="left", color=INK)
