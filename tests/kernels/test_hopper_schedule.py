"""Hopper's kernels: whose tiles a block computes."""

import os
import sys
import tempfile
from ctypes import CDLL
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import cutlass
import pytest
from cutlass import Int32, cute
from hypothesis import given, settings
from hypothesis import strategies as st

import tutorlib.kernels.hopper.scheduler as compiled_scheduler
from tutorlib.kernels.hopper.config import MIN_SHARED_K_TILES, HopperConfig
from tutorlib.kernels.hopper.pipeline import Here
from tutorlib.kernels.hopper.scheduler import Schedule, make_plan
from tutorlib.kernels.hopper.walk import GROUP, TileWalk
from tutorlib.models.l2 import grouped


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


SHARING = st.sampled_from([{}, {"stream_k": True}, {"persistent": False}, {"persistent": False, "split_k": 4}])


@st.composite
def configs(draw) -> HopperConfig:
    return HopperConfig(
        **draw(SHARING),
        raster=draw(st.sampled_from("mn")),
        group=draw(st.integers(1, 9)),
        snake=draw(st.booleans()),
        zigzag=draw(st.booleans()),
    )


@settings(max_examples=300)
@given(configs(), st.integers(1, 12), st.integers(1, 12), st.integers(1, 40), st.integers(1, 40))
def test_every_k_tile_of_every_tile_is_multiplied_once(config, tiles_m, tiles_n, k_tiles, max_clusters):
    seen, places = set(), {}
    for _, number, tile, m, n, order in items(config, (tiles_m, tiles_n), k_tiles, max_clusters):
        assert 0 <= m < tiles_m
        assert 0 <= n < tiles_n
        assert places.setdefault(tile, (m, n)) == (m, n)
        assert len(set(order)) == len(order) > 0
        work = {(m, n, k_tile) for k_tile in order if k_tile < k_tiles}  # TMA brings zeros for others
        assert len(work) == len(order) or (config.split_k > 1 and len(order) == 1)
        assert seen.isdisjoint(work)
        seen |= work
        assert number == 0 or max(order) == k_tiles - 1, "a part that others wait for is not its cluster's first"
    assert seen == {(m, n, k) for m in range(tiles_m) for n in range(tiles_n) for k in range(k_tiles)}
    assert len(set(places.values())) == len(places)


@settings(max_examples=100)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(4, 40), st.integers(1, 40))
def test_stream_k_gives_every_cluster_the_same_work(tiles_m, tiles_n, k_tiles, max_clusters):
    """To one K tile where all is shared, and to one tile at most, less than half of what they share, otherwise."""
    work = {}
    for cluster, _, _, _, _, order in items(HopperConfig(stream_k=True), (tiles_m, tiles_n), k_tiles, max_clusters):
        work[cluster] = work.get(cluster, 0) + len(order)
    assert max(work.values()) - min(work.values()) <= k_tiles / 2 + 1
    if len(work) > 1:
        assert min(work.values()) >= MIN_SHARED_K_TILES


# The same, compiled ---------------------------------------------------------------------------------------------


@cute.jit
def show(tiles_m: Int32, tiles_n: Int32, k_tiles: Int32, max_clusters: Int32, config: cutlass.Constexpr):
    plan, clusters = make_plan((tiles_m, tiles_n), k_tiles, max_clusters, config)
    for cluster in range(clusters):
        for part in range(config.split_k):
            zero = Int32(0)
            me = Here(zero, zero, zero, zero, (zero, zero), zero, cluster, clusters, part)
            schedule = Schedule(plan, me, config)
            for number in range(schedule.items()):
                tile, _, _ = schedule.item(number)
                m, n = schedule.coordinates(tile)
                item = schedule.take(number)
                for step in range(item.k_tiles):
                    cute.printf("%d %d %d %d %d %d", cluster, number, tile, m, n, item.k_tile(step))


def printed(*args) -> list[list[int]]:
    """What `show` prints, which comes from the C library."""
    with tempfile.TemporaryFile() as file:
        saved = os.dup(1)
        sys.stdout.flush()
        os.dup2(file.fileno(), 1)
        try:
            show(*args)
        finally:
            CDLL(None).fflush(None)
            os.dup2(saved, 1)
            os.close(saved)
        file.seek(0)
        return [[int(word) for word in line.split()] for line in file.read().decode().splitlines()]


@pytest.mark.parametrize(
    "config",
    [
        HopperConfig(snake=True, group=3, raster="m", zigzag=True),
        HopperConfig(stream_k=True, group=2),
        HopperConfig(tile=(128, 192, 64), split_k=3, persistent=False),
    ],
)
def test_the_compiled_scheduler_says_what_python_says(config):
    shapes = [((3, 5), 9, 7), ((1, 1), 4, 3), ((7, 2), 12, 4)]
    for tiles, k_tiles, max_clusters in shapes:
        plain = [[*item[:-1], k_tile] for item in items(config, tiles, k_tiles, max_clusters) for k_tile in item[-1]]
        assert printed(*tiles, k_tiles, max_clusters, config) == plain


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 132))
def test_blocks_take_every_tile_once(tiles_m, tiles_n, blocks):
    blocks = min(blocks, tiles_m * tiles_n)
    counts = [TileWalk(tiles_m, tiles_n, blocks, block).count for block in range(blocks)]
    assert sum(counts) == tiles_m * tiles_n
    assert max(counts) == -(-tiles_m * tiles_n // blocks)
    taken = sorted(
        grouped(block + number * blocks, tiles_m, tiles_n, GROUP)
        for block in range(blocks)
        for number in range(counts[block])
    )
    assert taken == list(product(range(tiles_m), range(tiles_n)))
