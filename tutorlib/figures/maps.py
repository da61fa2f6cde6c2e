"""Maps of tiles by stages and by depth, and the traffic of orders of blocks."""

from collections.abc import Collection, Mapping, Sequence
from itertools import product

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from tutorlib.draw.palette import CATEGORIES, FAINT, INK, MARK, RAMP
from tutorlib.figures.style import draw_ratios, label_ends, say_where, tidy_axes
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.cutile.gemm import space
from tutorlib.machine.hardware import Hardware, hardware_of
from tutorlib.measuring.counters import MEMORY_READ, WAVES
from tutorlib.measuring.results import Point, SweepResults
from tutorlib.models.l2 import ORDERS, Traffic, traffic
from tutorlib.models.occupancy import BY_ARCH, blocks_per_sm
from tutorlib.problems.wrong import by

Square = tuple[str, str]  # names of its row and of its column


def draw_heatmap(
    axes: Axes,
    rows: Sequence[str],
    columns: Sequence[str],
    speeds: Mapping[Square, float],
    notes: Mapping[Square, str],
    hatched: Collection[Square],
) -> None:
    """TFLOP/s and, below, a note in each square. A square that has no speed and is not hatched stays blank."""
    fastest = max(speeds, key=speeds.__getitem__)
    table = [[speeds.get((row, column), float("nan")) for column in columns] for row in rows]
    picture = axes.imshow(table, cmap=LinearSegmentedColormap.from_list("ramp", RAMP), aspect="auto")
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            square, corner = (row, column), (x - 0.5, y - 0.5)
            if square in hatched:
                axes.add_patch(Rectangle(corner, 1, 1, hatch="////", facecolor="white", edgecolor=FAINT, linewidth=0))
            if square in speeds:
                words = "\n".join(filter(None, (f"{speeds[square]:.0f}", notes.get(square))))
                axes.text(x, y, words, ha="center", va="center", color=INK, fontsize=9 if notes else None)
            if square == fastest:
                axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=MARK, linewidth=3, zorder=3))
    axes.figure.colorbar(picture, ax=axes, label="TFLOP/s")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)


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


Tile = tuple[int, int, int]  # tm, tn, tk


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


def draw_orders(ratio: Axes, memory: Axes, swept: SweepResults) -> None:
    """Speed over size of each order of blocks; bytes read from memory at the largest, counted and modeled."""
    draw_ratios(ratio, swept)
    ratios = [point.measurement.ratio for point in swept.points]
    ratio.set_ylim(min(ratios) - 0.05, 1.02)
    say_where(ratio, swept)
    label_ends(ratio)
    draw_memory(memory, swept)


def draw_memory(axes: Axes, swept: SweepResults) -> None:
    """GB read from memory, a bar for each order; strokes for the model, a line for A and B read once."""
    largest = swept.shapes[-1]
    points = [point for point in swept.at(largest) if point.name in swept.counters]
    names, found = [point.name for point in points], [swept.counters[point.name] for point in points]
    axes.barh(names, [counts[MEMORY_READ] / 1e9 for counts in found], color=CATEGORIES[0], label="counted")
    if points and (hardware := hardware_of(swept.gpu)):
        models = [model(point, counts[WAVES], hardware) for point, counts in zip(points, found, strict=True)]
        fetched = [modeled.fetched / 1e9 for modeled in models]
        axes.scatter(fetched, names, marker="|", s=900, color=INK, linewidths=3, label="model", zorder=3)
        axes.axvline(models[0].least / 1e9, color=MARK, linestyle="--", label="A and B once each")
    axes.invert_yaxis()
    axes.set_xlabel("bytes read from memory, GB" if points else "no counters: ncu was not there, or may not count")
    axes.set_title(f"at {by(largest)}", loc="left", color=INK)
    axes.legend(loc="lower right", frameon=False, markerscale=0.4)
    tidy_axes(axes)


def model(point: Point, waves: float, hardware: Hardware) -> Traffic:
    """The traffic model for a point, with half of L2, since both halves may hold a line, and a drift of an eighth."""
    (m, n, k), (tile_m, tile_n, tile_k) = point.measurement.shape, point.facts["tile"]
    grid = -(-m // tile_m), -(-n // tile_n)
    in_flight = round(grid[0] * grid[1] / waves)
    tile_bytes = 2 * tile_m * tile_k, 2 * tile_n * tile_k
    return traffic(grid, ORDERS[point.name], -(-k // tile_k), tile_bytes, in_flight, hardware.l2 // 2, drift=0.125)
