"""The figure of notebook 16: the cost of an epilogue, and its gain over torch's kernels."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from tutorlib.draw.palette import INK
from tutorlib.figures.style import draw_dots
from tutorlib.measuring.results import SweepResults, all_sweep_results
from tutorlib.problems.wrong import by

PLAIN = "the plain GEMM"


def fusion(epilogues: Sequence[SweepResults] | None = None) -> Figure:
    """The sweep fused_epilogues: a column for each GPU; above, the kernels timed in turn with the plain GEMM, below,
    those timed in turn with torch's. Raises NoData.
    """
    if epilogues is None:
        epilogues = all_sweep_results("fused_epilogues")
    rows = {True: list[str](), False: list[str]()}  # timed beside the plain GEMM → names
    for point in epilogues[0].points:
        named = rows[point.measurement.baseline == PLAIN]
        named += [point.name] if point.name not in named else []
    figure = Figure(figsize=(3 + 5.5 * len(epilogues), 6.4), layout="constrained")
    heights = [2 + len(names) for names in rows.values()]
    panels = figure.subplots(2, len(epilogues), sharex="row", sharey="row", squeeze=False, height_ratios=heights)
    for swept, column in zip(epilogues, panels.T, strict=True):
        for axes, (plain, names) in zip(column, rows.items(), strict=True):
            points = [point for point in swept.points if point.name in names]
            draw_dots(axes, points, names, PLAIN if plain else "torch", by)
            axes.set_yticks(range(len(names)), [name.replace(" beside ", "\nbeside ") for name in names])
        column[0].set_title(f"{swept.gpu}, bf16, {swept.regime}", loc="left", color=INK)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure
