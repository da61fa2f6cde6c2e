"""The figure of the GEMM ladder: speed of each rung over square sizes. It grows with the reader, a page at a time."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import INK, MARK
from tutorlib.figures.style import (
    baseline_speeds,
    baseline_style,
    draw_ratios,
    kernel_lines,
    kernel_style,
    label_ends,
    scale_sizes,
)
from tutorlib.measuring.results import NoData, SweepResults, all_sweep_results, known_sweeps

FAMILIES: dict[str, Callable[[str], bool]] = {  # a rung's title begins with its notebook
    "mma.sync": lambda title: title < "13",
    "WGMMA": lambda title: title >= "13",
}
LAST = "14"
CHOSEN = "14 chosen"


def gemm_ladder(
    everything: Sequence[SweepResults] | None = None,
    up_to: str = LAST,
    beside_nvidia: Sequence[SweepResults] | None = None,
) -> Figure:
    """Speed over square sizes, and as a fraction of cuBLAS's, of rungs up to a notebook, "09" to "14".

    For each GPU a row with the rungs of mma.sync and, where it has that, one with those of WGMMA: of each family the
    first rung and the last three. mma.sync's row also has the rate of these instructions alone (left) and NVIDIA's
    example (right). beside_nvidia: the sweep gemm_nvidia. Raises NoData.
    """
    if everything is None:
        everything = [with_newer(swept) for swept in all_sweep_results("gemm_rungs")]
        beside_nvidia = known_sweeps("gemm_nvidia")
    rows = [
        (family, part)
        for swept in everything
        for family, belongs in FAMILIES.items()
        if (part := ends_of_family(swept, belongs, up_to)).points
    ]
    if not rows:
        raise NoData(f"no rung up to notebook {up_to} was measured: `tutor sweep gemm_rungs` does it")
    figure = Figure(figsize=(13, 4.6 * len(rows)), layout="constrained")
    speeds = []
    for (speed, ratio), (family, part) in zip(figure.subplots(len(rows), 2, squeeze=False), rows, strict=True):
        draw_speeds(speed, part, family)
        draw_ratios(ratio, part)
        lowest = min(point.measurement.ratio for point in part.points)
        ratio.set_ylim(bottom=math.floor(10 * lowest) / 10 if lowest > 0.5 else 0)
        if family == "mma.sync":
            draw_roof(speed, part)
            for example in beside_nvidia or ():
                if example.gpu == part.gpu:
                    fractions = fractions_of(part, example)
                    style = kernel_style(example.baseline, 0)
                    ratio.plot(sorted(fractions), [fractions[size] for size in sorted(fractions)], **style)
        label_ends(ratio)
        speeds.append(speed)
    for axes, (_, part) in zip(speeds, rows, strict=True):  # TFLOP/s have one scale on each GPU
        same_gpu = [other for other, (_, of) in zip(speeds, rows, strict=True) if of.gpu == part.gpu]
        axes.set_ylim(0, max(other.get_ylim()[1] for other in same_gpu))
    return figure


def with_newer(swept: SweepResults) -> SweepResults:
    """The sweep with the squares of gemm_any, where these are newer, in the place of its self-configuring rung."""
    for newer in known_sweeps("gemm_any"):
        if newer.gpu == swept.gpu and newer.date > swept.date:
            kept = [point for point in swept.points if point.name != CHOSEN]
            chosen = [replace(point, name=CHOSEN) for point in newer.points if point.measurement.shape in swept.shapes]
            return replace(swept, points=(*kept, *chosen))
    return swept


def ends_of_family(swept: SweepResults, belongs: Callable[[str], bool], up_to: str) -> SweepResults:
    """The sweep with the first rung of a family and its last three up to a notebook."""
    names = [name for name in swept.names if belongs(name) and name[:2] <= up_to]
    shown = {*names[:1], *names[-3:]}
    return replace(swept, points=tuple(point for point in swept.points if point.name in shown))


def draw_speeds(axes: Axes, swept: SweepResults, family: str) -> None:
    """TFLOP/s over M = N = K."""
    baseline = baseline_speeds(swept)
    axes.plot(list(baseline), list(baseline.values()), **baseline_style(swept))
    for points, look in kernel_lines(swept):
        axes.plot([p.measurement.shape[0] for p in points], [p.measurement.tflops or 0 for p in points], **look)
    scale_sizes(axes, swept)
    axes.set_title(f"{swept.gpu}, bf16, {family}, {swept.regime}", loc="left", color=INK)
    axes.set_ylabel("speed, TFLOP/s")


def draw_roof(axes: Axes, swept: SweepResults) -> None:
    """The rate of mma.sync when nothing keeps it waiting, if that was measured."""
    if ceiling := swept.facts.get("mma_sync_tflops"):
        axes.axhline(ceiling, color=MARK, linestyle=":", linewidth=2)
        axes.annotate(
            f"mma.sync alone, {ceiling:,.0f} TFLOP/s", (0, ceiling), (6, 4), color=INK,
            xycoords=("axes fraction", "data"), textcoords="offset points",
        )  # fmt: skip


def fractions_of(swept: SweepResults, example: SweepResults) -> Mapping[int, float]:
    """NVIDIA's example's speed as a fraction of the sweep's baseline's, at the sizes that both have.

    Of each rung that was timed beside both: its ratio to the baseline over its ratio to the example; their median.
    """
    found: dict[int, float] = {}
    for shape in example.shapes:
        ours = {point.name: point.measurement.ratio for point in swept.at(shape)}
        by_rung = [
            ours[point.name] / point.measurement.ratio for point in example.at(shape) if ours.get(point.name)
        ]  # fmt: skip
        if by_rung:
            found[shape[0]] = median(by_rung)
    return found
