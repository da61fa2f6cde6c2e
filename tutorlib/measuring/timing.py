"""Measurements: a kernel timed beside a baseline in one run, in pairs, every timed output checked."""

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import cycle, islice, pairwise
from math import ceil, isclose
from typing import Any, NamedTuple

from tutorlib.machine import device
from tutorlib.machine.device import Clocks, clocks
from tutorlib.machine.features import Hardware
from tutorlib.measuring.sm_clock import sm_clock
from tutorlib.problems.differences import by, find_difference
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, KernelFault, Launcher, Work, fault, new_generator

WARM_UP_S = 0.1  # idle clocks need some tens of ms to rise
PAIRS = 40  # at least
LEAD_IN_S = 2e-3  # of the same work before a round: its first times are taken at the clocks and power of a long run


@dataclass(frozen=True)
class Times:
    """Paired times in µs, kernel[n] beside baseline[n]; clocks sampled while they ran, and counted by `SmClock`."""

    kernel: tuple[float, ...]
    baseline: tuple[float, ...]
    clocks: tuple[Clocks, ...] = ()
    counted_mhz: tuple[float, ...] = ()


def buffer_sets(bytes: int, l2: int) -> int:
    """The number of tensor sets to rotate through, so that 3 × L2's size passes before one is used again."""
    return max(1, -(-3 * l2 // bytes))


class Pace(NamedTuple):
    """queueing_s: the host's time to queue a pair, with a margin. pair_s: from queueing one to its end."""

    queueing_s: float
    pair_s: float


class Watch:
    """Reads the clocks of each round: the driver's while it runs, and the SMs' from its beginning to its end."""

    def __init__(self) -> None:
        self.sm = sm_clock()
        self.sampled: list[Clocks | None] = []
        self.counted: list[float] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Around what is timed of a round, while it is queued; then waits for it."""
        import torch

        self.sm.start()
        yield
        self.sm.stop()
        self.sampled.append(clocks())
        torch.cuda.synchronize()
        self.counted.append(self.sm.mhz())

    def times(self, kernel: Sequence[float], baseline: Sequence[float]) -> Times:
        sampled = tuple(each for each in self.sampled if each is not None)
        return Times(tuple(kernel), tuple(baseline), sampled, tuple(self.counted))


def paired(
    kernels: Sequence[Call], baselines: Sequence[Call], refresh: Call, spoil: Call, verify: Call, pairs: int = PAIRS
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
    watch = Watch()
    pace = warm_up(kernels, baselines)
    lead_in = ceil(LEAD_IN_S / pace.pair_s)
    times: tuple[list[float], list[float]] = ([], [])
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
        with watch():
            in_turn[-1][1]()  # so that the first timed call follows another one, too; the baseline writes elsewhere
            marks[0].record()
            for call, mark in zip(calls, marks[1:], strict=True):
                call()
                mark.record()
        steps = [1000 * a.elapsed_time(b) for a, b in pairwise(marks)]
        times[0 if kernel_first else 1].extend(steps[0::2])
        times[1 if kernel_first else 0].extend(steps[1::2])
        verify()
    return watch.times(*times)


def in_graphs(
    kernels: Sequence[Call], baselines: Sequence[Call], refresh: Call, spoil: Call, verify: Call, pairs: int = PAIRS
) -> Times:
    """As `paired`, but calls follow one another, as in a model: a pair is a graph of each, with a rest after the two.

    Inputs stay the same; outputs are overwritten before the first pair that counts, and looked at after the last.
    """
    from tutorlib.kernels.hopper import tune

    watch = Watch()
    numbers = [(n,) for n in range(len(kernels))]
    calls = [lambda n: kernels[n](), lambda n: baselines[n]()]
    refresh()
    times = tune.in_a_row(calls, numbers, pairs, spoil, watch)
    verify()
    return watch.times(*times)


def host_us(call: Call, calls: int = 200) -> float:
    """The host's time for a call, in µs: the kernel is queued and not waited for."""
    import torch

    for _ in range(calls // 10):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    us = (time.perf_counter() - start) / calls * 1e6
    torch.cuda.synchronize()
    return us


def warm_up(kernels: Sequence[Call], baselines: Sequence[Call]) -> Pace:
    """Run both until the clocks have risen; their first calls, which may compile, do not count."""
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


# Measurements ---------------------------------------------------------------------------------------------------------

NOISE = 0.05  # a spread above this is no measurement
OFF = 0.15  # nor is one whose baseline is farther from its usual time: records of the same work differ by less than 0.1
TOO_FAST = 0.9  # datasheet rates hold at one clock and a GPU may boost beyond it; this far below the floor is no boost


@dataclass(frozen=True)
class Measurement:
    """A kernel's time at one shape, beside a baseline's in the same run.

    median_us, lower_us, upper_us: median and quartiles of the kernel's times; baseline_us: the baseline's median.
    ratio: median over the pairs of baseline time / kernel time, so above 1 is faster than the baseline.
    spread: distance of the quartiles of that ratio, divided by it.
    n: pairs. throttled: the driver's reasons to slow down, or ().
    clock_mhz, counted_mhz: the SM clock under load, as the driver reports it, and as the SMs count it (`SmClock`).
    tflops, gbps: throughput at the median; the other is None.
    regime: "cool": taken in short rounds between which the GPU rests. "in a row": see `in_graphs`.
    usual_us: the baseline's time for this work in other records of this GPU, None without any.
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
    counted_mhz: int | None = None
    usual_us: float | None = None

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
        if self.off:
            return self.off
        if self.throttled:
            return f"the GPU slowed down ({', '.join(self.throttled)})"
        if self.spread > NOISE:
            return f"the times spread by {self.spread:.0%}"
        return None

    @property
    def off(self) -> str | None:
        """Why its baseline contradicts other records, or None. Such a measurement is not recorded."""
        if self.usual_us is None or abs(self.baseline_us / self.usual_us - 1) <= OFF:
            return None
        return f"{self.baseline} took {self.baseline_us:,.1f} µs, elsewhere {self.usual_us:,.1f} µs for the same work"

    def same_work(self, other: "Measurement") -> bool:
        """Whether both baselines did the same in one regime; FLOP or bytes tell a causal product from a full one."""
        mine, others = ((m.baseline, m.shape, m.dtype, m.regime) for m in (self, other))
        return mine == others and isclose(*(m.speeds[0] * m.median_us for m in (self, other)), rel_tol=0.01)

    @property
    def rate(self) -> str:
        """Its throughput: "769 TFLOP/s", "4.21 TB/s"."""
        return rate(self.tflops, self.gbps)

    @property
    def speeds(self) -> tuple[float, float]:
        """The throughput and the baseline's in the same run, in TFLOP/s or TB/s."""
        speed = self.tflops or (self.gbps or 0) / 1000
        return speed, speed * self.median_us / self.baseline_us

    def __str__(self) -> str:
        line = (
            f"{by(self.shape)} {self.dtype}, {self.regime}: {self.median_us:.1f} µs "
            f"({self.lower_us:.1f} to {self.upper_us:.1f}), {self.rate}, {self.ratio:.3f} of {self.baseline}'s speed"
        )
        return f"{line}. Too noisy: {self.noisy}" if self.noisy else line

    __repr__ = __str__


def within_noise(gain: float, *measured: Measurement) -> bool:
    """Whether a gain (0.02: 2 % faster) between two measurements is smaller than their quartiles are apart."""
    return abs(gain) < sum(each.spread for each in measured) / 2


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
        counted_mhz=round(statistics.median(times.counted_mhz)) if times.counted_mhz else None,
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


# Measuring ------------------------------------------------------------------------------------------------------------


class WrongWhenTimed(Exception):
    """A timed call gave a wrong result; the message describes it."""


def measure_once(
    problem: Problem, launcher: Launcher, shape: Shape, pairs: int = PAIRS, in_a_row: bool = False
) -> Measurement:
    """The kernel's time at a shape beside the baseline's, on the GPU at hand; it may be noisy.

    At least `pairs` pairs are timed, in rounds of a few ms between which the GPU rests while outputs are checked; in a
    row, as `in_graphs` says.
    Raises WrongWhenTimed if a timed call's output is wrong or an input was changed, KernelFault, and ValueError where
    the problem has no baseline.
    """
    if not problem.baseline_name:
        raise ValueError(f"{problem.name} has no baseline: give its Problem one before you time a kernel beside it")
    try:
        sets = buffer_sets(problem.bytes(shape), device.need_gpu().l2)
        works = [Work(problem, shape) for _ in range(sets)]
        other_outputs = [work.output.tensor.clone() for work in works]  # the baseline has its own
        sums: list[tuple[int, ...]] = []

        def refresh() -> None:
            for work in works:
                work.refill(new_generator())
            sums[:] = [work.checksums() for work in works]

        def spoil() -> None:
            for work in works:
                work.output.poison()

        def verify() -> None:
            for work, before in zip(works, sums, strict=True):
                if work.checksums() != before:
                    raise WrongWhenTimed("the kernel changed an input.")
                if wrong := find_difference(problem.output.name, *work.output.seen, *work.expected()):
                    raise WrongWhenTimed(wrong.what)

        kernels = [launcher.on(work) for work in works]
        baselines = [
            partial(problem.baseline, output, *work.inputs) for output, work in zip(other_outputs, works, strict=True)
        ]
        timed, regime = (in_graphs, "in a row") if in_a_row else (paired, "cool")
        times = timed(kernels, baselines, refresh, spoil, verify, pairs)
        return replace(summarise(times, problem, shape), regime=regime)
    except (WrongWhenTimed, KernelFault):
        raise
    except Exception as error:
        raise fault(error) from error
