"""Measurements to rely on: taken again where they are noisy, or where the baseline contradicts earlier records."""

import time
from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from tutorlib.machine import device
from tutorlib.measuring.results import recorded_on
from tutorlib.measuring.timing import PAIRS, Measurement, measure_once
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Launcher

ATTEMPTS = 3
REST_S = 5  # before another attempt where the baseline was off: a power cap may have ended by then


def measure(
    problem: Problem, launcher: Launcher, shape: Shape, pairs: int = PAIRS, in_a_row: bool = False
) -> Measurement:
    """As `measure_once`, up to ATTEMPTS times; the last may still be noisy: see `Measurement.noisy`, `Measurement.off`.

    Raises WrongWhenTimed and KernelFault.
    """
    with device.own_turn():
        for _ in range(ATTEMPTS):
            measured = beside_records(measure_once(problem, launcher, shape, pairs, in_a_row))
            if not measured.noisy:
                break
            time.sleep(REST_S if measured.off else 0)
    return measured


def beside_records(measured: Measurement, records: Iterable[Measurement] | None = None) -> Measurement:
    """With the baseline's usual time: its median in the records of the same work, by default those of this GPU."""
    known = recorded_on(device.this_machine()) if records is None else records
    times = [record.baseline_us for record in known if record.same_work(measured)]
    return replace(measured, usual_us=median(times) if times else None)
