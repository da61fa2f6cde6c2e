"""The figure of notebook 11: orders of blocks, their speed and the bytes that they read from memory."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import CATEGORIES, INK, MARK
from tutorlib.figures.style import draw_ratios, label_ends, tidy_axes
from tutorlib.machine.hardware import Hardware, hardware_of
from tutorlib.measuring.counters import MEMORY_READ, WAVES
from tutorlib.measuring.results import Point, SweepResults, all_sweep_results
from tutorlib.models.l2 import ORDERS, Traffic, traffic
from tutorlib.problems.wrong import by


def gemm_orders(everything: Sequence[SweepResults] | None = None) -> Figure:
    """Orders of blocks: speed over size, and bytes read from memory at the largest, counted and by the model of `l2`.

    A row for each GPU. Raises NoData.
    """
    everything = everything or all_sweep_results("gemm_orders")
    figure = Figure(figsize=(13, 4.6 * len(everything)), layout="constrained")
    for (ratio, memory), swept in zip(figure.subplots(len(everything), 2, squeeze=False), everything, strict=True):
        draw_ratios(ratio, swept)
        ratios = [point.measurement.ratio for point in swept.points]
        ratio.set_ylim(min(ratios) - 0.05, 1.02)
        ratio.set_title(f"{swept.gpu}, bf16, {swept.regime}", loc="left", color=INK)
        label_ends(ratio)
        draw_memory(memory, swept)
    return figure


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
