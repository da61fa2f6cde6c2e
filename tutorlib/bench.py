"""Timing a kernel beside a baseline, in one run, in pairs."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, pairwise
from math import ceil
from typing import Any, NamedTuple

from tutorlib.device import GPU, Clocks, Hardware, clocks
from tutorlib.problem import Problem, Shape

NOISE = 0.05  # a spread above this is no measurement
WARM_UP_S = 0.1  # idle clocks need some tens of ms to rise
PAIRS = 40  # at least
LEAD_IN_S = 2e-3  # of the same work before a round: its first times are taken at the clocks and power of a long run
TOO_FAST = 0.9  # datasheet rates hold at one clock and a GPU may boost beyond it; this far below the floor is no boost

Call = Callable[[], None]


@dataclass(frozen=True)
class Measurement:
    """A kernel's time at one shape, beside a baseline's in the same run.

    median_us, lower_us, upper_us: median and quartiles of the kernel's times; baseline_us: the baseline's median.
    ratio: median over the pairs of baseline time / kernel time, so above 1 is faster than the baseline.
    spread: distance of the quartiles of that ratio, divided by it.
    n: pairs. clock_mhz: the SM clock under load. throttled: the driver's reasons to slow down, or ().
    tflops, gbps: what the median amounts to; the other is None. gpu, versions: where it was measured.
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
    clock_mhz: int | None
    throttled: tuple[str, ...]
    tflops: float | None
    gbps: float | None
    gpu: str
    versions: dict[str, Any]

    @property
    def noisy(self) -> str | None:
        """Why this is no measurement, or None."""
        if self.throttled:
            return f"the GPU slowed down ({', '.join(self.throttled)})"
        if self.spread > NOISE:
            return f"the times spread by {self.spread:.0%}"
        return None

    def __str__(self) -> str:
        rate = f"{self.tflops:.0f} TFLOP/s" if self.tflops else f"{self.gbps:,.0f} GB/s"
        line = (
            f"{'×'.join(map(str, self.shape))} {self.dtype}: {self.median_us:.1f} µs "
            f"({self.lower_us:.1f} to {self.upper_us:.1f}), {rate}, {self.ratio:.3f} of {self.baseline}'s speed"
        )
        return f"{line}. Too noisy: {self.noisy}" if self.noisy else line

    __repr__ = __str__


@dataclass(frozen=True)
class Times:
    """Paired times in µs, kernel[n] beside baseline[n]; clocks sampled while they ran."""

    kernel: tuple[float, ...]
    baseline: tuple[float, ...]
    clocks: tuple[Clocks, ...] = ()


def buffer_sets(bytes: int, l2: int) -> int:
    """How many sets of tensors to rotate through so that 3 × the L2 passes before one is used again."""
    return max(1, -(-3 * l2 // bytes))


class Pace(NamedTuple):
    """queueing_s: what the host needs to queue a pair, with a margin. pair_s: from queueing one to its end."""

    queueing_s: float
    pair_s: float


def paired(
    kernels: Sequence[Call],
    baselines: Sequence[Call],
    refresh: Call,
    spoil: Call,
    verify: Call,
    pairs: int = PAIRS,
) -> Times:
    """Time `kernels[n]` and `baselines[n]`, which work on the n-th set of tensors, in turn: A, B, A, B, …

    refresh: puts new inputs into every set, before each round over the sets. spoil: overwrites every output, between
    the lead-in, which is not timed, and the calls that are. verify: looks at every output after them.
    The two of a pair work on sets far apart, so neither finds its tensors in L2, and take turns in going first.
    A round is queued behind a pause of the GPU, so that its times hold none of the host's.
    """
    import torch

    sets = len(kernels)
    far = sets // 2
    pace = warm_up(kernels, baselines)
    lead_in = ceil(LEAD_IN_S / pace.pair_s)
    times: tuple[list[float], list[float]] = ([], [])
    sampled = []
    while len(times[0]) < pairs:
        refresh()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(2 * sets + 1)]
        torch.cuda._sleep(int(pace.queueing_s * (lead_in + sets) * 2e9))  # cycles, at no more than 2 GHz
        kernel_first = (len(times[0]) // sets) % 2 == 0
        in_turn = [(kernels[n], baselines[(n + far) % sets]) for n in range(sets)]
        calls = [call for pair in in_turn for call in (pair if kernel_first else reversed(pair))]
        for call in islice(cycle(calls), 2 * lead_in):
            call()
        spoil()
        in_turn[-1][1]()  # so that what is timed first comes after a call too; the baseline writes elsewhere
        marks[0].record()
        for call, mark in zip(calls, marks[1:], strict=True):
            call()
            mark.record()
        sampled.append(clocks())
        torch.cuda.synchronize()
        steps = [1000 * a.elapsed_time(b) for a, b in pairwise(marks)]
        times[0 if kernel_first else 1].extend(steps[0::2])
        times[1 if kernel_first else 0].extend(steps[1::2])
        verify()
    return Times(tuple(times[0]), tuple(times[1]), tuple(c for c in sampled if c is not None))


def warm_up(kernels: Sequence[Call], baselines: Sequence[Call]) -> Pace:
    """Run both until the clocks are up; their first calls, which may compile, do not count."""
    import torch

    kernels[0]()
    baselines[0]()
    torch.cuda.synchronize()
    start = time.perf_counter()
    queueing, whole = [], []
    while time.perf_counter() - start < WARM_UP_S:
        before = time.perf_counter()
        kernels[0]()
        baselines[0]()
        queueing.append(time.perf_counter() - before)
        torch.cuda.synchronize()
        whole.append(time.perf_counter() - before)
    return Pace(3 * statistics.median(queueing), statistics.median(whole))


def summarise(times: Times, problem: Problem, shape: Shape, gpu: GPU, versions: dict[str, Any]) -> Measurement:
    """The measurement that these times amount to."""
    lower, median, upper = statistics.quantiles(times.kernel, n=4, method="inclusive")
    ratios = [b / a for a, b in zip(times.kernel, times.baseline, strict=True)]
    ratio_lower, ratio, ratio_upper = statistics.quantiles(ratios, n=4, method="inclusive")
    flops, bytes = problem.flops(shape), problem.bytes(shape)
    return Measurement(
        shape=shape,
        dtype=problem.output.dtype,
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
        gpu=gpu.name,
        versions=versions,
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
