"""Figures of notebook 07: its ladder over sizes, and the space of tiles and hints."""

from typing import TYPE_CHECKING

from tutorlib.evidence import Data
from tutorlib.palette import FAINT, INK, LINES, MARK, RAMP
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
    """TFLOP/s and hints in each cell, the fastest outlined; hatched: fits with no hints, blank: not measured."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    best: dict[tuple[tuple[int, int], int], dict] = {}
    for point in data["points"]:
        config = point["config"]
        cell = (config["tm"], config["tn"]), config["tk"]
        if cell not in best or point["tflops"] > best[cell]["tflops"]:
            best[cell] = point
    fit = {((config.tm, config.tn), config.tk) for config in space()}
    tiles, depths = sorted({tile for tile, _ in best}), sorted({depth for _, depth in best})
    winner = max(best, key=lambda cell: best[cell]["tflops"])
    table = [
        [best[tile, depth]["tflops"] if (tile, depth) in best else float("nan") for depth in depths] for tile in tiles
    ]
    picture = axes.imshow(table, cmap=LinearSegmentedColormap.from_list("ramp", RAMP), aspect="auto")
    for row, tile in enumerate(tiles):
        for column, depth in enumerate(depths):
            corner = column - 0.5, row - 0.5
            if (tile, depth) not in fit:
                axes.add_patch(Rectangle(corner, 1, 1, hatch="////", facecolor="white", edgecolor=FAINT, linewidth=0))
            if (tile, depth) not in best:
                continue
            point = best[tile, depth]
            hints = f"{point['config']['num_worker_warps']} warps"
            if point["config"]["num_ctas"] > 1:
                hints += f", {point['config']['num_ctas']} CTAs"
            axes.text(column, row, f"{point['tflops']:.0f}\n{hints}", ha="center", va="center", color=INK, fontsize=9)
            if (tile, depth) == winner:
                axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=MARK, linewidth=3, zorder=3))
    axes.figure.colorbar(picture, ax=axes, label="TFLOP/s")
    axes.set_xticks(range(len(depths)), map(str, depths))
    axes.set_yticks(range(len(tiles)), [f"{m}×{n}" for m, n in tiles])
    unfit = any((tile, depth) not in fit for tile in tiles for depth in depths)
    axes.set_xlabel("tk; hatched: fits with no hints" if unfit else "tk")
    axes.set_ylabel("tm×tn")
    shape = "×".join(map(str, data["points"][0]["shape"]))
    axes.set_title(f"{data['machine']['gpu']}, {shape} bf16: the best of each tile", loc="left", color=INK)
