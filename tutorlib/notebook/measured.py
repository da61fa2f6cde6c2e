"""What was measured, in a notebook: ladders and sweeps as tables, figures as pictures."""

from typing import TYPE_CHECKING, Any

from tutorlib.exercises import find
from tutorlib.measuring.measurement import Measurement
from tutorlib.measuring.results import NoData, Results, SweepResults, all_results, all_sweep_results
from tutorlib.paths import FIGURES
from tutorlib.problems.wrong import by

if TYPE_CHECKING:
    from IPython.display import Image
    from pandas import DataFrame

NOTHING = "Nothing was measured yet: `tutor evidence {}` on a machine with a GPU does it."


def show_ladder(*numbers: str) -> "DataFrame | None":
    """The timed exercises of these notebooks, as the solutions reached them, in columns for each GPU.

    numbers: "09", "10", … gain: the time of the rung before, of those with the same size to do, over this one's.
    Where nothing was measured, a line says so.
    """
    import pandas

    ladders = {f"{found.gpu}, {found.date}": ladder_of(found, *numbers) for found in all_results()}
    ladders = {gpu: rungs for gpu, rungs in ladders.items() if rungs}
    if not ladders:
        print(NOTHING.format(" ".join(numbers)))
        return None
    tables = {gpu: pandas.DataFrame.from_dict(rungs, orient="index") for gpu, rungs in ladders.items()}
    return pandas.concat(tables, axis="columns")


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
            "beside": f"{measured.ratio:.3f} of {measured.baseline}",
            "gain": f"×{before[task].median_us / measured.median_us:.2f}" if task in before else "",
        }
        before[task] = measured
    return rows


def show_sweep(name: str, **counters: str) -> "DataFrame | None":
    """A sweep as a table: a row for each kernel and, where one shape was timed, for the baseline.

    counters: names of columns → counters of Nsight Compute, e.g. busy=TENSOR_BUSY; shown where one shape was timed.
    With several shapes, each has a column with the ratio to the baseline. Where nothing was measured, a line says so.
    """
    import pandas

    try:
        everything = all_sweep_results(name)
    except NoData as error:
        print(f"{name}: {error}")
        return None
    tables = {
        f"{swept.gpu}, {swept.date}": one_shape(swept, counters) if len(swept.shapes) == 1 else by_shape(swept)
        for swept in everything
    }
    return pandas.concat(tables, axis="columns")


def by_shape(swept: SweepResults) -> "DataFrame":
    """Speed as a fraction of the baseline's, a column for each shape."""
    import pandas

    column = {shape: by(shape) if len(set(shape)) > 1 else f"{shape[0]}" for shape in swept.shapes}
    rows = {
        name: {column[point.measurement.shape]: f"{point.measurement.ratio:.3f}" for point in swept.of_kernel(name)}
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
            f"of {swept.baseline}": f"{measured.ratio:.3f}",
        }
    rows[swept.baseline] = {"µs": f"{swept.points[0].measurement.baseline_us:,.1f}"}
    for name, row in rows.items():
        for title, counter in counters.items():
            row[title] = show_count(swept.counters.get(name, {}).get(counter))
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
