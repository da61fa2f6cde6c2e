"""The sweeps of GEMMs: which kernels and shapes they hold, and how these are launched."""

from math import log2
from statistics import median

import pytest

from tests.stand_ins import H200
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.instruments.sweeps import SWEEPS, make_sweep
from tutorlib.instruments.sweeps.hopper import LEAST, MOST, STEP, TOKENS, random_shapes
from tutorlib.kernels.hopper.choose import shape_problem
from tutorlib.machine import device
from tutorlib.machine.features import WGMMA

NEED_OTHERS = "gemm_nvidia", "gemm_quack"  # packages
HOPPER = [name for name, module in SWEEPS.items() if module == "hopper" and name not in NEED_OTHERS]


@pytest.mark.parametrize("name", [name for name in SWEEPS if name not in NEED_OTHERS])
def test_names_tell_the_kernels_apart(name):
    sweep = make_sweep(name)
    assert len({candidate.name for candidate in sweep.candidates}) == len(sweep.candidates) > 0
    assert len(set(sweep.shapes)) == len(sweep.shapes) > 0


@pytest.mark.parametrize(("name", "which"), [("gemm_rungs", 4), ("gemm_stages", 4)])
def test_the_kernels_compile_with_the_shared_memory_that_they_say(name, which):
    candidate = make_sweep(name).candidates[which]
    compiled = compile_cute(candidate.launcher.host, [TensorSpec((512, 512), "bf16")] * 3, "sm_80")
    assert candidate.smem_bytes <= compiled.smem_bytes <= candidate.smem_bytes + 1024  # and the allocator's alignment


@pytest.fixture
def h200(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)


@pytest.mark.usefixtures("h200")
def test_a_persistent_rung_has_as_many_blocks_as_run_at_once():
    launcher = make_sweep("tile_rungs").candidates[-1].launcher
    assert launcher.grid((8192, 8192, 8192)) == (132, 1, 1)
    assert launcher.grid((128, 256, 128)) == (2, 1, 1)


@pytest.mark.usefixtures("h200")
def test_the_ways_to_do_320_rows_fill_every_multiprocessor():
    blocks = {candidate.launcher.grid((320, 32576, 7168))[0] for candidate in make_sweep("tile_fp8").candidates}
    assert blocks == {66, 132, 264}


def test_117_shapes_that_tma_takes_each_weight_at_each_number_of_tokens():
    sweep = make_sweep("gemm_models")
    assert len(sweep.shapes) == len(set(sweep.shapes)) == 117
    assert [shape_problem(*shape) for shape in sweep.shapes] == [None] * 117
    assert {tokens for tokens, _, _ in sweep.shapes} == set(TOKENS)


@pytest.mark.parametrize("name", HOPPER)
def test_nothing_of_it_runs_where_there_is_no_wgmma(name):
    assert {candidate.needs for candidate in make_sweep(name).candidates} == {WGMMA}


def test_random_shapes_are_multiples_within_the_range_and_each_doubling_is_as_likely():
    sizes = [size for shape in random_shapes(1, count=4000) for size in shape]
    assert all(LEAST <= size <= MOST and size % STEP == 0 for size in sizes)
    assert median(map(log2, sizes)) == pytest.approx((log2(LEAST) + log2(MOST)) / 2, abs=0.1)
    assert random_shapes(1) == random_shapes(1) != random_shapes(2)
