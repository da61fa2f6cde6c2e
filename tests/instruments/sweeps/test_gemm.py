"""The sweeps of the GEMM ladder: which kernels they hold."""

import pytest

from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.instruments.sweeps import SWEEPS, make_sweep
from tutorlib.kernels.ladder import AMPERE_RUNGS, HOPPER_RUNGS, LADDER
from tutorlib.machine.features import MMA_SYNC, WGMMA

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
