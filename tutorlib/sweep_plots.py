"""Figures of the sweeps: the ladder of GEMMs over sizes and under the roofs; tiles and stages; orders of blocks."""

from collections.abc import Iterator
from itertools import cycle, product
from statistics import median
from typing import TYPE_CHECKING

from tutorlib import sweeps
from tutorlib.counters import MEMORY_READ, WAVES
from tutorlib.device import Hardware, hardware_of
from tutorlib.evidence import Data, NoData
from tutorlib.heatmap import draw_heatmap
from tutorlib.l2 import ORDERS, Traffic, traffic
from tutorlib.palette import CATEGORIES, FAINT, INK, LINES, MARK
from tutorlib.problem import gemm

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "os^vDP"  # so that a line is told without its colour
SPEEDS = (10, 20, 50, 100, 200, 500, 1000, 2000)  # TFLOP/s, where an axis names them


def gemm_ladder(everything: list[Data] | None = None) -> "Figure":
    """Speed of each rung of notebooks 09 to 12 over square sizes, and as a fraction of cuBLAS; a row for each GPU.

    Raises NoData.
    """
    from matplotlib.figure import Figure

    measured = swept("gemm_rungs", everything)
    figure = Figure(figsize=(13, 4.6 * len(measured)), layout="constrained")
    for (speed, ratio), data in zip(figure.subplots(len(measured), 2, squeeze=False), measured, strict=True):
        draw_speeds(speed, data)
        draw_ratios(ratio, data)
    return figure


def swept(name: str, everything: list[Data] | None) -> list[Data]:
    """What a sweep measured, one for each GPU. Raises NoData where there is none."""
    measured = sweeps.all_data(name) if everything is None else everything
    if not measured:
        raise NoData(f"not measured yet: run `tutor sweep {name}` on a machine with a GPU")
    return measured


def lines(data: Data) -> Iterator[tuple[str, list[dict], dict]]:
    """Each kernel's name, its points from the smallest shape on, and how its line looks."""
    points: dict[str, list[dict]] = {}
    for point in sorted(data["points"], key=lambda point: point["shape"]):
        points.setdefault(point["name"], []).append(point)
    for (name, own), colour, marker in zip(points.items(), cycle(LINES), cycle(MARKERS)):
        yield name, own, {"color": colour, "marker": marker, "markersize": 7, "linewidth": 2, "label": name}


def baseline_speeds(data: Data) -> dict[int, float]:
    """TFLOP/s of the baseline at each square size: the median of its times beside the kernels."""
    found: dict[int, list[float]] = {}
    for point in data["points"]:
        found.setdefault(point["shape"][0], []).append(point["tflops"] * point["median_us"] / point["baseline_us"])
    return {size: median(speeds) for size, speeds in sorted(found.items())}


def baseline_style(data: Data) -> dict:
    return {"color": INK, "linestyle": "--", "linewidth": 2.5, "label": data["points"][0]["baseline"]}


def draw_speeds(axes: "Axes", data: Data) -> None:
    """TFLOP/s over M = N = K."""
    baseline = baseline_speeds(data)
    axes.plot(list(baseline), list(baseline.values()), **baseline_style(data))
    draw_over_size(axes, data, "tflops")
    axes.set_title(f"{data['machine']['gpu']}, bf16: TFLOP/s", loc="left", color=INK)


def draw_ratios(axes: "Axes", data: Data) -> None:
    """The baseline's time over the kernel's, over M = N = K."""
    style = baseline_style(data)
    axes.axhline(1, **style)
    draw_over_size(axes, data, "ratio")
    axes.set_title(f"the same as a fraction of {style['label']}", loc="left", color=INK)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def draw_over_size(axes: "Axes", data: Data, key: str) -> None:
    """`key` of each kernel over the size, on a scale on which sizes double at equal distances."""
    for _, points, style in lines(data):
        axes.plot([point["shape"][0] for point in points], [point[key] for point in points], **style)
    axes.set_xscale("log", base=2)
    ticks = powers_of_two(data)
    axes.set_xticks(ticks, map(str, ticks))
    axes.set_xlabel("M = N = K")
    axes.set_ylim(bottom=0)
    plain(axes)


def powers_of_two(data: Data) -> list[int]:
    """The sizes that an axis names."""
    return [size for size in baseline_speeds(data) if size & (size - 1) == 0]


def plain(axes: "Axes") -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=FAINT, alpha=0.3)


def roofline(everything: list[Data] | None = None) -> "Figure":
    """Each rung at each square size under the datasheet's two roofs; a panel for each GPU that the table has.

    A point stands where it would if every input were read from memory once and the output written once.
    Raises NoData.
    """
    from matplotlib.figure import Figure

    known = [
        (data, found) for data in swept("gemm_rungs", everything) if (found := hardware_of(data["machine"]["gpu"]))
    ]
    if not known:
        raise NoData("the hardware table has none of the GPUs that were measured")
    figure = Figure(figsize=(10, 5.4 * len(known)), layout="constrained")
    for axes, (data, found) in zip(figure.subplots(len(known), squeeze=False)[:, 0], known, strict=True):
        draw_roofline(axes, data, found)
    return figure


def draw_roofline(axes: "Axes", data: Data, hardware: Hardware) -> None:
    """FLOP/s over FLOP for each byte, both axes logarithmic."""
    problem, baseline = gemm("bf16"), baseline_speeds(data)
    intensity = {size: problem.flops((size,) * 3) / problem.bytes((size,) * 3) for size in baseline}
    peak, ridge = hardware.flops["bf16"], hardware.flops["bf16"] / hardware.bandwidth
    left, right = min(*intensity.values(), ridge) / 2, max(*intensity.values(), ridge) * 1.4
    low, high = left * hardware.bandwidth / 1e12, peak / 1e12
    axes.plot([left, ridge, right], [low, high, high], color=INK, linewidth=2.5)
    said = {"textcoords": "offset points", "color": INK}
    axes.annotate(f"memory, {hardware.bandwidth / 1e12:.1f} TB/s", (left, low), (36, 2), va="top", **said)
    axes.annotate(f"tensor cores, {high:,.0f} TFLOP/s", (right, high), (0, 7), ha="right", **said)
    axes.plot([intensity[size] for size in baseline], list(baseline.values()), **baseline_style(data))
    for _, points, style in lines(data):
        axes.plot([intensity[point["shape"][0]] for point in points], [point["tflops"] for point in points], **style)
    lowest = min(low, *(point["tflops"] for point in data["points"])) / 1.3
    axes.set(xscale="log", yscale="log", ylim=(lowest, 1.5 * high), ylabel="TFLOP/s")
    named = powers_of_two(data)
    axes.set_xticks([intensity[size] for size in named], [f"{intensity[size]:.0f}\n{size}³" for size in named])
    speeds = [speed for speed in SPEEDS if lowest < speed < 1.5 * high]
    axes.set_yticks(speeds, map(str, speeds))
    axes.minorticks_off()
    axes.set_xlabel("FLOP for each byte that must cross memory; below, the size")
    axes.set_title(f"{data['machine']['gpu']}, bf16", loc="left", color=INK)
    axes.legend(loc="lower right", frameon=False)
    plain(axes)


def gemm_orders(everything: list[Data] | None = None) -> "Figure":
    """Orders of blocks: speed over size, and what memory sends at the largest, counted and by the model of `l2`.

    A row for each GPU. Raises NoData.
    """
    from matplotlib.figure import Figure

    measured = swept("gemm_orders", everything)
    figure = Figure(figsize=(13, 4.6 * len(measured)), layout="constrained")
    for (ratio, memory), data in zip(figure.subplots(len(measured), 2, squeeze=False), measured, strict=True):
        draw_ratios(ratio, data)
        ratio.set_title(
            f"{data['machine']['gpu']}, bf16: fraction of {data['points'][0]['baseline']}", loc="left", color=INK
        )
        draw_memory(memory, data)
    return figure


def draw_memory(axes: "Axes", data: Data) -> None:
    """GB that memory sends, a bar for each order; strokes for the model, a line for A and B once."""
    largest = max(point["shape"] for point in data["points"])
    points = [point for point in data["points"] if point["shape"] == largest and point["name"] in data["counters"]]
    names, found = [point["name"] for point in points], [data["counters"][point["name"]] for point in points]
    axes.barh(names, [counts[MEMORY_READ] / 1e9 for counts in found], color=CATEGORIES[0], label="counted")
    if points and (hardware := hardware_of(data["machine"]["gpu"])):
        models = [modelled(point, counts[WAVES], hardware) for point, counts in zip(points, found, strict=True)]
        fetched = [model.fetched / 1e9 for model in models]
        axes.scatter(fetched, names, marker="|", s=900, color=INK, linewidths=3, label="model", zorder=3)
        axes.axvline(models[0].least / 1e9, color=MARK, linestyle="--", label="A and B once")
    axes.invert_yaxis()
    axes.set_xlabel("GB" if points else "no counters: ncu was not there, or may not count")
    axes.set_title(f"read from memory at {'×'.join(map(str, largest))}", loc="left", color=INK)
    axes.legend(loc="lower right", frameon=False, markerscale=0.4)
    plain(axes)


def modelled(point: dict, waves: float, hardware: Hardware) -> Traffic:
    """The model of a point of gemm_orders: half of L2, since both halves may keep a line, and a drift of an eighth."""
    (m, n, k), (tile_m, tile_n, tile_k) = point["shape"], point["tile"]
    grid = -(-m // tile_m), -(-n // tile_n)
    in_flight = round(grid[0] * grid[1] / waves)
    tile_bytes = 2 * tile_m * tile_k, 2 * tile_n * tile_k
    order = ORDERS[point["name"]]
    return traffic(grid, order, -(-k // tile_k), tile_bytes, in_flight, hardware.l2 // 2, drift=0.125)


def gemm_stages(everything: list[Data] | None = None) -> "Figure":
    """Notebook 12's kernel by tile and number of stages, the fastest outlined; a panel for each GPU. Raises NoData."""
    from matplotlib.figure import Figure

    measured = swept("gemm_stages", everything)
    figure = Figure(figsize=(9.5, 4.8 * len(measured)), layout="constrained")
    for axes, data in zip(figure.subplots(len(measured), squeeze=False)[:, 0], measured, strict=True):
        draw_stages(axes, data)
    return figure


def draw_stages(axes: "Axes", data: Data) -> None:
    """TFLOP/s in each cell; hatched is what was not measured, since it does not fit into shared memory."""
    speeds = {("×".join(map(str, point["tile"])), str(point["stages"])): point["tflops"] for point in data["points"]}
    tiles = list(dict.fromkeys(tile for tile, _ in speeds))
    stages = [str(n) for n in sorted({point["stages"] for point in data["points"]})]
    draw_heatmap(axes, tiles, stages, speeds, {}, set(product(tiles, stages)) - set(speeds))
    axes.set_xlabel(f"stages; hatched: {'no room in shared memory' if data['complete'] else 'not measured'}")
    shape = "×".join(map(str, data["points"][0]["shape"]))
    axes.set_title(f"{data['machine']['gpu']}, {shape} bf16, tiles of M×N×K", loc="left", color=INK)
