"""Figures of notebook 07: its ladder over sizes, and the space of tiles and hints."""

from itertools import product
from typing import TYPE_CHECKING

from tutorlib.evidence import Data
from tutorlib.heatmap import Cell, draw_heatmap
from tutorlib.palette import FAINT, INK, LINES
from tutorlib.sweep_plots import MARKERS, swept
from tutorlib.tile_gemm import space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def tile_ladder(everything: list[Data] | None = None) -> "Figure":
    """Each rung's speed as a fraction of cuBLAS, a mark for each size; a panel for each GPU. Raises NoData."""
    from matplotlib.figure import Figure

    measured = swept("tile_rungs", everything)
    figure = Figure(figsize=(9.5, 4.2 * len(measured)), layout="constrained")
    for axes, data in zip(figure.subplots(len(measured), squeeze=False)[:, 0], measured, strict=True):
        draw_ladder(axes, data)
    return figure


def draw_ladder(axes: "Axes", data: Data) -> None:
    """Rungs from top to bottom in the order in which they were measured."""
    names = list(dict.fromkeys(point["name"] for point in data["points"]))
    sizes = sorted({point["shape"][0] for point in data["points"]})
    rows = range(len(names))
    for row in rows:
        axes.axhline(row, color=FAINT, linewidth=0.8, zorder=0)
    for size, colour, marker in zip(sizes, LINES, MARKERS, strict=False):
        ratios = {point["name"]: point["ratio"] for point in data["points"] if point["shape"][0] == size}
        axes.scatter(
            list(ratios.values()),
            [names.index(name) for name in ratios],
            color=colour,
            marker=marker,
            s=80,
            label=f"M = N = K = {size}",
            zorder=3,
        )
    axes.axvline(1, color=INK, linestyle="--", linewidth=2)
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(f"speed as a fraction of {data['points'][0]['baseline']}")
    axes.set_title(f"{data['machine']['gpu']}, bf16", loc="left", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def tile_heatmap(everything: list[Data] | None = None) -> "Figure":
    """For each tile of C and each depth along K the best that any hints gave; a panel for each GPU. Raises NoData."""
    from matplotlib.figure import Figure

    measured = swept("tile_space", everything)
    figure = Figure(figsize=(9.5, 6.2 * len(measured)), layout="constrained")
    for axes, data in zip(figure.subplots(len(measured), squeeze=False)[:, 0], measured, strict=True):
        draw_space(axes, data)
    return figure


def draw_space(axes: "Axes", data: Data) -> None:
    """The best TFLOP/s of each tile and its hints; hatched: fits with no hints, blank: not measured."""
    best: dict[tuple[int, int, int], dict] = {}
    for point in data["points"]:
        tile = point["config"]["tm"], point["config"]["tn"], point["config"]["tk"]
        if tile not in best or point["tflops"] > best[tile]["tflops"]:
            best[tile] = point
    tiles, depths = sorted({tile[:2] for tile in best}), sorted({tile[2] for tile in best})
    fit = {(config.tm, config.tn, config.tk) for config in space()}
    unfit = {cell(m, n, k) for (m, n), k in product(tiles, depths) if (m, n, k) not in fit}
    draw_heatmap(
        axes,
        [f"{m}×{n}" for m, n in tiles],
        [str(k) for k in depths],
        {cell(*tile): point["tflops"] for tile, point in best.items()},
        {cell(*tile): hints(point["config"]) for tile, point in best.items()},
        unfit,
    )
    axes.set_xlabel("tk; hatched: fits with no hints" if unfit else "tk")
    axes.set_ylabel("tm×tn")
    shape = "×".join(map(str, data["points"][0]["shape"]))
    axes.set_title(f"{data['machine']['gpu']}, {shape} bf16: the best of each tile", loc="left", color=INK)


def cell(tm: int, tn: int, tk: int) -> Cell:
    return f"{tm}×{tn}", str(tk)


def hints(config: dict) -> str:
    """What a cell says of a configuration beside its tile."""
    return f"{config['num_worker_warps']} warps" + (f", {config['num_ctas']} CTAs" if config["num_ctas"] > 1 else "")
