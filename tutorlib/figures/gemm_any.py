"""The figure of the self-configuring GEMM at any shape."""

from collections.abc import Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import FAINT, INK, MARK, SHADES
from tutorlib.figures.style import panel_for_each_gpu, tidy_axes
from tutorlib.machine.hardware import hardware_of
from tutorlib.measuring.measurement import Measurement
from tutorlib.measuring.results import SweepResults
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.wrong import by


def gemm_any(everything: Sequence[SweepResults] | None = None) -> Figure:
    """Speed as a fraction of cuBLAS's over arithmetic intensity, squares and random shapes; a panel for each GPU.

    Raises NoData.
    """
    return panel_for_each_gpu("gemm_any", everything, (11, 5.2), draw_shapes)


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
