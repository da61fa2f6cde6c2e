"""The scheduler's own source, run on Python's integers: what a cluster would work on, without compiling anything."""

import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import tutorlib.kernels.hopper.scheduler as compiled_scheduler
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.pipeline import Here


@dataclass(frozen=True)
class Divisor:
    """FastDivmodDivisorV2."""

    divisor: int

    def __rfloordiv__(self, number: int) -> int:
        return number // self.divisor

    def __rdivmod__(self, number: int) -> tuple[int, int]:
        return divmod(number, self.divisor)


def plain_scheduler() -> ModuleType:
    """scheduler.py with int for Int32, and functions that are not compiled."""
    cute = SimpleNamespace(jit=lambda function: function, FastDivmodDivisorV2=Divisor)
    cute.fast_divmod_create_divisor_v2 = Divisor
    cutlass: Any = ModuleType("cutlass")
    vars(cutlass).update(Int32=int, cute=cute, const_expr=bool, min=min, max=max, Constexpr=HopperConfig)
    module = ModuleType("plain_scheduler")
    file = Path(compiled_scheduler.__file__)
    real, sys.modules["cutlass"] = sys.modules["cutlass"], cutlass
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(file.read_text(encoding="utf-8"), file, "exec"), vars(module))
    finally:
        sys.modules["cutlass"] = real
    return module


SCHEDULER = plain_scheduler()


def items(
    config: HopperConfig, tiles: tuple[int, int], k_tiles: int, max_clusters: int
) -> list[tuple[int, int, int, int, int, list[int]]]:
    """(cluster, number, tile, M, N, K tiles in order of time) of every item: clusters in turn, parts of K."""
    plan, clusters = SCHEDULER.make_plan(tiles, k_tiles, max_clusters, config)
    found = []
    for cluster, part in product(range(clusters), range(config.split_k)):
        me = Here(0, 0, 0, 0, (0, 0), 0, cluster, clusters, part)
        schedule = SCHEDULER.Schedule(plan, me, config)
        for number in range(schedule.items()):
            tile, item = schedule.item(number)[0], schedule.take(number)
            order = [item.k_tile(step) for step in range(item.k_tiles)]
            found.append((cluster, number, tile, *schedule.coordinates(tile), order))
    return found
