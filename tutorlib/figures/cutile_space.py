"""The figure of notebook 07's space of tiles and hints."""

from collections.abc import Sequence
from itertools import product

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import INK
from tutorlib.figures.heatmap import Square, draw_heatmap
from tutorlib.figures.style import panel_for_each_gpu
from tutorlib.kernels.cutile.gemm import space
from tutorlib.measuring.results import Point, SweepResults
from tutorlib.problems.wrong import by

Tile = tuple[int, int, int]  # tm, tn, tk


def tile_heatmap(everything: Sequence[SweepResults] | None = None) -> Figure:
    """The fastest hints for each tile of C and each depth along K; a panel for each GPU. Raises NoData."""
    return panel_for_each_gpu("tile_space", everything, (9.5, 6.2), draw_space)


def draw_space(axes: Axes, swept: SweepResults) -> None:
    """The best TFLOP/s of each tile and its hints; hatched: fits with no hints, blank: not measured."""
    best: dict[Tile, Point] = {}
    for point in swept.points:
        tile = point.facts["config"]["tm"], point.facts["config"]["tn"], point.facts["config"]["tk"]
        if tile not in best or point.measurement.median_us < best[tile].measurement.median_us:
            best[tile] = point
    tiles, depths = sorted({tile[:2] for tile in best}), sorted({tile[2] for tile in best})
    fit = {(config.tm, config.tn, config.tk) for config in space()}
    unfit = {square((m, n, k)) for (m, n), k in product(tiles, depths) if (m, n, k) not in fit}
    draw_heatmap(
        axes,
        [by(tile) for tile in tiles],
        [str(k) for k in depths],
        {square(tile): point.measurement.tflops or 0 for tile, point in best.items()},
        {square(tile): hints(point.facts["config"]) for tile, point in best.items()},
        unfit,
    )
    axes.set_xlabel("tk, elements; hatched: fits with no hints" if unfit else "tk, elements")
    axes.set_ylabel("tm×tn, elements")
    axes.set_title(
        f"{swept.gpu}, {by(swept.shapes[0])} bf16, {swept.regime}: the best of each tile", loc="left", color=INK
    )


def square(tile: Tile) -> Square:
    """The row and column of a tile in the map."""
    return by(tile[:2]), str(tile[2])


def hints(config: dict) -> str:
    """The hints of a configuration, for its square."""
    return f"{config['num_worker_warps']} warps" + (f", {config['num_ctas']} CTAs" if config["num_ctas"] > 1 else "")
