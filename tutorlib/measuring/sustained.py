"""Timing under sustained load: seconds without a rest, in which a large GPU runs into its power limit."""

import time
from collections.abc import Iterator, Sequence
from itertools import chain, cycle, islice, pairwise

from tutorlib.machine.power import Meter, draw_of
from tutorlib.measuring import bench
from tutorlib.measuring.bench import Times
from tutorlib.measuring.measurement import Alone
from tutorlib.problems.work import Call

SETTLE_S = 0.4  # before what counts: clock and power follow a change of work within some tenths of a second
ALONE_S = 0.9  # of a kernel alone
IN_TURN_S = 0.5  # of both
MOST_PAIRS = 1_000
CHUNK_S = 0.02  # of work that the host queues at a time; there are never more than three such chunks


class HostBound(RuntimeError):
    """A launch takes the host longer than the kernel takes: back to back, its time would be the host's."""


def sustained(
    kernels: Sequence[Call], baselines: Sequence[Call], refresh: Call, spoil: Call, verify: Call
) -> tuple[Times, Alone, Alone]:
    """Times of kernel and baseline in turn, then each of the two alone: (pairs, kernel alone, baseline alone).

    The arguments are those of `bench.paired`. Inputs stay the same throughout; what is verified are the outputs that
    the last calls leave. Raises HostBound.
    """
    pace = bench.warm_up(kernels, baselines)
    refresh()
    times = in_turn(kernels, baselines, spoil, pace.pair_s)
    chunk = max(1, round(2 * CHUNK_S / pace.pair_s))
    kernel, baseline = (alone(calls, chunk) for calls in (kernels, baselines))
    verify()
    return times, kernel, baseline


def alone(calls: Sequence[Call], chunk: int) -> Alone:
    """One kernel over and over, on one set of tensors after the other; while clocks settle, nothing is measured."""
    endless = cycle(calls)
    back_to_back(endless, SETTLE_S, chunk)
    with Meter() as meter:
        us = round(back_to_back(endless, ALONE_S, chunk), 3)
    if (draw := draw_of(meter.readings)) is None:
        return Alone(us)
    return Alone(us, draw.clock_mhz, draw.watts, draw.power_limited)


def back_to_back(calls: Iterator[Call], seconds: float, chunk: int) -> float:
    """Queue calls in chunks for so long, and wait for them. µs of a call, by the GPU's clock. Raises HostBound."""
    import torch

    marks = [torch.cuda.Event(enable_timing=True)]
    marks[0].record()
    until, idle = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        for call in islice(calls, chunk):
            call()
        idle += marks[-1].query()  # the GPU has done all that was queued before this chunk: it may have had to wait
        marks.append(torch.cuda.Event(enable_timing=True))
        marks[-1].record()
        if len(marks) > 3:
            marks[-3].synchronize()
    marks[-1].synchronize()
    chunks = len(marks) - 1
    if idle > chunks / 2 and chunks > 3:
        raise HostBound("the host takes longer to launch this kernel than the GPU to run it; apache-tvm-ffi helps")
    return 1e3 * marks[0].elapsed_time(marks[-1]) / (chunks * chunk)


def in_turn(kernels: Sequence[Call], baselines: Sequence[Call], spoil: Call, pair_s: float) -> Times:
    """A, B, A, B, … without a rest, on sets far apart; what runs before they are timed settles the clocks."""
    import torch

    sets = len(kernels)
    turns = [(kernels[n], baselines[(n + sets // 2) % sets]) for n in range(sets)]
    back_to_back(cycle(chain.from_iterable(turns)), SETTLE_S, chunk=2 * max(1, round(CHUNK_S / pair_s)))
    pairs = max(sets, min(MOST_PAIRS, round(IN_TURN_S / pair_s)), bench.PAIRS)
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(2 * pairs + 1)]
    spoil()
    with Meter() as meter:
        for call in islice(chain.from_iterable(turns), 2):  # the first timed call follows another one, too
            call()
        marks[0].record()
        for call, mark in zip(cycle(chain.from_iterable(turns)), marks[1:], strict=False):
            call()
            mark.record()
        torch.cuda.synchronize()
    steps = [1e3 * a.elapsed_time(b) for a, b in pairwise(marks)]
    return Times(tuple(steps[0::2]), tuple(steps[1::2]), tuple(reading.clocks for reading in meter.readings))
