"""What was measured, in a notebook: ladders and sweeps as tables, figures as pictures."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from tutorlib.exercises import find
from tutorlib.measuring.levers import gains_of, stacks_of
from tutorlib.measuring.measurement import NOISE, Alone, Measurement
from tutorlib.measuring.results import NoData, Results, SweepResults, all_results, all_sweep_results
from tutorlib.paths import FIGURES
from tutorlib.problems.wrong import by

if TYPE_CHECKING:
    from IPython.display import Image
    from pandas import DataFrame

NBSP = "\N{NO-BREAK SPACE}"  # an indentation that HTML keeps
ROUGHLY = "≈"  # before a ratio that nobody should rely on
NOTHING = "Nothing was measured yet: `tutor evidence {}` on a machine with a GPU does it."


def show_ladder(*numbers: str) -> "DataFrame | None":
    """The timed exercises of these notebooks, as the solutions reached them, in columns for each GPU.

    numbers: "09", "10", … Above each table stands the regime of its numbers: cool, in short rounds between which the
    GPU rests, or sustained. gain: the time of the rung before, of those with the same size to do, over this one's.
    Where nothing was measured, a line says so.
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
    """Speed as a fraction of the baseline's: "0.973", and "≈0.973" where the measurement is too noisy."""
    return f"{ROUGHLY if measured.noisy else ''}{measured.ratio:.3f}"


def explained(table: "DataFrame") -> "DataFrame":
    """The same table; a line above it says what the mark means, where it has one."""
    if any(str(cell).startswith(ROUGHLY) for cell in table.to_numpy().flat):
        print(f"{ROUGHLY}: the ratios of its pairs spread by more than {NOISE:.0%}; smaller differences mean nothing.")
    return table


def ladder_of(found: Results, *numbers: str) -> dict[str, dict[str, str]]:
    """One GPU's ladder: the rung's title → what its row says."""
    rows: dict[str, dict[str, str]] = {}
    before: dict[tuple, Measurement] = {}  # by what there was to do: the rung before
    for id, measured in found.timed(*numbers).items():
        task = measured.shape, measured.dtype
        rows[find(id).title] = {
            "size": f"{by(measured.shape)} {measured.dtype}",
            "µs": f"{measured.median_us:,.1f}",
            "speed": measured.rate,
            "beside": f"{show_ratio(measured)} of {measured.baseline}",
            "gain": f"×{before[task].median_us / measured.median_us:.2f}" if task in before else "",
        }
        before[task] = measured
    return rows


def show_sweep(name: str, **counters: str) -> "DataFrame | None":
    """A sweep as a table: a row for each kernel and, where one shape was timed, for the baseline.

    counters: names of columns → counters of Nsight Compute, e.g. busy=TENSOR_BUSY; shown where one shape was timed.
    With several shapes, each has a column with the ratio to the baseline. Where nothing was measured, a line says so.
    """
    return tables(name, lambda swept: one_shape(swept, counters) if len(swept.shapes) == 1 else by_shape(swept))


def tables(name: str, table: "Callable[[SweepResults], DataFrame]") -> "DataFrame | None":
    """A sweep's table for each GPU, its regime above it; where nothing was measured, a line says so."""
    import pandas

    try:
        everything = all_sweep_results(name)
    except NoData as error:
        print(f"{name}: {error}")
        return None
    made = {f"{swept.gpu}, {swept.date}, {swept.regime}": table(swept) for swept in everything}
    return explained(pandas.concat(made, axis="columns").fillna(""))


def show_levers() -> "DataFrame | None":
    """Notebook 14's levers as a tree: speed as a fraction of cuBLAS at each size, and the gain over the row above it.

    ~ marks a gain that is smaller than the spread of the ratios. The row above is the nearest one with one lever less.
    cycles: SM cycles of a K tile, by timestamps inside the kernel.
    """
    return tables("hopper_levers", levers_table)


def levers_table(swept: SweepResults) -> "DataFrame":
    import pandas

    gains = {(gain.lever, gain.on): gain for gain in gains_of(swept)}
    rows, labels = [], []
    for stack in stacks_of(swept):
        gained = gains.get((stack.added, stack.on))
        row = {
            size(shape): f"{ratio:.3f}" + (f" ({gained.shown(shape)})" if gained and shape in gained.gains else "")
            for shape, ratio in sorted(stack.ratios.items())
        }
        rows.append(row | {"cycles": f"{stack.cycles:,}" if stack.cycles else ""})
        labels.append(stack.label.replace("    ", 4 * NBSP))
    return pandas.DataFrame(rows, index=labels).fillna("")


def show_gains() -> "DataFrame | None":
    """What each lever gained on each kernel measured without and with it: where two interact, in both orders.

    ~ marks a gain that is smaller than the spread of the ratios.
    """
    return tables("hopper_levers", gains_table)


def gains_table(swept: SweepResults) -> "DataFrame":
    import pandas

    found = sorted(gains_of(swept), key=lambda gain: gain.lever)
    rows = [{size(shape): gain.shown(shape) for shape in sorted(gain.gains)} for gain in found]
    names = [(gain.lever, gain.on) for gain in found]
    return pandas.DataFrame(rows, index=pandas.MultiIndex.from_tuples(names, names=["lever", "on"])).fillna("")


def show_sustained() -> "DataFrame | None":
    """Kernels under the power limit: in turn with cuBLAS, which shares the clock, and alone, where each has its own.

    in turn, alone: speed as a fraction of cuBLAS. energy: joules for a launch over cuBLAS's, so below 1 is thriftier.
    Each kernel's alone and energy are beside a run of cuBLAS's next to its own; cuBLAS's row is the median of those.
    """
    return tables("hopper_sustained", sustained_table)


def sustained_table(swept: SweepResults) -> "DataFrame":
    import pandas

    rows: dict[tuple[str, str], dict[str, str]] = {}
    for shape in reversed(swept.shapes):
        for point in swept.at(shape):
            measured = point.measurement
            rows[size(shape), point.name] = {
                "in turn": f"{measured.ratio:.3f}",
                "alone": known(measured.alone_ratio, ".3f"),
                **draw_columns(measured.alone),
                "energy": known(measured.energy_ratio, ".3f"),
            }
        runs = [run for point in swept.at(shape) if (run := point.measurement.baseline_alone)]
        rows[size(shape), swept.baseline] = draw_columns(middle(runs))
    return pandas.DataFrame.from_dict(rows, orient="index").fillna("")


def middle(runs: Sequence[Alone]) -> Alone | None:
    """The median of a kernel's runs, by its energy or, where nobody counted that, by its time."""
    return sorted(runs, key=lambda run: run.joules or run.us)[len(runs) // 2] if runs else None


def draw_columns(alone: Alone | None) -> dict[str, str]:
    """What a kernel alone took."""
    if alone is None:
        return {}
    return {
        "µs": f"{alone.us:,.1f}",
        "MHz": known(alone.clock_mhz, ",.0f"),
        "W": known(alone.watts, ".0f"),
        "mJ": known(alone.joules and 1e3 * alone.joules, ",.0f"),
    }


def known(value: float | None, form: str) -> str:
    """A number in this form, "" where nobody knows it."""
    return "" if value is None else format(value, form)


def size(shape: tuple[int, ...]) -> str:
    """A column's head: (512, 512, 512) is "512"."""
    return by(shape) if len(set(shape)) > 1 else str(shape[0])


def by_shape(swept: SweepResults) -> "DataFrame":
    """Speed as a fraction of the baseline's, a column for each shape."""
    import pandas

    rows = {
        name: {size(point.measurement.shape): show_ratio(point.measurement) for point in swept.of_kernel(name)}
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
    """Time and hardware counters at a sweep's first shape, as multiples of what the kernel `over` has.

    counters: names of columns → counters of Nsight Compute; those of a tuple are added up. Where nothing was counted,
    a line says so.
    """
    if not any(swept.counters for swept in sweeps_there_are(name)):
        print(f"{name}: nothing was counted yet: `tutor sweep {name}` on a machine with a GPU and ncu does it.")
        return None
    return tables(name, lambda swept: counts_table(swept, over, counters))


def sweeps_there_are(name: str) -> list[SweepResults]:
    try:
        return all_sweep_results(name)
    except NoData:
        return []


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
    """A counter's value, whatever it counts: "91.3", "1.52e+09"; "" where it was not counted."""
    return "" if value is None else f"{value:.3g}"


def show_figure(name: str) -> "Image | None":
    """A picture of figures/; where it has not been drawn yet, a line says how that is done."""
    from IPython.display import Image

    path = FIGURES / f"{name}.png"
    if path.exists():
        return Image(path)
    print(f"Not drawn yet: measure on a machine with a GPU, then `tutor plots {name}`.")
    return None
