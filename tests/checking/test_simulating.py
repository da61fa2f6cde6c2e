"""What is said of a kernel that was simulated: the fault, its line and what mends it."""

import linecache
from dataclasses import replace

import pytest

from tests.gpu_kernels import COPY
from tests.pages.n04_first_kernels import wrong as n04_first_kernels
from tests.pages.n05_copy_kernels import wrong as n05_copy_kernels
from tests.pages.n07_cutile_gemm import wrong_gemm as n07_gemm
from tests.pages.n07_cutile_gemm import wrong_precision as n07_precision
from tests.pages.n08_tile_cpp import wrong_gemm as n08_gemm
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.simulating import find_repeat, find_waste
from tutorlib.exercises import find
from tutorlib.failure import Hazard
from tutorlib.simulate.ptx import Finding, MemoryAccess, Report

pytestmark = pytest.mark.usefixtures("no_gpu")

SAID = {  # an answer's name → the fault, its line, and what mends it
    "guards_the_store": ("thread 1 of block 0 loads a[1]", "`total = a[i] + b[i]`", "Compare each index"),
    "into_a": ("the kernel changed its input a",),
    "whole_tiles_only": ("loads src[70, 0]", "cute.copy(tiled, from_src, registers)", "Compare each index"),
    "never_commits": ("it is in no committed group", "cute.copy(store, from_tile, registers)"),
    "lets_one_be_open": ("no wait has covered its group", "cute.copy(store, from_tile, registers)"),
    "barrier_before_the_wait": ("right by luck", "no barrier between", "need a barrier of the whole block"),
    "barrier_for_one_warp": ("would hang on a GPU", "a deadlock", "cute.arch.sync_threads()"),
    "no_swizzle": ("takes 32 wavefronts where 1 would do: threads meet in a bank", "mine.partition_S(turned)"),
    "down_the_columns": ("takes 32 sectors where 2 would do", "src[row, column_m]"),
    "all_tiles_in_each_block": ("more than it must", "has stored before"),
    "through_fp16": ("c[0, 0] is",),
    "everything": ("more than it must", "block 0"),
    "wrong_extents": ("loads b[136, 0], which lies outside b of shape (136, 129)", "B.load_masked(j, step)"),
}
MODULES = (n04_first_kernels, n05_copy_kernels, n07_gemm, n07_precision, n08_gemm)
TABLES = [table for module in MODULES for table in (module.WRONG, getattr(module, "WRONG_WHEN_RUN", {}))]
CASES = [
    pytest.param(id, answer, id=f"{id}-{answer.__name__}")
    for table in TABLES
    for id, answers in table.items()
    for answer in answers
    if answer.__name__ in SAID and isinstance(find(id), KernelExercise)
]


@pytest.mark.parametrize(("id", "answer"), CASES)
def test_the_message_leads_to_the_mend(id, answer):
    message = find(id).grade(answer).message
    for part in SAID[answer.__name__]:
        assert part in message


def test_every_message_was_asked_for():
    assert {case.values[1].__name__ for case in CASES} == set(SAID)


ACCESS = MemoryAccess(
    site=3, opcode="ld.shared.b32", space="shared", place=None, ptx_line=12, warps=4, taken=8, needed=4, worst=1
)


def report(*accesses, repeats=()):
    return Report((), accesses, 1, 1, repeats=repeats)


def test_only_the_opcodes_that_are_asked_for_must_be_lean():
    assert find_waste([report(ACCESS)], ("st.shared",)) is None
    assert find_waste([report(replace(ACCESS, taken=4))], ("ld.shared",)) is None
    assert "line 12 of the PTX: a warp's ld.shared.b32 takes 2 wavefronts where 1 would do" in find_waste(
        [report(), report(ACCESS)], ("ld.shared",)
    )


def test_slack_lets_an_access_move_so_many_times_what_it_needs():
    assert find_waste([report(ACCESS)], ("ld.shared",), slack=2) is None
    assert find_waste([report(replace(ACCESS, taken=9))], ("ld.shared",), slack=2)


def test_the_worst_access_is_named():
    worse = replace(ACCESS, ptx_line=20, taken=64)
    assert "line 20" in find_waste([report(ACCESS, worse, ACCESS)], ("ld.shared",))


def test_a_repetition_is_no_fault_unless_it_is_asked_for():
    again = Finding(Hazard.REPEAT, "block 0 stores c[0], which block 1 stores too", None, 7, 5)
    assert find_repeat([report()]) is None
    assert "which block 1 stores too (line 7 of the PTX)" in find_repeat([report(repeats=(again,))])


def test_a_cutile_kernel_of_a_notebooks_cell():
    """Its module is __main__, which has no file."""
    cell, source = "/tmp/ipykernel_1/42.py", (
        "import cuda.tile as ct\n\n\n@ct.kernel\ndef add(a, b, c, tile: ct.Constant[int]):\n    i = ct.bid(0)\n"
        "    ct.store(c, (i,), ct.load(a, (i,), (tile,)) + ct.load(b, (i,), (tile,)))\n"
    )  # fmt: skip
    linecache.cache[cell] = len(source), None, source.splitlines(keepends=True), cell
    namespace = {"__name__": "__main__"}
    exec(compile(source, cell, "exec"), namespace)
    assert find("06.1").grade(namespace["add"]).status == "passed"


def test_what_a_gpu_would_refuse_to_launch():
    outcome = find("04.5").grade(
        next(a for a in n04_first_kernels.WRONG_WHEN_RUN["04.5"] if a.__name__ == "rounds_down")
    )
    assert "it could not be launched: a grid of (0, 1, 1) blocks" in outcome.message


def test_points_are_for_the_sizes_that_are_right():
    assert COPY.points_anywhere == COPY.points
    assert replace(COPY, tiers=(0.9,), bench_shape=(64, 64)).points_anywhere == COPY.points - 1
