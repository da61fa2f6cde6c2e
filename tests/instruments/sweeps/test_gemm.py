"""The sweeps of GEMMs: which kernels and shapes they hold, and how these are launched."""

import pytest

from tests.stand_ins import H200
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.instruments.sweeps import SWEEPS, make_sweep
from tutorlib.instruments.sweeps.hopper import MODELS, TOKENS, model_shapes
from tutorlib.kernels.fused.mlp import LLAMA_8B
from tutorlib.kernels.hopper.choose import shape_problem
from tutorlib.kernels.ladder import AMPERE_RUNGS, HOPPER_RUNGS, LADDER
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, WGMMA
from tutorlib.measuring.launchers import CutileLauncher

NEED_OTHERS = "gemm_nvidia", "gemm_quack"  # packages


@pytest.mark.parametrize("name", [name for name in SWEEPS if name not in NEED_OTHERS])
def test_names_tell_the_kernels_apart(name):
    sweep = make_sweep(name)
    assert len({candidate.name for candidate in sweep.candidates}) == len(sweep.candidates) > 0
    assert len(set(sweep.shapes)) == len(sweep.shapes) > 0


def test_a_rung_says_what_runs_it():
    needs = {candidate.name: candidate.needs for candidate in make_sweep("gemm_rungs").candidates}
    assert needs == {rung.title: MMA_SYNC for rung in AMPERE_RUNGS} | {rung.title: WGMMA for rung in HOPPER_RUNGS}


def test_the_rungs_are_the_ladders():
    assert [candidate.name for candidate in make_sweep("gemm_rungs").candidates] == [rung.title for rung in LADDER]


@pytest.mark.parametrize(("name", "which"), [("gemm_rungs", 4), ("gemm_stages", 4)])
def test_the_kernels_compile_with_the_shared_memory_that_they_say(name, which):
    candidate = make_sweep(name).candidates[which]
    compiled = compile_cute(candidate.launcher.host, [TensorSpec((512, 512), "bf16")] * 3, "sm_80")
    assert candidate.smem_bytes <= compiled.smem_bytes <= candidate.smem_bytes + 1024  # and the allocator's alignment


@pytest.mark.samples("TUTORLIB_CUTLASS")
def test_beside_nvidias_own_kernel_stand_the_same_rungs():
    sweep = make_sweep("gemm_nvidia")
    assert sweep.problem.baseline_name == "NVIDIA's tensorop_gemm"
    assert [candidate.name for candidate in sweep.candidates] == [rung.title for rung in AMPERE_RUNGS]


@pytest.fixture
def h200(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)


def test_the_first_rung_has_a_block_for_each_tile():
    launcher = make_sweep("tile_rungs").candidates[0].launcher
    assert isinstance(launcher, CutileLauncher)
    assert launcher.grid((256, 384, 128)) == (2, 3, 1)
    assert launcher.constants((256, 384, 128)) == (128, 128, 64)


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
    assert [candidate.needs for candidate in sweep.candidates] == [WGMMA]


def test_the_file_says_which_weight_is_whose():
    models = make_sweep("gemm_models").facts["models"]
    weights = [(n, k) for model in models.values() for n, k in model.values()]
    assert [(n, k) for _, n, k in model_shapes((8,))] == weights


def test_llamas_weights_are_those_of_notebook_16():
    hidden, features = LLAMA_8B
    assert MODELS["Llama 3 8B"]["gate, up"] == (2 * features, hidden)
    assert MODELS["Llama 3 8B"]["down"] == (hidden, features)
