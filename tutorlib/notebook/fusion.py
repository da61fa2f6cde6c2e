"""Notebook 16's measurements as tables; without measurements, a line names the command that makes them."""

import json
from statistics import median
from typing import TYPE_CHECKING, Any

from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.measuring.results import NoData, Point, SweepResults, all_sweep_results
from tutorlib.notebook.measured import show_ratio, size, tables
from tutorlib.paths import SWEEPS
from tutorlib.problems.wrong import by

if TYPE_CHECKING:
    from pandas import DataFrame

PLAIN = "the plain GEMM"


def show_costs(name: str) -> "DataFrame | None":
    """A sweep whose kernels have different baselines: time, and speed as a fraction of the baseline's.

    If points have their configurations, also these, the baseline's, and the time added to its time.
    """
    return tables(name, epilogues_table if name == "fused_epilogues" else mlp_table, whole_sweeps)


def whole_sweeps(name: str) -> list[SweepResults]:
    """Those that were not cut off, or else all. Raises NoData."""
    found = all_sweep_results(name)
    return [swept for swept in found if swept.complete] or found


def epilogues_table(swept: SweepResults) -> "DataFrame":
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for shape in swept.shapes:
        points = swept.at(shape)
        beside_plain = [point for point in points if point.measurement.baseline == PLAIN]
        plain_us = median(point.measurement.baseline_us for point in beside_plain)
        plain_config = named_config(beside_plain[0].facts["plain_config"])
        rows[size(shape), "", PLAIN, plain_config] = {"µs": f"{plain_us:,.1f}"}
        for point in points:
            kernel, _, _ = point.name.partition(" beside ")
            key = size(shape), point.measurement.baseline, kernel, named_config(point.facts["config"])
            rows[key] = time_and_speed(point) | {"time added": f"{1 / point.measurement.ratio - 1:+.1%}"}
    return in_rows(rows, "shape", "baseline", "kernel", "configuration")


def mlp_table(swept: SweepResults) -> "DataFrame":
    rows: dict[tuple[str, ...], dict[str, str]] = {
        (f"{shape[0]:,} tokens", point.measurement.baseline, point.name): time_and_speed(point)
        for shape in swept.shapes
        for point in swept.at(shape)
    }
    return in_rows(rows, "", "baseline", "kernel")


def time_and_speed(point: Point) -> dict[str, str]:
    return {"µs": f"{point.measurement.median_us:,.1f}", "speed": show_ratio(point.measurement)}


def in_rows(rows: dict[tuple[str, ...], dict[str, str]], *names: str) -> "DataFrame":
    """A table with these rows, by the columns of their keys."""
    import pandas

    index = pandas.MultiIndex.from_tuples(rows, names=names)
    return pandas.DataFrame(list(rows.values()), index=index).fillna("")


def named_config(changed: dict[str, Any]) -> str:
    """A configuration, given by what differs from the default one: "ping-pong 128×192 2×1 stream-K"."""
    config = HopperConfig(**changed)
    schedule = "ping-pong" if config.schedule == "pingpong" else config.schedule
    stream_k = ("stream-K",) if config.stream_k else ()
    return " ".join((schedule, by(config.tile[:2]), by(config.cluster), *stream_k))


def show_as_a_module() -> None:
    """The swapped module under torch on each GPU: differences in its results, and the host time of a call."""
    try:
        found = [swept for swept in whole_sweeps("mlp_forward") if "host_us" in swept.facts]
    except NoData as error:
        print(f"mlp_forward: {error}")
        return
    for swept in found:
        facts = swept.facts
        ways = ", ".join(f"{way} {facts[f'{way}_off_by']:.3g}" for way in ("compiled", "autocast", "graph"))
        host = ", ".join(f"{way} {us:.1f} µs" for way, us in facts["host_us"].items())
        print(
            f"{swept.gpu}, difference to torch's eager module, whose largest result is {facts['largest']:.3g}: {ways}"
        )
        print(f"{swept.gpu}, host time of a forward call: {host}")


def show_parallel() -> "DataFrame | None":
    """The MLP on one GPU and split over several, as `tutor sweep mlp_parallel` timed it."""
    import pandas

    files = sorted(SWEEPS.glob("*_mlp_parallel.json"))
    if not files:
        print("mlp_parallel: not measured: run `tutor sweep mlp_parallel` on a machine with two GPUs")
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
