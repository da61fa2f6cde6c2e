"""The figure of notebook 12: tiles and stages."""

from collections.abc import Sequence
from itertools import product

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import INK
from tutorlib.figures.heatmap import draw_heatmap
from tutorlib.figures.style import panel_for_each_gpu
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.measuring.results import Point, SweepResults
from tutorlib.models.occupancy import BY_ARCH, blocks_per_sm
from tutorlib.problems.wrong import by


def gemm_stages(everything: Sequence[SweepResults] | None = None) -> Figure:
    """Notebook 12's kernel by tile and number of stages, the fastest outlined; a panel for each GPU. Raises NoData."""
    return panel_for_each_gpu("gemm_stages", everything, (9.5, 4.8), draw_stages)


def draw_stages(axes: Axes, swept: SweepResults) -> None:
    """TFLOP/s in each cell, below it warps × blocks on an SM. Hatched: not measured, too large for shared memory."""
    cells = {(by(point.facts["tile"]), str(point.facts["stages"])): point for point in swept.points}
    speeds = {cell: point.measurement.tflops or 0 for cell, point in cells.items()}
    notes = {cell: note for cell, point in cells.items() if (note := residents(point, swept.machine["arch"]))}
    tiles = list(dict.fromkeys(tile for tile, _ in speeds))
    stages = [str(n) for n in sorted({point.facts["stages"] for point in swept.points})]
    draw_heatmap(axes, tiles, stages, speeds, notes, set(product(tiles, stages)) - set(speeds))
    small = "; second line: warps × blocks on an SM" if notes else ""
    axes.set_xlabel(f"stages{small}; hatched: {'too large for shared memory' if swept.complete else 'not measured'}")
    axes.set_title(f"{swept.gpu}, {by(swept.shapes[0])} bf16, {swept.regime}", loc="left", color=INK)
    axes.set_ylabel("tile, M×N×K")


def residents(point: Point, arch: str) -> str:
    """Warps of a block × blocks on an SM, "4 × 2"; "" if unknown."""
    if "registers" not in point.facts or arch not in BY_ARCH:
        return ""
    config = GemmConfig(point.facts["tile"], point.facts["warps"], point.facts["stages"])
    blocks = blocks_per_sm(BY_ARCH[arch], config.smem_bytes, point.facts["registers"], config.threads)
    return f"{config.threads // 32} × {blocks}"
