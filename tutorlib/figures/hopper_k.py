"""The figure of notebook 13's two sweeps over K."""

from collections.abc import Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import INK
from tutorlib.figures.style import baseline_style, kernel_lines, label_ends, tidy_axes
from tutorlib.machine.hardware import Hardware, hardware_of
from tutorlib.measuring.results import NoData, SweepResults, all_sweep_results


def hopper_k(everything: Sequence[SweepResults] | None = None) -> Figure:
    """Percent of the tensor cores' peak over K, a panel for each M = N; a row for each GPU of the hardware table.

    Raises NoData.
    """
    everything = everything or all_sweep_results("hopper_k")
    known = [(swept, found) for swept in everything if (found := hardware_of(swept.gpu))]
    if not known:
        raise NoData("the hardware table has none of the GPUs that were measured")
    sizes = sorted({shape[0] for swept, _ in known for shape in swept.shapes}, reverse=True)
    figure = Figure(figsize=(13, 4.8 * len(known)), layout="constrained")
    panels = figure.subplots(len(known), len(sizes), squeeze=False)
    for row, (swept, hardware) in zip(panels, known, strict=True):
        for axes, size in zip(row, sizes, strict=True):
            draw_over_k(axes, swept, hardware, size)
            axes.set_ylabel("speed, % of the datasheet's peak")
            label_ends(axes)
    return figure


def draw_over_k(axes: Axes, swept: SweepResults, hardware: Hardware, size: int) -> None:
    """One M = N."""
    shapes = [shape for shape in swept.shapes if shape[0] == size]
    dtype = swept.points[0].measurement.dtype
    percent = 100 / (hardware.flops[dtype] / 1e12)
    beside = [median(p.measurement.baseline_tflops or 0 for p in swept.at(shape)) * percent for shape in shapes]
    axes.plot([shape[2] for shape in shapes], beside, **baseline_style(swept))
    for points, look in kernel_lines(swept):
        here = [point.measurement for point in points if point.measurement.shape[0] == size]
        axes.plot([m.shape[2] for m in here], [(m.tflops or 0) * percent for m in here], **look)
    axes.set_xscale("log", base=2)
    axes.set_xticks([shape[2] for shape in shapes], [str(shape[2]) for shape in shapes])
    axes.set_xlabel("K, elements")
    axes.set_ylim(0, 100)
    axes.set_title(f"{swept.gpu}, {dtype}, {swept.regime}: M = N = {size}", loc="left", color=INK)
    tidy_axes(axes)
