"""Recorded measurements in a notebook: ladders and sweeps as tables, figures as pictures.

A ratio has the distance to its quartiles beside it; a gain smaller than the spread is called within noise.
"""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from tutorlib.exercises import find
from tutorlib.measuring.results import (
    NoData,
    Point,
    Results,
    SweepResults,
    all_results,
    all_sweep_results,
    stacks_of,
)
from tutorlib.measuring.timing import NOISE, Measurement, within_noise
from tutorlib.paths import FIGURES
from tutorlib.problems.differences import by

if TYPE_CHECKING:
    from IPython.display import Image
    from pandas import DataFrame

Rows = list[tuple[Any, dict[str, str]]]  # of a table: label, or a tuple of labels, and column → cell

WIDE = 8  # columns: tables that have more of them than rows are shown turned
ROUGHLY = "≈"  # before a ratio that is too noisy to rely on
NOTHING = "Nothing was measured yet: `tutor evidence {}` on a machine with a GPU does it."
NOTES = {  # mark → its explanation, above a table that has it
    " ±": "±: the distance from the median ratio to the quartiles of its pairs",
    "within noise": "within noise: smaller than the spread of the two measurements",
    ROUGHLY: f"{ROUGHLY}: the quartiles are more than {NOISE:.0%} apart; do not rely on it",
}


def show_ladder(*numbers: str) -> "DataFrame | None":
    """The measurements of the solutions to timed exercises, in columns for each GPU.

    numbers: "09", "10", …, or exercises, "11.2". The heading names the regime: cool, in rounds between which it rests.
    gain: in speed over the previous rung with the same task, by the ratios to the baseline.
    If nothing was measured, it prints a line that says so.
    """
    import pandas

    ladders = {
        f"{found.gpu}, {found.date}, {next(iter(timed.values())).regime}": ladder_of(found, *numbers)
        for found in all_results()
        if (timed := found.timed(*numbers))
    }
    if not ladders:
        print(NOTHING.format(" ".join(numbers)))
        return None
    tables = {gpu: pandas.DataFrame.from_dict(rungs, orient="index") for gpu, rungs in ladders.items()}
    fullest_first = sorted(ladders.values(), key=len, reverse=True)
    rungs = dict.fromkeys(rung for ladder in fullest_first for rung in ladder)  # in the order of the notebooks
    return explained(pandas.concat(tables, axis="columns").reindex(list(rungs)).fillna(""))


def ladder_of(found: Results, *numbers: str) -> dict[str, dict[str, str]]:
    """One GPU's ladder: a rung, "14.3 main_loop" → the cells of its row."""
    rows: dict[str, dict[str, str]] = {}
    before: dict[tuple, Measurement] = {}  # task → the previous rung with it
    for id, measured in found.timed(*numbers).items():
        task = measured.shape, measured.dtype
        gain = measured.ratio / before[task].ratio - 1 if task in before else 0
        noise = ", within noise" if task in before and within_noise(gain, before[task], measured) else ""
        rows[f"{id} {find(id).title}"] = {
            "size": f"{by(measured.shape)} {measured.dtype}",
            **time_of(measured),
            "speed": measured.rate,
            "beside": f"{show_ratio(measured)} of {measured.baseline}",
            "gain": f"×{1 + gain:.2f}{noise}" if task in before else "",
        }
        before[task] = measured
    return rows


# Tables ---------------------------------------------------------------------------------------------------------------


def tables(name: str, rows_of: Callable[[SweepResults], Rows], labels: Sequence[str] = ()) -> "DataFrame | None":
    """A sweep's table for each GPU, its regime above it; if nothing was measured, None after a line that says so.

    labels: the headings of the rows' labels.
    """
    import pandas

    pandas.options.display.width = 120  # where a table is shown as text
    try:
        everything = all_sweep_results(name)
    except NoData as error:
        print(f"{name}: {error}")
        return None
    made = {f"{swept.gpu}, {swept.date}, {swept.regime}": table(rows_of(swept), labels) for swept in everything}
    found = pandas.concat(made, axis="columns").fillna("")
    return explained(found.T if found.shape[1] > max(WIDE, len(found)) else found)


def table(rows: Rows, labels: Sequence[str] = ()) -> "DataFrame":
    """A table with these rows; empty where a row lacks a column. labels: the headings of the rows' labels."""
    import pandas

    index = pandas.Index([label for label, _ in rows], tupleize_cols=True)
    shown = pandas.DataFrame([cells for _, cells in rows], index=index).fillna("")
    return shown.rename_axis(index=list(labels)) if labels else shown


def explained(table: "DataFrame") -> "DataFrame":
    """The same table; the lines printed above it explain the marks in it."""
    cells = " ".join(map(str, table.to_numpy().flat))
    if notes := [note for mark, note in NOTES.items() if mark in cells]:
        print("; ".join(notes) + ".")
    return table


def show_ratio(measured: Measurement) -> str:
    """Speed as a fraction of the baseline's: "0.973 ±0.2%", "≈0.973 ±3.1%" if the measurement is too noisy."""
    return f"{ROUGHLY if measured.noisy else ''}{measured.ratio:.3f} ±{measured.spread / 2:.1%}"


def time_of(measured: Measurement) -> dict[str, str]:
    return {"µs": f"{measured.median_us:,.1f}"}


def size(shape: tuple[int, ...]) -> str:
    """A column's head: (512, 512, 512) is "512"."""
    return by(shape) if len(set(shape)) > 1 else str(shape[0])


# Sweeps ---------------------------------------------------------------------------------------------------------------


def show_sweep(name: str, /, **counters: str) -> "DataFrame | None":
    """A sweep as a table: a row for each kernel and, if one shape was timed, for the baseline.

    counters: names of columns → counters of Nsight Compute, e.g. busy=TENSOR_BUSY; shown if one shape was timed.
    With several shapes, each has a column with the ratio to the baseline; with many, a row with the throughput, too.
    If nothing was measured, it prints a line that says so.
    """
    return tables(name, lambda swept: one_shape(swept, counters) if len(swept.shapes) == 1 else by_shape(swept))


def by_shape(swept: SweepResults) -> Rows:
    """Speed as a fraction of the baseline's, a column for each shape; with many shapes also the throughput."""

    def cell(measured: Measurement) -> str:
        return show_ratio(measured) + (f", {measured.rate}" if len(swept.shapes) >= WIDE else "")

    return [
        (name, {size(point.measurement.shape): cell(point.measurement) for point in swept.of_kernel(name)})
        for name in swept.names
    ]


def one_shape(swept: SweepResults, counters: dict[str, str]) -> Rows:
    """Time, speed and counters."""
    from matplotlib.ticker import EngFormatter

    def shown(counter: str, value: float) -> str:
        unit = "B" if "bytes" in counter else "Hz" if "per_second" in counter else ""
        return EngFormatter(unit)(float(f"{value:.3g}"))

    def counted(name: str) -> dict[str, str]:
        found = swept.counters.get(name, {})
        return {title: shown(one, found[one]) for title, one in counters.items() if one in found}

    rows = [
        (
            point.name,
            time_of(point.measurement)
            | {"speed": point.measurement.rate, f"of {swept.baseline}": show_ratio(point.measurement)}
            | counted(point.name),
        )
        for point in swept.points
    ]
    times = [point.measurement.baseline_us for point in swept.points]  # in turn with each kernel
    least, most = (f"{us:,.1f}" for us in (min(times), max(times)))
    baseline = {"µs": least if least == most else f"{least} to {most}"} | counted(swept.baseline)
    return [*rows, (swept.baseline, baseline)]


def show_speeds(name: str) -> "DataFrame | None":
    """A sweep in TFLOP/s, copies in TB/s: a row for each kernel and the baseline, a column for each shape."""
    return tables(name, speed_rows)


def speed_rows(swept: SweepResults) -> Rows:
    def shown(speed: float, noisy: str | None = None) -> str:
        return (ROUGHLY if noisy else "") + (f"{speed:.0f}" if speed >= 10 else f"{speed:.2f}")

    rows: dict[str, dict[str, str]] = {name: {} for name in (*swept.names, swept.baseline)}
    for shape in sorted(swept.shapes):
        for point in swept.at(shape):
            rows[point.name][size(shape)] = shown(point.measurement.speeds[0], point.measurement.noisy)
            if "stack_bytes" in point.facts:
                rows[point.name][f"{shape[-1]}: registers"] = str(point.facts["registers"])
                rows[point.name][f"{shape[-1]}: stack"] = str(point.facts["stack_bytes"])
        rows[swept.baseline][size(shape)] = shown(median(p.measurement.speeds[1] for p in swept.at(shape)))
    return [*rows.items()]


def show_levers(name: str = "hopper_levers", time: Callable[..., float] | None = None) -> "DataFrame | None":
    """A sweep's levers as a tree: speed as a fraction of the baseline's at each size, and the gain over the parent row.

    A row's parent is the nearest one above it with one lever less. A gain within noise is left out.
    time: a model, time(levers, *shape) in any unit; the gain in speed that it counts is behind the measured one.
    """
    return tables(name, partial(lever_rows, time=time))


def lever_rows(swept: SweepResults, time: Callable[..., float] | None = None) -> Rows:
    rows: Rows = []
    for stack in stacks_of(swept):
        row = {}
        for shape, measured in sorted(stack.measured.items()):
            gain, noise = stack.gain(shape) or (None, False)
            cell = show_ratio(measured) + ("" if gain is None or noise else f" {gain:+.1%}")
            if time and stack.base:
                counted = time(stack.base.levers, *shape) / time(stack.levers, *shape) - 1
                cell += f" (counted {counted:+.1%})"
            row[size(shape)] = cell
        rows.append((stack.label, row))
    return rows


def show_costs(name: str) -> "DataFrame | None":
    """Time, and speed as a fraction of the baseline's, by the number of tokens."""
    return tables(name, layer_rows, ("", "kernel"))


def layer_rows(swept: SweepResults) -> Rows:
    """The baseline's time, and a row for each kernel, by the number of tokens."""
    rows: Rows = []
    for shape in swept.shapes:
        points, tokens = swept.at(shape), f"{shape[0]:,} tokens"
        baseline_us = median(point.measurement.baseline_us for point in points)
        rows.append(((tokens, swept.baseline), {"µs": f"{baseline_us:,.1f}"}))
        rows += [((tokens, point.name), time_and_speed(point)) for point in points]
    return rows


def time_and_speed(point: Point) -> dict[str, str]:
    return time_of(point.measurement) | {"speed": show_ratio(point.measurement)}


def show_figure(name: str) -> "Image | None":
    """A picture of figures/; if it has not been drawn yet, it prints the command that draws it."""
    from IPython.display import Image

    path = FIGURES / f"{name}.png"
    if path.exists():
        return Image(path)
    print(f"Not drawn yet: measure on a machine with a GPU, then `tutor plots {name}`.")
    return None
