"""The GEMM ladder under the datasheet's roofs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import INK
from tutorlib.figures.gemm_ladder import FAMILIES
from tutorlib.figures.style import baseline_speeds, baseline_style, kernel_lines, label_ends, powers_of_two, tidy_axes
from tutorlib.machine.hardware import Hardware, hardware_of
from tutorlib.measuring.results import NoData, SweepResults, all_sweep_results
from tutorlib.problems.catalogue import gemm

SPEEDS = (10, 20, 50, 100, 200, 500, 1000, 2000)  # TFLOP/s at the ticks of an axis


def roofline(everything: Sequence[SweepResults] | None = None) -> Figure:
    """The first and the last rung of each family of instructions at each square size, under the datasheet's two roofs.

    A panel for each GPU of the hardware table. A point's intensity assumes that every input is read from memory once
    and the output written once. Raises NoData.
    """
    everything = everything or all_sweep_results("gemm_rungs")
    known = [(swept, found) for swept in everything if (found := hardware_of(swept.gpu))]
    if not known:
        raise NoData("the hardware table has none of the GPUs that were measured")
    figure = Figure(figsize=(12, 5.4 * len(known)), layout="constrained")
    for axes, (swept, found) in zip(figure.subplots(len(known), squeeze=False)[:, 0], known, strict=True):
        draw_roofline(axes, swept, found)
    return figure


def draw_roofline(axes: Axes, swept: SweepResults, hardware: Hardware) -> None:
    """FLOP/s over FLOP for each byte, both axes logarithmic."""
    problem, baseline = gemm("bf16"), baseline_speeds(swept)
    intensity = {size: problem.flops((size,) * 3) / problem.bytes((size,) * 3) for size in baseline}
    peak, ridge = hardware.flops["bf16"], hardware.flops["bf16"] / hardware.bandwidth
    left, right = min(*intensity.values(), ridge) / 2, max(*intensity.values(), ridge) * 1.4
    low, high = left * hardware.bandwidth / 1e12, peak / 1e12
    axes.plot([left, ridge, right], [low, high, high], color=INK, linewidth=2.5)
    words: dict[str, Any] = {"textcoords": "offset points", "color": INK}
    axes.annotate(f"memory, {hardware.bandwidth / 1e12:.1f} TB/s", (left, low), (36, 2), va="top", **words)
    axes.annotate(f"tensor cores, {high:,.0f} TFLOP/s", (right, high), (0, 7), ha="right", **words)
    axes.plot([intensity[size] for size in baseline], list(baseline.values()), **baseline_style(swept))
    families = ([name for name in swept.names if belongs(name)] for belongs in FAMILIES.values())
    shown = {name for names in families for name in (*names[:1], *names[-1:])}
    for points, look in kernel_lines(replace(swept, points=tuple(p for p in swept.points if p.name in shown))):
        measured = [point.measurement for point in points]
        axes.plot([intensity[m.shape[0]] for m in measured], [m.tflops or 0 for m in measured], **look)
    lowest = min(low, *(point.measurement.tflops or low for point in swept.points)) / 1.3
    axes.set(xscale="log", yscale="log", ylim=(lowest, 1.5 * high), ylabel="speed, TFLOP/s")
    named = powers_of_two(swept)
    axes.set_xticks([intensity[size] for size in named], [f"{intensity[size]:.0f}\n{size}" for size in named])
    speeds = [speed for speed in SPEEDS if lowest < speed < 1.5 * high]
    axes.set_yticks(speeds, map(str, speeds))
    axes.minorticks_off()
    axes.set_xlabel("arithmetic intensity, FLOP per byte of A, B and C; below it M = N = K")
    axes.set_title(f"{swept.gpu}, bf16, {swept.regime}", loc="left", color=INK)
    tidy_axes(axes)
    label_ends(axes)
