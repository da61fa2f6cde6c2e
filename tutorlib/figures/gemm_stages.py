"""The figure of notebook 12: tiles and stages."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from tutorlib.draw.palette import INK
from tutorlib.figures.heatmap import draw_heatmap
from tutorlib.measuring.results import SweepResults, all_sweep_results
from tutorlib.problems.wrong import by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def gemm_stages(everything: Sequence[SweepResults] | None = None) -> "Figure":
    """Notebook 12's kernel by tile and number of stages, the fastest outlined; a panel for each GPU. Raises NoData."""
    from matplotlib.figure import Figure

    everything = everything or all_sweep_results("gemm_stages")
    figure = Figure(figsize=(9.5, 4.8 * len(everything)), layout="constrained")
    for axes, swept in zip(figure.subplots(len(everything), squeeze=False)[:, 0], everything, strict=True):
        draw_stages(axes, swept)
    return figure


def draw_stages(axes: "Axes", swept: SweepResults) -> None:
    """TFLOP/s in each cell; hatched is what was not measured, since it does not fit into shared memory."""
    speeds = {(by(p.facts["tile"]), str(p.facts["stages"])): p.measurement.tflops or 0 for p in swept.points}
    tiles = list(dict.fromkeys(tile for tile, _ in speeds))
    stages = [str(n) for n in sorted({point.facts["stages"] for point in swept.points})]
    draw_heatmap(axes, tiles, stages, speeds, {}, set(product(tiles, stages)) - set(speeds))
    axes.set_xlabel(f"stages; hatched: {'no room in shared memory' if swept.complete else 'not measured'}")
    axes.set_title(f"{swept.gpu}, {by(swept.shapes[0])} bf16, {swept.regime}, tiles of M×N×K", loc="left", color=INK)
