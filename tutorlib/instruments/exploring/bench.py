"""Configurations timed beside cuBLAS, faster than `measure` does it: few calls, and no more than a look at results."""

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import torch

from tutorlib.instruments.sweeps.hopper import changed
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.launch import launcher
from tutorlib.problems.problem import Shape

ROUND_S = 0.025  # that a round of timing takes, about
ROUNDS = 2
TOLERANCE = 2e-3  # of C, times the root of K, beside the rounding of both results
L2_FLUSHES = 3  # times L2's size passes before inputs come again


class Bench:
    """Times calls beside cuBLAS. Inputs are parts of one long row of random numbers, results of another."""

    def __init__(self) -> None:
        self.inputs = torch.empty(1 << 28, dtype=torch.bfloat16, device="cuda").normal_()
        self.results = torch.empty(1 << 27, dtype=torch.bfloat16, device="cuda")
        self.l2 = torch.cuda.get_device_properties().L2_cache_size
        self.gpu = torch.cuda.get_device_name()

    def sets(self, shape: Shape) -> list[tuple[Any, Any, Any]]:
        """Enough copies of (a, b, c) that none is in L2 when its turn comes."""
        m, n, k = shape
        step_in, step_out = (-(-size // 64) * 64 for size in ((m + n) * k, m * n))
        wanted = max(2, L2_FLUSHES * self.l2 // (2 * (step_in + step_out)) + 2)
        count = min(wanted, self.inputs.numel() // step_in, self.results.numel() // step_out)
        found = []
        for number in range(count):
            data, c = self.inputs[number * step_in :], self.results[number * step_out :]
            found.append((data[: m * k].view(m, k), data[m * k : (m + n) * k].view(n, k), c[: m * n].view(m, n)))
        return found

    def measure(self, shape: Shape, configs: Sequence[HopperConfig]) -> Iterator[dict[str, Any]]:
        """A line for each configuration: its median time and cuBLAS's, or that its result is wrong."""
        m, n, k = shape
        sets = self.sets(shape)
        calls: list[Callable[..., Any]] = [lambda a, b, c: torch.mm(a, b.mT, out=c)]
        right = []
        for config in configs:
            launch = launcher(config, m, n, k)
            if wrong := self.wrong(launch, *sets[0]):
                yield {"shape": shape, "config": changed(config), "error": wrong}
                continue
            calls.append(launch)
            right.append(config)
        theirs, *ours = self.times(calls, sets) if right else [[]]
        for config, times in zip(right, ours, strict=True):
            us, baseline_us = statistics.median(times), statistics.median(theirs)
            yield {
                "shape": shape, "config": changed(config), "us": round(us, 3), "baseline_us": round(baseline_us, 3),
                "n": len(times), "gpu": self.gpu,
            }  # fmt: skip

    def wrong(self, launch: Callable[..., Any], a: Any, b: Any, c: Any) -> str:
        """How far the result is off, or ""."""
        want = torch.mm(a, b.mT).float()
        launch(a, b, c.fill_(torch.nan))
        off = float(((c.float() - want).abs() - want.abs() * 2**-7).max())
        return "" if off < TOLERANCE * a.shape[1] ** 0.5 else f"wrong: off by {off}"

    def times(self, calls: Sequence[Callable[..., Any]], sets: Sequence[tuple[Any, Any, Any]]) -> list[list[float]]:
        """µs of each call, in turns, in rounds that are queued behind a pause of the GPU."""
        torch.cuda.synchronize()
        start = time.perf_counter()
        for call in calls:
            call(*sets[1])
        torch.cuda.synchronize()
        turns = max(4, min(20, round(ROUND_S / max(time.perf_counter() - start, len(calls) * 8e-6))))
        found: list[list[float]] = [[] for _ in calls]
        for number in range(ROUNDS):
            order = random.Random(number).sample(range(len(calls)), len(calls)) * turns
            work = [(which, sets[(number * len(order) + at) % len(sets)]) for at, which in enumerate(order)]
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(len(work) + 1)]
            torch.cuda._sleep(int(2e9 * min(2e-5 * len(work) + 3e-4, 0.02)))
            for which, data in work[: len(calls)]:
                calls[which](*data)
            marks[0].record()
            for (which, data), mark in zip(work, marks[1:], strict=True):
                calls[which](*data)
                mark.record()
            torch.cuda.synchronize()
            for (which, _), (begin, end) in zip(work, pairwise(marks), strict=True):
                found[which].append(1e3 * begin.elapsed_time(end))
        return found
