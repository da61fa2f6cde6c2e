"""Measurements: a kernel's time beside a baseline's, and whether it can be trusted."""

import statistics
from dataclasses import asdict, dataclass
from typing import Any

from tutorlib.machine.hardware import Hardware
from tutorlib.measuring.bench import Times
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.wrong import by

NOISE = 0.05  # a spread above this is no measurement
TOO_FAST = 0.9  # datasheet rates hold at one clock and a GPU may boost beyond it; this far below the floor is no boost


@dataclass(frozen=True)
class Measurement:
    """A kernel's time at one shape, beside a baseline's in the same run.

    median_us, lower_us, upper_us: median and quartiles of the kernel's times; baseline_us: the baseline's median.
    ratio: median over the pairs of baseline time / kernel time, so above 1 is faster than the baseline.
    spread: distance of the quartiles of that ratio, divided by it.
    n: pairs. clock_mhz: the SM clock under load. throttled: the driver's reasons to slow down, or ().
    tflops, gbps: throughput at the median; the other is None.
    regime: "cool": taken in short rounds between which the GPU rests.
    """

    shape: tuple[int, ...]
    dtype: str
    median_us: float
    lower_us: float
    upper_us: float
    baseline: str
    baseline_us: float
    ratio: float
    spread: float
    n: int
    clock_mhz: int | None = None
    throttled: tuple[str, ...] = ()
    tflops: float | None = None
    gbps: float | None = None
    regime: str = "cool"

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Measurement":
        """The inverse of `as_json`. Raises TypeError for a missing field."""
        return cls(**{**data, "shape": tuple(data["shape"]), "throttled": tuple(data.get("throttled", ()))})

    def as_json(self) -> dict[str, Any]:
        """As result files carry it, without the fields that are None."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @property
    def noisy(self) -> str | None:
        """Why this is no measurement, or None."""
        if self.throttled:
            return f"the GPU slowed down ({', '.join(self.throttled)})"
        if self.spread > NOISE:
            return f"the times spread by {self.spread:.0%}"
        return None

    @property
    def rate(self) -> str:
        """Its throughput: "769 TFLOP/s", "4.21 TB/s"."""
        return rate(self.tflops, self.gbps)

    @property
    def baseline_tflops(self) -> float | None:
        """The baseline's, in the same run."""
        return self.tflops * self.median_us / self.baseline_us if self.tflops else None

    @property
    def baseline_gbps(self) -> float | None:
        """The baseline's, in the same run."""
        return self.gbps * self.median_us / self.baseline_us if self.gbps else None

    def __str__(self) -> str:
        line = (
            f"{by(self.shape)} {self.dtype}, {self.regime}: {self.median_us:.1f} µs "
            f"({self.lower_us:.1f} to {self.upper_us:.1f}), {self.rate}, {self.ratio:.3f} of {self.baseline}'s speed"
        )
        return f"{line}. Too noisy: {self.noisy}" if self.noisy else line

    __repr__ = __str__


def within_noise(gain: float, *measured: Measurement) -> bool:
    """Whether a gain (0.02: 2 % faster) between two measurements is smaller than their quartiles are apart."""
    return abs(gain) < sum(one.spread for one in measured) / 2


def rate(tflops: float | None, gbps: float | None) -> str:
    """A speed as the course writes it; one of the two is None."""
    return f"{tflops:,.0f} TFLOP/s" if tflops is not None else f"{(gbps or 0) / 1000:.2f} TB/s"


def summarise(times: Times, problem: Problem, shape: Shape) -> Measurement:
    """The measurement that these times amount to."""
    lower, median, upper = statistics.quantiles(times.kernel, n=4, method="inclusive")
    ratios = [b / a for a, b in zip(times.kernel, times.baseline, strict=True)]
    ratio_lower, ratio, ratio_upper = statistics.quantiles(ratios, n=4, method="inclusive")
    flops, bytes = problem.flops(shape), problem.bytes(shape)
    return Measurement(
        shape=shape,
        dtype=problem.inputs[0].dtype,
        median_us=round(median, 3),
        lower_us=round(lower, 3),
        upper_us=round(upper, 3),
        baseline=problem.baseline_name,
        baseline_us=round(statistics.median(times.baseline), 3),
        ratio=round(ratio, 4),
        spread=round((ratio_upper - ratio_lower) / ratio, 4),
        n=len(ratios),
        clock_mhz=round(statistics.median(c.sm_mhz for c in times.clocks)) if times.clocks else None,
        throttled=tuple(sorted({reason for c in times.clocks for reason in c.throttled})),
        tflops=round(flops / median / 1e6, 2) if flops else None,
        gbps=None if flops else round(bytes / median / 1e3, 1),
    )


def floor_us(problem: Problem, shape: Shape, hardware: Hardware) -> float:
    """The least time by the datasheet: operations at the peak rate or bytes at the full bandwidth, the longer.

    As many bytes as L2 holds may stay in it and do not count.
    """
    peak = hardware.flops.get(problem.inputs[0].dtype)
    arithmetic = problem.flops(shape) / peak if peak else 0.0
    memory = max(0, problem.bytes(shape) - hardware.l2) / hardware.bandwidth
    return 1e6 * max(arithmetic, memory)


def impossible(measured: Measurement, problem: Problem, hardware: Hardware | None) -> str | None:
    """Why this time cannot be true, or None; None too for a GPU whose limits are not known."""
    if hardware is None:
        return None
    floor = floor_us(problem, measured.shape, hardware)
    if measured.lower_us >= TOO_FAST * floor:
        return None
    return (
        f"{measured.lower_us:.1f} µs is impossible: by its datasheet this GPU needs {floor:.1f} µs for this size. "
        "Does the kernel do all of its work, on the current stream?"
    )
