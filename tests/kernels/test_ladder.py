"""The ladder's rungs and their orders of blocks."""

from functools import partial

import pytest

from tutorlib.kernels.ladder import HOPPER_RUNGS, LADDER, in_eights
from tutorlib.models.l2 import grouped, raster


def test_titles_tell_the_rungs_apart():
    assert len({rung.title for rung in LADDER}) == len(LADDER)
    assert [rung.notebook for rung in LADDER] == sorted(rung.notebook for rung in LADDER)


@pytest.mark.parametrize("group", [1, 3, 8, 100])
@pytest.mark.parametrize("grid", [(1, 1), (8, 8), (13, 5), (5, 13), (32, 17)])
def test_an_order_of_blocks_visits_every_tile_once(grid, group):
    everything = sorted((m, n) for m in range(grid[0]) for n in range(grid[1]))
    for order in (raster, in_eights, partial(grouped, group=group)):
        assert sorted(order(block, *grid) for block in range(len(everything))) == everything


def test_rungs_of_wgmma_differ_and_say_what_shared_memory_they_take():
    configs = [rung.config for rung in HOPPER_RUNGS]
    assert len(set(configs)) == len(configs)
    assert [rung.smem_bytes for rung in HOPPER_RUNGS] == [config.smem_bytes if config else 0 for config in configs]


def test_a_gpu_runs_the_rungs_that_it_has_instructions_for():
    runs = {arch: [rung.notebook for rung in LADDER if rung.needs.on(arch)] for arch in ("80", "90", "100")}
    assert runs["80"] == runs["100"] == ["09", "10", "11", "12", "12", "12"]
    assert set(runs["90"]) == {"09", "10", "11", "12", "13", "14"}
