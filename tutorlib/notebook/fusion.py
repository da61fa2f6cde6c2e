"""Notebook 16's measurements as tables; without measurements, a line names the command that makes them."""

import json
from typing import TYPE_CHECKING, Any

from tutorlib.measuring.results import SweepResults, known_sweeps
from tutorlib.notebook.measured import show_ratio, size, tables
from tutorlib.paths import SWEEPS

if TYPE_CHECKING:
    from pandas import DataFrame


def show_costs(name: str) -> "DataFrame | None":
    """A sweep whose kernels have different baselines: time, and speed as a fraction of the baseline's."""
    return tables(name, beside_table)


def beside_table(swept: SweepResults) -> "DataFrame":
    import pandas

    rows = {
        (size(one.measurement.shape), one.name, one.measurement.baseline): {
            "µs": f"{one.measurement.median_us:,.1f}",
            "speed": show_ratio(one.measurement),
        }
        for one in swept.points
    }
    index = pandas.MultiIndex.from_tuples(rows, names=["shape", "kernel", "beside"])
    return pandas.DataFrame(list(rows.values()), index=index)


def show_as_a_module() -> None:
    """The swapped module under torch on each GPU: differences in its results, and the host time of a call."""
    if not (found := known_sweeps("mlp_forward")):
        print("mlp_forward: not measured yet: run `tutor sweep mlp_forward` on a machine with a GPU")
    for swept in found:
        facts = swept.facts
        if "host_us" not in facts:
            continue
        ways = ", ".join(f"{way} {facts[f'{way}_off_by']:.3g}" for way in ("compiled", "autocast", "graph"))
        host = ", ".join(f"{way} {us:.1f} µs" for way, us in facts["host_us"].items())
        print(
            f"{swept.gpu}, difference to torch's eager module, whose largest result is {facts['largest']:.3g}: {ways}"
        )
        print(f"{swept.gpu}, host time of a forward call: {host}")


def show_parallel() -> "DataFrame | None":
    """The MLP on one GPU and split over several, as `instruments.parallel` timed it."""
    import pandas

    files = sorted(SWEEPS.glob("*_mlp_parallel.json"))
    if not files:
        print("mlp_parallel: not measured: run `python -m tutorlib.instruments.parallel` on a machine with two GPUs")
        return None
    found = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    made = {f"{data['world']} × {data['machine']['gpu']}, {data['date']}": parallel_table(data) for data in found}
    return pandas.concat(made, axis="columns").fillna("")


def parallel_table(data: dict[str, Any]) -> "DataFrame":
    import pandas

    rows = {
        f"{point['shape'][0]:,} tokens": {
            "whole, µs": f"{point['whole_us']:,.0f}",
            "split, µs": f"{point['split_us']:,.0f}",
            "of that, all-reduce": f"{point['all_reduce_us']:,.0f}",
            "speed-up": f"×{point['whole_us'] / point['split_us']:.2f}",
            "largest difference": f"{point['off_by']:.2g} of {point['largest']:.2g}",
        }
        for point in data["points"]
    }
    return pandas.DataFrame.from_dict(rows, orient="index")
