"""A student's kernels under the roofs of the GPU that timed them."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from tutorlib.draw.palette import INK, LINES
from tutorlib.figures.roofline import SPEEDS
from tutorlib.figures.style import MARKERS, tidy_axes
from tutorlib.machine.hardware import Hardware
from tutorlib.measuring.measurement import Measurement
from tutorlib.problems.problem import Problem


def own_roofline(kernels: Mapping[str, tuple[Measurement, Problem]], hardware: Hardware) -> Figure:
    """Each kernel's speed over its intensity, with every input read from memory once and the output written once.

    kernels: label → its measurement, and its problem, a matrix product or another one whose FLOP are counted.
    """
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    dtypes = {measured.dtype for measured, _ in kernels.values()} & hardware.flops.keys() or {"bf16"}
    peak = max(hardware.flops[dtype] for dtype in dtypes)
    intensity = {label: p.flops(m.shape) / p.bytes(m.shape) for label, (m, p) in kernels.items()}
    ridge = peak / hardware.bandwidth
    left, right = min(*intensity.values(), ridge) / 2, max(*intensity.values(), ridge) * 2
    for dtype in sorted(dtypes, key=lambda dtype: hardware.flops[dtype]):
        top = hardware.flops[dtype]
        knee = top / hardware.bandwidth
        axes.plot(
            [left, knee, right], [left * hardware.bandwidth / 1e12, top / 1e12, top / 1e12], color=INK, linewidth=2
        )
        axes.annotate(
            f"{dtype}: {top / 1e12:,.0f} TFLOP/s", (right, top / 1e12), (0, 5), ha="right", textcoords="offset points"
        )
    for n, (label, (measured, _)) in enumerate(kernels.items()):
        look: dict[str, Any] = {"color": LINES[n % len(LINES)], "marker": MARKERS[n % len(MARKERS)], "linestyle": ""}
        axes.plot(intensity[label], measured.tflops or 0, label=label, **look)
    low = min(left * hardware.bandwidth / 1e12, *(measured.tflops or peak for measured, _ in kernels.values())) / 1.5
    high = 2 * peak / 1e12
    axes.set(xscale="log", yscale="log", ylim=(low, high))
    speeds = [speed for speed in SPEEDS if low < speed < high]
    axes.set_yticks(speeds, map(str, speeds))
    intensities = [2**n for n in range(16) if left < 2**n < right]
    axes.set_xticks(intensities, map(str, intensities))
    axes.minorticks_off()
    axes.set_xlabel("arithmetic intensity, FLOP per byte of inputs and output")
    axes.set_ylabel("speed, TFLOP/s")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    tidy_axes(axes)
    return figure
