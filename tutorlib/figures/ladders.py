"""Speeds over sizes: the ladders of GEMMs and of attention."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import INK, MARK
from tutorlib.figures.style import (
    baseline_style,
    draw_ratios,
    draw_speeds,
    kernel_style,
    label_ends,
    say_where,
    tidy_axes,
)
from tutorlib.measuring.results import NoData, SweepResults, all_sweep_results, known_sweeps
from tutorlib.problems.problem import Shape

FAMILIES: dict[str, Callable[[str], bool]] = {  # a rung's title begins with its notebook
    "mma.sync": lambda title: title < "14",
    "WGMMA": lambda title: title >= "14",
}
CHOSEN = "16 chosen"
IN_BRIEF = {  # a rung → its label in README
    "10 one buffer": "page 10: one buffer",
    "13 tuned": "page 13: tuned",
    "15 zigzag, polling": "page 15: warp roles",
    CHOSEN: "page 16: chosen for each size",
}


def gemm_ladder(everything: Sequence[SweepResults] | None = None, rungs: Sequence[str] = ()) -> Figure:
    """Speed over square sizes, and as a fraction of cuBLAS's, of the GEMM notebooks' kernels.

    For each GPU a row with the rungs of mma.sync and, where it has that, one with those of WGMMA: of each family the
    first rung and the last three. mma.sync's row also has the rate of these instructions alone. rungs: one row of
    these, not of families, and all from one session. Raises NoData.
    """
    if everything is None:
        everything = all_sweep_results("gemm_rungs")
    families = {"": rungs.__contains__} if rungs else FAMILIES
    rows = [
        (family, part)
        for swept in everything
        for family, belongs in families.items()
        if (part := ends_of_family(swept, belongs)).points
    ]
    if not rows:
        raise NoData("no rung was measured: `tutor sweep gemm_rungs` does it")
    figure = Figure(figsize=(13, 4.6 * len(rows)), layout="constrained")
    speeds = []
    for (speed, ratio), (family, part) in zip(figure.subplots(len(rows), 2, squeeze=False), rows, strict=True):
        draw_speeds(speed, part)
        say_where(speed, part, f"{family}, " * bool(family))
        draw_ratios(ratio, part)
        lowest = min(point.measurement.ratio for point in part.points)
        ratio.set_ylim(bottom=math.floor(10 * lowest) / 10 if lowest > 0.5 else 0)
        if family == "mma.sync":
            draw_roof(speed, part)
        label_ends(ratio)
        speeds.append(speed)
    for axes, (_, part) in zip(speeds, rows, strict=True):  # TFLOP/s have one scale on each GPU
        same_gpu = [other for other, (_, of) in zip(speeds, rows, strict=True) if of.gpu == part.gpu]
        axes.set_ylim(0, max(other.get_ylim()[1] for other in same_gpu))
    return figure


def ladder_in_brief() -> Figure:
    """README's figure: two rungs of each family, on the GPU swept last. Raises NoData."""
    swept = max(all_sweep_results("gemm_rungs"), key=lambda swept: swept.date)
    shown = [point for point in swept.points if point.name in IN_BRIEF]
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    for axes, (family, belongs) in zip(figure.subplots(1, 2, sharey=True), FAMILIES.items(), strict=True):
        draw_ratios(axes, replace(swept, points=tuple(point for point in shown if belongs(point.name))))
        axes.set_title(f"{swept.gpu}, bf16, {family}", loc="left", color=INK)
        axes.set_ylim(0, 1.05 * max(point.measurement.ratio for point in shown))
        baseline = f"{swept.baseline} = 1" if family == "mma.sync" else "_"  # one label for both panels
        for line in axes.get_lines():
            line.set_label(IN_BRIEF.get(str(line.get_label()), baseline))
        label_ends(axes)
    return figure


def ends_of_family(swept: SweepResults, belongs: Callable[[str], bool]) -> SweepResults:
    """The sweep with the first rung of a family and its last three."""
    names = [name for name in swept.names if belongs(name)]
    shown = {*names[:1], *names[-3:]}
    return replace(swept, points=tuple(point for point in swept.points if point.name in shown))


def draw_roof(axes: Axes, swept: SweepResults) -> None:
    """The rate of mma.sync when nothing keeps it waiting, if that was measured."""
    if ceiling := swept.facts.get("mma_sync_tflops"):
        axes.axhline(ceiling, color=MARK, linestyle=":", linewidth=2)
        axes.annotate(
            f"mma.sync alone, {ceiling:,.0f} TFLOP/s", (0, ceiling), (6, 4), color=INK,
            xycoords=("axes fraction", "data"), textcoords="offset points",
        )  # fmt: skip


KINDS = {"attention_full": "all keys", "attention_causal": "causal"}  # sweep → which keys a query sees
Heads = tuple[int, int, int]  # heads, those of K and V, head_dim


def attention_ladder(everything: Sequence[tuple[str, SweepResults]] | None = None) -> Figure:
    """TFLOP/s over tokens, beside torch's: a row for each GPU and kind of attention, a panel for each kind of heads.

    everything: (name of the sweep, its results). Raises NoData.
    """
    if everything is None:
        everything = [(name, swept) for name in KINDS for swept in known_sweeps(name)]
    if not everything:
        raise NoData("attention was not measured: `tutor sweep attention_full` does it")
    columns = sorted(
        {heads_of(shape) for _, swept in everything for shape in swept.shapes}, key=lambda heads: heads[::-1]
    )
    figure = Figure(figsize=(5 * len(columns), 4.2 * len(everything)), layout="constrained")
    rows = figure.subplots(len(everything), len(columns), squeeze=False, sharey="row")
    for panels, (name, swept) in zip(rows, everything, strict=True):
        for axes, heads in zip(panels, columns, strict=True):
            draw_one_kind(axes, swept, heads)
            axes.set_title(f"{swept.gpu}, {KINDS[name]}, {swept.regime}\n{heads_name(heads)}", loc="left", color=INK)
        panels[0].set_ylabel("speed, TFLOP/s")
        panels[0].set_ylim(bottom=0)
        for axes in panels:
            label_ends(axes)
    return figure


def draw_one_kind(axes: Axes, swept: SweepResults, heads: Heads) -> None:
    """A line for torch and for each kernel."""
    shapes = sorted((shape for shape in swept.shapes if heads_of(shape) == heads), key=lambda shape: shape[3])
    of_torch = [median(p.measurement.speeds[1] for p in swept.at(shape)) for shape in shapes]
    dash = {"marker": "_", "markersize": 12} if len(shapes) == 1 else {}  # one length has no line
    axes.plot([shape[3] for shape in shapes], of_torch, **(baseline_style(swept) | dash))
    for number, name in enumerate(swept.names):
        points = [p.measurement for p in swept.of_kernel(name) if heads_of(p.measurement.shape) == heads]
        points.sort(key=lambda each: each.shape[3])
        axes.plot(
            [each.shape[3] for each in points], [each.tflops or 0 for each in points], **kernel_style(name, number + 1)
        )
    axes.set_xscale("log", base=2)
    ticks = [shape[3] for shape in shapes]
    axes.set_xticks(ticks, map(str, ticks))
    axes.set_xlabel("tokens of a sequence")
    tidy_axes(axes)


def heads_of(shape: Shape) -> Heads:
    return shape[1], shape[2], shape[5]


def heads_name(heads: Heads) -> str:
    """ "16 heads of 128", or "16 heads of 128, 2 of K and V"."""
    count, kv_heads, head_dim = heads
    return f"{count} heads of {head_dim}" + (f", {kv_heads} of K and V" if kv_heads != count else "")
