"""The GPU's clock, power and energy while it works."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from types import TracebackType
from typing import NamedTuple

from tutorlib.machine.clocks import Clocks, clocks, nvml_handle

EVERY_S = 0.02  # the driver brings the energy counter up to date less often than this


class Reading(NamedTuple):
    """The driver's readings at a time (s). joules: of energy since it was loaded; None where the GPU does not count."""

    seconds: float
    clocks: Clocks
    joules: float | None


@dataclass(frozen=True)
class Draw:
    """Clock and power during some work. clock_mhz: the median; watts: the mean, None without an energy counter."""

    clock_mhz: int
    watts: float | None
    power_limited: bool


class Meter:
    """Reads the current GPU in a thread of its own, from entering a `with` until its end: `readings`."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> "Meter":
        if clocks() is not None:  # asked here first, since it is this thread that knows torch's current device
            self._thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _read(self) -> None:
        while not self._over.wait(EVERY_S):
            if (now := clocks()) is not None:
                self.readings.append(Reading(time.perf_counter(), now, joules()))


def joules() -> float | None:
    """The current GPU's energy counter; None where it has none."""
    import pynvml

    try:
        return pynvml.nvmlDeviceGetTotalEnergyConsumption(nvml_handle()) / 1e3
    except pynvml.NVMLError:
        return None


def draw_of(readings: Sequence[Reading]) -> Draw | None:
    """None where nothing was read."""
    if not readings:
        return None
    return Draw(
        clock_mhz=round(median(reading.clocks.sm_mhz for reading in readings)),
        watts=mean_watts(readings),
        power_limited=sum(reading.clocks.power_limited for reading in readings) > len(readings) / 2,
    )


def mean_watts(readings: Sequence[Reading]) -> float | None:
    """Energy over time, from the first to the last moment at which the counter moved; None where it did not twice.

    The counter moves in steps: between two of its steps no time is counted without its energy.
    """
    steps = [
        after for before, after in pairwise(readings) if after.joules is not None and after.joules != before.joules
    ]
    if len(steps) < 2:
        return None
    first, last = steps[0], steps[-1]
    return round(((last.joules or 0.0) - (first.joules or 0.0)) / (last.seconds - first.seconds), 1)
