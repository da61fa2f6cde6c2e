"""Notebook 09: what the page says of the compiler."""

import re

import pytest

from tests.pages.p09 import ADD, PROMISING, program
from tutorlib.compiling.cpp import compile_cpp
from tutorlib.course.source import parse
from tutorlib.exercises import find
from tutorlib.kernels.cpp import Variant
from tutorlib.paths import SOLUTIONS


@pytest.fixture(scope="module")
def page():
    """The solved notebook's functions, by name."""
    names = {}
    for cell in parse(SOLUTIONS / "09_tile_cpp.py"):
        if cell.kind == "code" and re.search(r"(?m)^(def|import|from) ", cell.solved):
            exec(cell.solved, names)
    return names


@pytest.mark.parametrize(
    ("arch", "has"),
    [
        ("sm_80", {"mma.sync", "cp.async"}),
        ("sm_90", {"wgmma", "cp.async.bulk.tensor"}),
        ("sm_100", {"tcgen05", "cp.async.bulk.tensor"}),
    ],
)
def test_the_gradient_compiles_for_each_family(page, arch, has):
    assert has <= compile_cpp(page["gradient"](), arch).instructions


def test_without_restrict_every_load_waits_for_the_one_before(page):
    alone = "wait for a free buffer → load → wait for it → load → wait for it"
    assert page["fetching"](compile_cpp(PROMISING)) == "wait for a free buffer → load → load"
    assert page["fetching"](compile_cpp(Variant(restrict=False).source)) == alone


def test_a_large_tile_spills_and_eight_warps_mend_it():
    large = (128, 256, 64)
    assert compile_cpp(Variant(large, group=8).source).stack_bytes > 1000
    assert compile_cpp(Variant(large, group=8, warps=8).source).stack_bytes == 0


def instructions(compiled):
    """The PTX without its comments, which have the Tile IR."""
    return [line for line in compiled.ptx.split("\n") if not line.startswith(("//", "%", "\t.loc"))]


@pytest.mark.parametrize("source", [ADD, PROMISING], ids=["add", "gemm"])
def test_a_store_without_a_mask_is_the_same_code_so_it_is_no_wrong_answer(source):
    unmasked = source.replace("C.store_masked", "C.store")
    assert unmasked != source
    assert instructions(compile_cpp(unmasked)) == instructions(compile_cpp(source))


@pytest.mark.gpu("80", calibrated=True)
def test_a_slow_kernel_loses_points_on_a_calibrated_gpu():
    """It takes a step too few where K is large."""
    outcome = find("09.2").grade(program(PROMISING.replace("(k + 63) / 64", "(k + 63) / 65")))
    assert outcome.status == "partial"
    assert find("09.2").correctness_points <= outcome.points < outcome.max_points
