"""What is said of a kernel that was simulated: the fault, its line and what mends it."""

import linecache
from dataclasses import replace

import pytest

from tests.gpu_kernels import COPY
from tests.pages.answers import named
from tutorlib.checking.simulating import find_repeat, find_waste
from tutorlib.exercises import find
from tutorlib.failure import Hazard
from tutorlib.simulate.ptx import Finding, MemoryAccess, Report

pytestmark = pytest.mark.usefixtures("no_gpu")

SAID = {  # exercise, the answer's row → the fault, its line, and what mends it
    ("04.4", "c[i] = → a[i] = c[i] ="): ("the kernel changed its input a",),
    ("05.4", "×2 , pred=mask →"): (
        *("loads src[70, 0]", "cute.copy(tiled, from_src, registers)", "Compare each index"),
    ),
    ("05.5", "- commit_group()"): ("it is in no committed group", "cute.copy(store, from_tile, registers)"),
    ("05.5", "wait_group(0) → wait_group(1)"): ("no wait has covered its group", "cute.copy(store, from_tile"),
    ("05.5", "- wait_group(0) ;; sync_threads() → sync_threads()⏎    cute.arch.cp_async_wait_group(0)"): (
        *("right by luck", "no barrier between", "need a barrier of the whole block"),
    ),
    ("05.5", "cute.arch.sync_threads() → if thread < 32:⏎        cute.arch.sync_threads()"): (
        *("would hang on a GPU", "a deadlock", "cute.arch.sync_threads()"),
    ),
    ("05.7", "make_swizzle(5, 0, 6) → make_swizzle(0, 0, 0)"): (
        *("takes 32 wavefronts where 1 would do: threads meet in a bank", "mine.partition_S(turned)"),
    ),
    ("07.4", "rows * columns, ct.num_blocks(0) → rows * columns"): ("more than it must", "has stored before"),
    ("08.2", "ct::extents{n, k} → ct::extents{m, k}"): (
        *("loads b[136, 0], which lies outside b of shape (136, 129)", "B.load_masked(j, step)"),
    ),
}


@pytest.mark.parametrize(("id", "row"), SAID)
def test_the_message_leads_to_the_mend(id, row):
    message = find(id).grade(named(id, row).function).message
    for part in SAID[id, row]:
        assert part in message


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
    rounds_down = named("04.5", "cute.ceil_div(cute.size(c), THREADS) → cute.size(c) // THREADS")
    outcome = find("04.5").grade(rounds_down.function)
    assert "it could not be launched: a grid of (0, 1, 1) blocks" in outcome.message


def test_points_are_for_the_sizes_that_are_right():
    assert COPY.points_anywhere == COPY.points
    assert replace(COPY, tiers=(0.9,), bench_shape=(64, 64)).points_anywhere == COPY.points - 1
