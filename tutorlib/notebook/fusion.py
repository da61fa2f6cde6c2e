"""Notebook 16's measurements as tables; without measurements, a line names the command that makes them."""

from statistics import median
from typing import TYPE_CHECKING, Any

from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.measuring.results import Point, SweepResults, all_sweep_results
from tutorlib.notebook.measured import show_ratio, size, tables
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
