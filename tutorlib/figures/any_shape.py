"""The self-configuring GEMM at any shape, and on the weights of language models."""

from collections.abc import Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import FAINT, INK, MARK, SHADES
from tutorlib.figures.style import MARKERS, label_ends, tidy_axes
from tutorlib.machine.hardware import hardware_of
from tutorlib.measuring.measurement import Measurement
from tutorlib.measuring.results import SweepResults, all_sweep_results
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.wrong import by


def draw_shapes(axes: Axes, swept: SweepResults) -> None:
    """A mark for each shape; the key has the medians, a line that of all random shapes, a label the slowest shape."""
    problem, kinds = gemm("bf16"), kinds_of(swept)

    def intensity(measured: Measurement) -> float:
        return problem.flops(measured.shape) / problem.bytes(measured.shape)

    axes.axhline(1, color=INK, linestyle="--", linewidth=2)
    if hardware := hardware_of(swept.gpu):
        ridge = hardware.flops["bf16"] / hardware.bandwidth
        axes.axvline(ridge, color=FAINT, linestyle=":", linewidth=1.5)
        axes.annotate(
            "memory limits | tensor cores limit", (ridge, 1), (0, -4), ha="center", va="top", color=INK, fontsize=9,
            xycoords=("data", "axes fraction"), textcoords="offset points", backgroundcolor="white",
        )  # fmt: skip
    for (kind, measured), color, marker in zip(kinds.items(), (SHADES[2], SHADES[3], SHADES[0]), "soD", strict=False):
        axes.scatter(
            [intensity(one) for one in measured], [one.ratio for one in measured],
            color=color, marker=marker, s=55, label=f"{kind}: {told(measured)}", zorder=3,
        )  # fmt: skip
    if drawn := [one for measured in list(kinds.values())[1:] for one in measured]:
        middle = median(one.ratio for one in drawn)
        axes.axhline(middle, color=SHADES[1], linewidth=1.5, label=f"all random ones: {told(drawn)}")
    least = min((point.measurement for point in swept.points), key=lambda one: one.ratio)
    axes.scatter([intensity(least)], [least.ratio], s=170, facecolors="none", edgecolors=MARK, linewidths=2, zorder=4)
    axes.annotate(
        f"{least.ratio:.3f} at {by(least.shape)}", (intensity(least), least.ratio), (8, -8), va="top",
        textcoords="offset points", color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}, zorder=5,
    )  # fmt: skip
    axes.margins(y=0.1)  # room for that below the point
    axes.set_xscale("log", base=2)
    axes.set_xlabel("arithmetic intensity, FLOP per byte of A, B and C")
    axes.set_ylabel(f"speed as a fraction of {swept.baseline}'s")
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_title(f"{swept.gpu}, bf16, {swept.regime}: gemm(a, b, c) at any shape", loc="left", color=INK)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    tidy_axes(axes)


def told(measured: Sequence[Measurement]) -> str:
    """The number of shapes, their median ratio, and how many are slower than the baseline."""
    if not measured:
        return "0"
    middle = median(one.ratio for one in measured)
    return f"{len(measured)}, median {middle:.3f}, {sum(one.ratio < 1 for one in measured)} below 1"


def kinds_of(swept: SweepResults) -> dict[str, list[Measurement]]:
    """The measurements of gemm_any: squares first, then the random shapes of each seed."""
    drawn = {seed: set(map(tuple, shapes)) for seed, shapes in swept.facts["random"].items()}
    measured = [point.measurement for point in swept.points]
    kinds = {"M = N = K": [one for one in measured if not any(one.shape in shapes for shapes in drawn.values())]}
    for seed, shapes in drawn.items():
        kinds[f"random, seed {seed}"] = [one for one in measured if one.shape in shapes]
    return kinds


COLORS = (SHADES[1], SHADES[2], SHADES[3])
MANY = 512  # tokens
GLYPHS = dict(zip("os^vDP", "●■▲▼◆✚", strict=True))  # of the markers, for labels away from their line's end


def gemm_models(everything: Sequence[SweepResults] | None = None) -> Figure:
    """Speed as a fraction of cuBLAS's over the number of tokens: a row for each GPU, a panel for each model.

    Raises NoData.
    """
    everything = everything or all_sweep_results("gemm_models")
    figure = Figure(figsize=(15, 4.6 * len(everything)), layout="constrained")
    for part, swept in zip(figure.subfigures(len(everything), squeeze=False)[:, 0], everything, strict=True):
        models = swept.facts["models"]
        part.suptitle(
            f"{swept.gpu}, bf16, {swept.regime}: {middle_and_least(measured_of(swept))}\n"
            + few_and_many(measured_of(swept)),
            x=0.01, ha="left", color=INK,
        )  # fmt: skip
        panels = part.subplots(1, len(models), sharey=True)
        for axes, model, color in zip(panels, models, COLORS, strict=True):
            draw_model(axes, swept, model, color)
        panels[0].set_ylabel(f"speed as a fraction of {swept.baseline}'s\n(bars: quartiles of the pairs)")
    return figure


def draw_model(axes: Axes, swept: SweepResults, model: str, color: str) -> None:
    """A line for each weight of a model."""
    axes.axhline(1, color=INK, linestyle="--", linewidth=2)
    weights = swept.facts["models"][model]
    for (name, (n, k)), marker in zip(weights.items(), MARKERS, strict=False):
        line = [one for one in measured_of(swept) if one.shape[1:] == (n, k)]
        tokens, ratios = [one.shape[0] for one in line], [one.ratio for one in line]
        axes.plot(tokens, ratios, color=color, marker=marker, markersize=6, label=f"{GLYPHS[marker]} {name}, {n}×{k}")
        halves = [one.ratio * one.spread / 2 for one in line]
        lower, upper = ([r + sign * half for r, half in zip(ratios, halves, strict=True)] for sign in (-1, 1))
        axes.vlines(tokens, lower, upper, color=color, linewidth=1, alpha=0.6)
    counts = sorted({one.shape[0] for one in measured_of(swept)})
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, map(str, counts), rotation=45)
    axes.set_xlabel("tokens, the rows of A")
    of_model = [one for one in measured_of(swept) if list(one.shape[1:]) in weights.values()]
    axes.set_title(f"{model}\n{middle_and_least(of_model)}", loc="left", color=INK, fontsize=10)
    tidy_axes(axes)
    label_ends(axes)


def measured_of(swept: SweepResults) -> list[Measurement]:
    """From the fewest tokens on."""
    return sorted((point.measurement for point in swept.points), key=lambda one: one.shape)


def few_and_many(measured: Sequence[Measurement]) -> str:
    """The median ratios of few tokens and of many, and of how far their quartiles are from them."""
    told = []
    for name, of in (("below", [one for one in measured if one.shape[0] < MANY]),
                     ("from", [one for one in measured if one.shape[0] >= MANY])):  # fmt: skip
        if of:
            middle, spread = median(one.ratio for one in of), median(one.spread / 2 for one in of)
            told.append(f"{name} {MANY} tokens: median {middle:.3f}, of a shape's pairs ±{spread:.1%}")
    return "; ".join(told)


def middle_and_least(measured: Sequence[Measurement]) -> str:
    """The number of shapes, their median ratio, and the least with its shape."""
    least = min(measured, key=lambda one: one.ratio)
    middle = median(one.ratio for one in measured)
    return f"{len(measured)} shapes, median {middle:.3f}, least {least.ratio:.3f} at {by(least.shape)}"
