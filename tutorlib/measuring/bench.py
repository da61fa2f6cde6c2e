"""Timing a kernel beside a baseline, in one run, in pairs."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice, pairwise
from math import ceil
from typing import NamedTuple

from tutorlib.machine.clocks import Clocks, clocks
from tutorlib.problems.work import Call

WARM_UP_S = 0.1  # idle clocks need some tens of ms to rise
PAIRS = 40  # at least
LEAD_IN_S = 2e-3  # of the same work before a round: its first times are taken at the clocks and power of a long run


@dataclass(frozen=True)
class Times:
    """Paired times in µs, kernel[n] beside baseline[n]; clocks sampled while they ran."""

    kernel: tuple[float, ...]
    baseline: tuple[float, ...]
    clocks: tuple[Clocks, ...] = ()


def buffer_sets(bytes: int, l2: int) -> int:
    """The number of tensor sets to rotate through, so that 3 × L2's size passes before one is used again."""
    return max(1, -(-3 * l2 // bytes))


class Pace(NamedTuple):
    """queueing_s: the host's time to queue a pair, with a margin. pair_s: from queueing one to its end."""

    queueing_s: float
    pair_s: float


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
        in_turn[-1][1]()  # so that the first timed call follows another one, too; the baseline writes elsewhere
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
