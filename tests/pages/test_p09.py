"""Notebook 09: what the page says of the compiler."""

import pytest

from tests.pages.p09 import GRADIENT, PROMISING, program
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.exercises import find
from tutorlib.kernels.cpp import Variant
from tutorlib.notebook.trials import fetching


@pytest.mark.parametrize(
    ("arch", "has"),
    [
        ("sm_80", {"mma.sync", "cp.async"}),
        ("sm_90", {"wgmma", "cp.async.bulk.tensor"}),
        ("sm_100", {"tcgen05", "cp.async.bulk.tensor"}),
    ],
)
def test_the_gradient_compiles_for_each_family(arch, has):
    assert has <= compile_cpp(GRADIENT, arch).instructions


def test_without_restrict_every_load_waits_for_the_one_before():
    assert fetching(compile_cpp(PROMISING)) == "wait for a free buffer → load → load"
    assert fetching(compile_cpp(Variant(restrict=False).source)).count("load → wait for it") == 2


def test_a_large_tile_spills_and_eight_warps_mend_it():
    large = (128, 256, 64)
    assert compile_cpp(Variant(large, group=8).source).stack_bytes > 1000
    assert compile_cpp(Variant(large, group=8, warps=8).source).stack_bytes == 0


@pytest.mark.gpu("80", calibrated=True)
def test_a_slow_kernel_loses_points_on_a_calibrated_gpu():
    """It takes a step too few where K is large."""
    outcome = find("09.2").grade(program(PROMISING.replace("(k + 63) / 64", "(k + 63) / 65")))
    assert outcome.status == "partial"
    assert find("09.2").correctness_points <= outcome.points < outcome.max_points
