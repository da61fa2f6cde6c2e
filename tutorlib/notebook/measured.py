"""Recorded measurements in a notebook: ladders and sweeps as tables, figures as pictures.

A ratio has the distance to its quartiles beside it; a gain smaller than the spread is called within noise.
"""

from collections.abc import Callable, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from tutorlib.exercises import find
from tutorlib.measuring.levers import gains_of, stacks_of
from tutorlib.measuring.measurement import NOISE, Measurement, within_noise
from tutorlib.measuring.results import NoData, Results, SweepResults, all_results, all_sweep_results, known_sweeps
from tutorlib.paths import FIGURES
from tutorlib.problems.wrong import by

if TYPE_CHECKING:
    from IPython.display import Image
    from pandas import DataFrame

WIDE = 8  # columns: tables that have more of them than rows are shown turned
NBSP = "\N{NO-BREAK SPACE}"  # an indentation that HTML keeps
ROUGHLY = "≈"  # before a ratio that is too noisy to rely on
NOTHING = "Nothing was measured yet: `tutor evidence {}` on a machine with a GPU does it."
NOTES = {  # mark → its explanation, above a table that has it
    " ±": "±: the distance from the median ratio to the quartiles of its pairs",
    "within noise": "within noise: smaller than the spread of the two measurements",
    ROUGHLY: f"{ROUGHLY}: the pairs spread by more than {NOISE:.0%}; do not rely on it",
}


def show_ladder(*numbers: str) -> "DataFrame | None":
    """The measurements of the solutions to the timed exercises of these notebooks, in columns for each GPU.

    numbers: "09", "10", … The heading of a table names the regime: cool, in short rounds between which the GPU rests.
    gain: time of the previous rung with the same task over this one's.
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


def show_ratio(measured: Measurement) -> str:
    """Speed as a fraction of the baseline's: "0.973 ±0.2%", "≈0.973 ±3.1%" if the measurement is too noisy."""
    return f"{ROUGHLY if measured.noisy else ''}{measured.ratio:.3f} ±{measured.spread / 2:.1%}"


def explained(table: "DataFrame") -> "DataFrame":
    """The same table; the lines printed above it explain the marks in it."""
    cells = " ".join(map(str, table.to_numpy().flat))
    if notes := [note for mark, note in NOTES.items() if mark in cells]:
        print("; ".join(notes) + ".")
    return table


def show_gain(gain: float, noise: bool) -> str:
    """ "+10.0%", or "+0.1%, within noise"."""
    return f"{gain:+.1%}{', within noise' if noise else ''}"


def ladder_of(found: Results, *numbers: str) -> dict[str, dict[str, str]]:
    """One GPU's ladder: a rung, "13.7 main_loop" → the cells of its row."""
    rows: dict[str, dict[str, str]] = {}
    before: dict[tuple, Measurement] = {}  # task → the previous rung with it
    for id, measured in found.timed(*numbers).items():
        task = measured.shape, measured.dtype
        gain = before[task].median_us / measured.median_us - 1 if task in before else 0
        noise = ", within noise" if task in before and within_noise(gain, before[task], measured) else ""
        rows[f"{id} {find(id).title}"] = {
            "size": f"{by(measured.shape)} {measured.dtype}",
            "µs": f"{measured.median_us:,.1f}",
            "speed": measured.rate,
            "beside": f"{show_ratio(measured)} of {measured.baseline}",
            "gain": f"×{1 + gain:.2f}{noise}" if task in before else "",
        }
        before[task] = measured
    return rows


def show_sweep(name: str, **counters: str) -> "DataFrame | None":
    """A sweep as a table: a row for each kernel and, if one shape was timed, for the baseline.

    counters: names of columns → counters of Nsight Compute, e.g. busy=TENSOR_BUSY; shown if one shape was timed.
    With several shapes, each has a column with the ratio to the baseline; with many, a row with the throughput, too.
    If nothing was measured, it prints a line that says so.
    """
    return tables(name, lambda swept: one_shape(swept, counters) if len(swept.shapes) == 1 else by_shape(swept))


def tables(
    name: str,
    table: "Callable[[SweepResults], DataFrame]",
    found_in: Callable[[str], list[SweepResults]] | None = None,
) -> "DataFrame | None":
    """A sweep's table for each GPU, its regime above it; if nothing was measured, None after a line that says so.

    found_in: which of a sweep's results; default: all.
    """
    import pandas

    try:
        everything = (found_in or all_sweep_results)(name)
    except NoData as error:
        print(f"{name}: {error}")
        return None
    made = {f"{swept.gpu}, {swept.date}, {swept.regime}": table(swept) for swept in everything}
    found = pandas.concat(made, axis="columns").fillna("")
    return explained(found.T if found.shape[1] > max(WIDE, len(found)) else found)


def show_levers(name: str = "hopper_levers") -> "DataFrame | None":
    """A sweep's levers as a tree: speed as a fraction of the baseline's at each size, and the gain over the parent row.

    A row's parent is the nearest one above it with one lever less.
    """
    return tables(name, levers_table)


def levers_table(swept: SweepResults) -> "DataFrame":
    import pandas

    gains = {(gain.lever, gain.on): gain for gain in gains_of(swept)}
    rows, labels = [], []
    for stack in stacks_of(swept):
        gain = gains.get((stack.added, stack.on))
        row = {
            size(shape): show_ratio(measured)
            + (f" ({show_gain(gain.gains[shape], shape in gain.noise)})" if gain and shape in gain.gains else "")
            for shape, measured in sorted(stack.measured.items())
        }
        rows.append(row)
        labels.append(stack.label)
    return pandas.DataFrame(rows, index=labels).fillna("")


def size(shape: tuple[int, ...]) -> str:
    """A column's head: (512, 512, 512) is "512"."""
    return by(shape) if len(set(shape)) > 1 else str(shape[0])


def by_shape(swept: SweepResults) -> "DataFrame":
    """Speed as a fraction of the baseline's, a column for each shape; with many shapes also the throughput."""
    import pandas

    def cell(measured: Measurement) -> str:
        return show_ratio(measured) + (f", {measured.rate}" if len(swept.shapes) >= WIDE else "")

    rows = {
        name: {size(point.measurement.shape): cell(point.measurement) for point in swept.of_kernel(name)}
        for name in swept.names
    }
    return pandas.DataFrame.from_dict(rows, orient="index").fillna("")


def one_shape(swept: SweepResults, counters: dict[str, str]) -> "DataFrame":
    """Time, speed and counters."""
    import pandas

    rows: dict[str, dict[str, Any]] = {}
    for point in swept.points:
        measured = point.measurement
        rows[point.name] = {
            "µs": f"{measured.median_us:,.1f}",
            "speed": measured.rate,
            f"of {swept.baseline}": show_ratio(measured),
        }
    rows[swept.baseline] = {"µs": f"{swept.points[0].measurement.baseline_us:,.1f}"}
    for name, row in rows.items():
        for title, counter in counters.items():
            row[title] = show_count(swept.counters.get(name, {}).get(counter))
    return pandas.DataFrame.from_dict(rows, orient="index").fillna("")


def show_counts(name: str, over: str, **counters: str | tuple[str, ...]) -> "DataFrame | None":
    """Time and hardware counters at a sweep's first shape, as multiples of those of the kernel `over`.

    counters: names of columns → counters of Nsight Compute; those of a tuple are added up. If nothing was counted, it
    prints a line that says so.
    """
    if not any(swept.counters for swept in known_sweeps(name)):
        print(f"{name}: nothing was counted yet: `tutor sweep {name}` on a machine with a GPU and ncu does it.")
        return None
    return tables(name, lambda swept: counts_table(swept, over, counters))


def counts_table(swept: SweepResults, over: str, counters: "Mapping[str, str | tuple[str, ...]]") -> "DataFrame":
    import pandas

    points = {point.name: point.measurement for point in reversed(swept.points)}  # the first shape's stay
    values = {
        kernel: {"time": points[kernel].median_us}
        | {title: total(swept.counters[kernel], counter) for title, counter in counters.items()}
        for kernel in points
        if kernel in swept.counters
    }
    unit = values.get(over, {})
    rows = {
        kernel: {title.replace("_", " "): f"×{value / unit[title]:.1f}" for title, value in row.items() if unit}
        for kernel, row in values.items()
    }
    return pandas.DataFrame.from_dict(rows, orient="index").iloc[::-1]


def total(counted: dict[str, float], counters: str | tuple[str, ...]) -> float:
    return sum(counted[counter] for counter in ((counters,) if isinstance(counters, str) else counters))


def show_speeds(name: str) -> "DataFrame | None":
    """A sweep in TFLOP/s: a row for each kernel and the baseline, a column for each shape, smallest first."""
    return tables(name, speeds_table)


def speeds_table(swept: SweepResults) -> "DataFrame":
    import pandas

    rows: dict[str, dict[str, str]] = {name: {} for name in (*swept.names, swept.baseline)}
    for shape in sorted(swept.shapes):
        for point in swept.at(shape):
            rows[point.name][size(shape)] = f"{point.measurement.tflops or 0:.0f}"
        rows[swept.baseline][size(shape)] = f"{median(p.measurement.baseline_tflops or 0 for p in swept.at(shape)):.0f}"
    return pandas.DataFrame.from_dict(rows, orient="index").fillna("")


def show_count(value: float | None) -> str:
    """A counter's value to three digits: "91.3", "1.52e+09"; "" if it was not counted."""
    return "" if value is None else f"{value:.3g}"


def show_figure(name: str) -> "Image | None":
    """A picture of figures/; if it has not been drawn yet, it prints the command that draws it."""
    from IPython.display import Image

    path = FIGURES / f"{name}.png"
    if path.exists():
        return Image(path)
    print(f"Not drawn yet: measure on a machine with a GPU, then `tutor plots {name}`.")
    return None
