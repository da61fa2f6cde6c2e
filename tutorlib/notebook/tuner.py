"""A tuner that gives a reason for each configuration that it does not time."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from tutorlib.kernels.hopper.config import ConfigError, HopperConfig
from tutorlib.machine import device
from tutorlib.machine.features import WGMMA
from tutorlib.measuring.launchers import HopperLauncher
from tutorlib.measuring.results import SweepResults, stacks_of
from tutorlib.measuring.timing import measure
from tutorlib.notebook.measured import Rows, show_ratio, size, tables
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.differences import count
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from pandas import DataFrame


Estimate = Callable[[HopperConfig, int, int, int], float]  # of a configuration at (m, n, k), in µs


def tune_hopper(
    space: Iterable[dict[str, Any]], shape: Shape, estimate: Estimate, within: float = 1.1, most: int = 8
) -> "DataFrame":
    """Time the promising HopperConfigs of a space at (M, N, K); a row for each configuration, timed or not.

    space: differences from the default configuration. within: configurations whose estimate exceeds the least one by
    this factor are not timed. most: the number that is timed, lowest estimate first.
    Columns: estimate in µs; measured µs and ratio to cuBLAS; `why` a configuration was not timed.
    """
    import pandas

    rows = [row_of(changes, shape, estimate) for changes in space]
    rows.sort(key=lambda row: row["estimate"])
    least, timed = rows[0]["estimate"], 0
    reason = device.why_not(WGMMA)
    for row in rows:
        if row["why"]:
            continue
        if row["estimate"] > within * least:
            row["why"] = f"the model expects {row['estimate'] / least:.2f} × the least time"
        elif timed >= most:
            row["why"] = f"{count(most, 'other')} should be faster"
        elif reason:
            row["why"] = f"not timed: {reason}"
        else:
            timed += 1
            measured = measure(gemm("bf16"), HopperLauncher(row["config"]), shape)
            row |= {"µs": measured.median_us, "ratio": show_ratio(measured)}
    return pandas.DataFrame(rows).drop(columns="config")


def row_of(changes: dict[str, Any], shape: Shape, estimate: Estimate) -> dict[str, Any]:
    """A configuration with its estimate, or the rule that it breaks."""
    m, n, k = shape
    row: dict[str, Any] = {**changes, "config": None, "estimate": float("inf"), "µs": None, "ratio": "", "why": ""}
    try:
        row["config"] = HopperConfig(**changes)
    except ConfigError as rule:
        return row | {"why": str(rule)}
    return row | {"estimate": estimate(row["config"], m, n, k)}


def show_model(name: str, estimate: Estimate) -> "DataFrame | None":
    """A sweep's levers as a tree: measured µs, and estimate over measured, for each shape; None if not measured.

    The configuration of a point is in `facts["config"]`.
    """
    return tables(name, partial(model_rows, estimate=estimate))


def model_rows(swept: SweepResults, estimate: Estimate) -> Rows:
    rows: Rows = []
    for stack in stacks_of(swept):
        row = {}
        for point in sorted(swept.of_kernel(stack.name), key=lambda point: point.measurement.shape):
            m, n, k = point.measurement.shape
            measured = point.measurement.median_us
            expected = estimate(HopperConfig.from_json(point.facts["config"]), m, n, k)
            row[size((m, n, k))] = f"{measured:,.1f} µs, ×{expected / measured:.2f}"
        rows.append((stack.label, row))
    return rows
