"""The figures of notebooks 19 and 20: attention's speed over the length of its sequences, and its levers."""

from collections.abc import Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutorlib.draw.palette import INK
from tutorlib.figures.hopper_levers import name_stacks
from tutorlib.figures.style import (
    baseline_style,
    draw_dots,
    kernel_style,
    label_ends,
    panel_for_each_gpu,
    tidy_axes,
)
from tutorlib.measuring.levers import stacks_of
from tutorlib.measuring.results import NoData, SweepResults, known_sweeps
from tutorlib.problems.problem import Shape

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
    columns = sorted({heads_of(shape) for _, swept in everything for shape in swept.shapes}, key=lambda one: one[::-1])
    figure = Figure(figsize=(5 * len(columns), 4.2 * len(everything)), layout="constrained")
    rows = figure.subplots(len(everything), len(columns), squeeze=False, sharey="row")
    for panels, (name, swept) in zip(rows, everything, strict=True):
        for axes, heads in zip(panels, columns, strict=True):
            draw_heads(axes, swept, heads)
            axes.set_title(f"{swept.gpu}, {KINDS[name]}, {swept.regime}\n{heads_name(heads)}", loc="left", color=INK)
        panels[0].set_ylabel("speed, TFLOP/s")
        panels[0].set_ylim(bottom=0)
        for axes in panels:
            label_ends(axes)
    return figure


def draw_heads(axes: Axes, swept: SweepResults, heads: Heads) -> None:
    """A line for torch and for each kernel."""
    shapes = sorted((shape for shape in swept.shapes if heads_of(shape) == heads), key=lambda shape: shape[3])
    of_torch = [median(p.measurement.baseline_tflops or 0 for p in swept.at(shape)) for shape in shapes]
    dash = {"marker": "_", "markersize": 12} if len(shapes) == 1 else {}  # one length has no line
    axes.plot([shape[3] for shape in shapes], of_torch, **(baseline_style(swept) | dash))
    for number, name in enumerate(swept.names):
        points = [p.measurement for p in swept.of_kernel(name) if heads_of(p.measurement.shape) == heads]
        points.sort(key=lambda one: one.shape[3])
        axes.plot(
            [one.shape[3] for one in points], [one.tflops or 0 for one in points], **kernel_style(name, number + 1)
        )
    axes.set_xscale("log", base=2)
    ticks = [shape[3] for shape in shapes]
    axes.set_xticks(ticks, map(str, ticks))
    axes.set_xlabel("tokens of a sequence")
    tidy_axes(axes)


def attention_levers(everything: Sequence[SweepResults] | None = None) -> Figure:
    """Each configuration's speed as a fraction of torch's, a dot for each shape, as a tree: lever upon lever.

    With a causal mask; a panel for each GPU. Raises NoData.
    """
    return panel_for_each_gpu("attention_levers", everything, (12, 6), draw_levers)


def draw_levers(axes: Axes, swept: SweepResults) -> None:
    """Rows from top to bottom as they were measured."""
    draw_dots(
        axes, swept.points, swept.names, swept.baseline,
        lambda shape: f"{shape[3]} tokens, {heads_name(heads_of(shape))}",
    )  # fmt: skip
    name_stacks(axes, stacks_of(swept))
    axes.set_title(f"{swept.gpu}, bf16, {swept.regime}", loc="left", color=INK)
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),
        borderaxespad=0.3,
        ncols=3,
        columnspacing=1,
        handletextpad=0.3,
        frameon=False,
    )


def heads_of(shape: Shape) -> Heads:
    _, heads, kv_heads, _, _, head_dim = shape
    return heads, kv_heads, head_dim


def heads_name(heads: Heads) -> str:
    """ "16 heads of 128", or "16 heads of 128, 2 of K and V"."""
    count, kv_heads, head_dim = heads
    return f"{count} heads of {head_dim}" + (f", {kv_heads} of K and V" if kv_heads != count else "")
