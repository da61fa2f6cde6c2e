"""Judging a model of the kernel's time: by its result, and by the term whose omission explains it."""

from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import isclose
from random import Random
from typing import Any

from tutorlib.checking.exercise import Answer
from tutorlib.checking.graded_run import more_for_points
from tutorlib.checking.values import Case, attempt, plain, shorten
from tutorlib.models.hopper_gemm import gemm_time
from tutorlib.models.work import Sm
from tutorlib.problems.problem import Shape
from tutorlib.problems.wrong import Wrong

LONGEST = 1e12  # µs: an integer may be larger than any float


def with_changes(**changes: float) -> Answer:
    """`cost` on a machine where something takes no time, as for a formula that forgets it."""
    return lambda config, m, n, k, sm: gemm_time(config, m, n, k, replace(sm, **changes))


class Anywhere(Sm):
    """An SM of a GPU whose clusters need not be in one GPC."""

    def at_once(self, blocks: int) -> int:
        return self.sms // blocks


FORGETS: tuple[tuple[str, Answer], ...] = (
    (
        "The start is missing: launch, first loads and last stores take sm.start µs at every size.",
        with_changes(start=0.0),
    ),
    ("Bytes from L2 make a step longer too: one cycle for every sm.l2_bytes.", with_changes(l2_bytes=1e12)),
    ("Shared memory may take longer for a step than the tensor cores.", with_changes(smem_bytes=1e12)),
    ("Between two tiles the tensor cores pause: sm.store cycles in each round.", with_changes(store=0.0)),
    ("Device memory must deliver A and B and take C: the time is never below that.", with_changes(hbm_bytes=1e12)),
    ("Stream-K is not free: handing over and adding a part of a tile takes sm.share cycles.", with_changes(share=0.0)),
    (
        "With split-K a cluster adds up its blocks' parts: sm.exchange more in each round.",
        with_changes(exchange=0),
    ),
    (
        "With split-K each block of a cluster has a part of the tile's K: divide the K tiles by config.split_k.",
        lambda config, m, n, k, sm: gemm_time(config, m, n, k * config.split_k, sm),
    ),
    (
        "A cluster's blocks must be in one GPC: sm.at_once(blocks) is how many fit; sm.sms // blocks is too many.",
        lambda config, m, n, k, sm: gemm_time(config, m, n, k, Anywhere(**vars(sm))),
    ),
    (
        "A transposed configuration has A and B in each other's places: exchange m and n first.",
        lambda config, m, n, k, sm: gemm_time(replace(config, transposed=False), m, n, k, sm),
    ),
    (
        "Without stream-K the last round takes as long as any other, however few clusters have a tile in it: round up.",
        lambda config, m, n, k, sm: gemm_time(replace(config, stream_k=True), m, n, k, replace(sm, share=0.0)),
    ),
    (
        "With stream-K there is no partly filled last round: tiles / clusters, not rounded.",
        lambda config, m, n, k, sm: gemm_time(replace(config, stream_k=False), m, n, k, sm) + sm.share / sm.clock,
    ),
)


def forgotten(got: float, args: tuple) -> str:
    """The term that an answer with this result omits, or ""."""
    from tutorlib.kernels.hopper.config import ConfigError

    for says, other in FORGETS:
        with suppress(ConfigError):  # of a configuration that has nothing of the kind to forget
            if isclose(got, other(*args), rel_tol=1e-6):
                return says
    return ""


def shown(changes: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in changes.items())


def some_shape(rng: Random) -> Shape:
    return tuple(8 * round(2 ** rng.uniform(3, 10)) for _ in range(3))


def costs(name: str, shapes: tuple[Shape, ...], *configs: dict[str, Any], **gpu: Any) -> Case:
    """configs: what differs from the default one. gpu: what differs from an H200. The grader also draws shapes."""

    def judge(answer: Answer) -> Wrong | None:
        from tutorlib.kernels.hopper.config import HopperConfig

        for changes, shape in product(configs, (*shapes, *more_for_points(some_shape, 2))):
            args = (HopperConfig(**changes), *shape, Sm(**gpu))
            call = f"cost(HopperConfig({shown(changes)}), {', '.join(map(str, shape))}, Sm({shown(gpu)}))"
            got, fault = attempt(answer, args)
            got = plain(got)
            if fault:
                return Wrong(f"{call}: {fault.what.rpartition(' raised ')[2]}")
            if isinstance(got, bool) or not isinstance(got, int | float):
                return Wrong(f"{call} gives {shorten(got)}: it should be a number of µs.")
            if abs(got) > LONGEST:
                return Wrong(f"{call} gives {shorten(got)} µs: it should be {gemm_time(*args):.3f}.")
            if not isclose(got, want := gemm_time(*args), rel_tol=1e-6):
                return Wrong(f"{call} gives {got:.3f} µs: it should be {want:.3f}.", forgotten(got, args))
        return None

    return Case(name, judge)
