"""Exercises in each language on a machine without a GPU, host code that launches, and calls of compilers."""

from dataclasses import replace
from types import SimpleNamespace

import cuda.tile as ct
import pytest
import torch

from tests.gpu.right_kernels import RIGHT, grid_stride_loop, one_thread_per_element
from tests.gpu_kernels import (
    COPY,
    FATAL,
    WRONG,
    accumulates_in_fp16,
    unwritten,
)
from tests.pages.p09 import FIRST
from tests.simulate.cute_kernels import stops_at_a_breakpoint
from tutorlib.checking.cute import CuteExercise
from tutorlib.compiling import programs
from tutorlib.exercises import find
from tutorlib.machine.features import FP8_MMA
from tutorlib.measuring import launchers
from tutorlib.notebook.check import CheckFailed, check
from tutorlib.simulate.ptx import schedule
from tutorlib.simulate.stand_in.tiles import SMS, launches_interpreted

# CuTe: what compiles, what is looked at, what is said ----------------------------------------------------------------

pytestmark = pytest.mark.usefixtures("no_gpu")

KERNELS = [pytest.param(*case[:2], id=case[1].__name__) for case in RIGHT]
REFUSED = [pytest.param(COPY, kernel, id=kernel.__name__) for _, kernel, *_ in (*WRONG, *FATAL)]


@pytest.fixture
def copy_is_asked_for(monkeypatch):
    monkeypatch.setattr("tutorlib.notebook.check.find", lambda id: COPY)


@pytest.mark.parametrize(("exercise", "kernel"), KERNELS)
def test_every_kernel_that_a_gpu_accepts_is_accepted_without_one(exercise, kernel):
    outcome = exercise.grade(kernel)
    assert outcome.status == "passed", outcome.message


@pytest.mark.parametrize(("exercise", "kernel"), REFUSED)
def test_every_kernel_that_a_gpu_refuses_is_refused_without_one(exercise, kernel, monkeypatch):
    monkeypatch.setattr(schedule, "LIMIT", 20_000)
    outcome = exercise.grade(kernel)
    assert outcome.status in ("failed", "partial", "timeout"), outcome.message
    assert outcome.points < outcome.max_points


@pytest.mark.usefixtures("copy_is_asked_for")
def test_not_run_is_printed_and_not_raised(capsys, monkeypatch):
    monkeypatch.setattr("tutorlib.notebook.check.find", lambda id: replace(COPY, needs=FP8_MMA))
    check("99.1", one_thread_per_element)
    assert capsys.readouterr().out == "– 99.1 copy: compiled; not run: no GPU here\n"


def test_what_the_simulator_lacks_is_not_run():
    outcome = COPY.grade(stops_at_a_breakpoint)
    assert (outcome.status, outcome.points) == ("not_run", 0)
    assert "brkpt is not simulated" in outcome.message


@pytest.mark.usefixtures("copy_is_asked_for")
def test_what_does_not_compile_is_raised():
    with pytest.raises(CheckFailed, match="does not compile"):
        check("99.1", accumulates_in_fp16)  # it takes three tensors


@pytest.mark.parametrize(("spills", "refused"), [(True, False), (False, True)])
def test_registers_that_spill_are_refused_where_none_may(monkeypatch, spills, refused):
    spilling = SimpleNamespace(instructions=frozenset(), spill_bytes=8)
    monkeypatch.setattr(CuteExercise, "compile_for", lambda exercise, evidence, arch: spilling)
    evidence = SimpleNamespace(at=lambda shape, arch: SimpleNamespace(ptx=""))
    found = replace(COPY, requires=(), spills=spills).wrong_code(evidence)
    assert (found is not None) == refused
    assert not refused or found == "it spills 8 bytes of registers in each thread."


def test_a_missing_instruction_fails():
    outcome = replace(COPY, requires=("cp.async", "ldmatrix")).grade(grid_stride_loop)
    assert outcome.status == "failed"
    assert "without cp.async and ldmatrix, which the exercise is about" in outcome.message


def test_a_forbidden_instruction_fails():
    outcome = replace(COPY, forbids=("ld.global",)).grade(grid_stride_loop)
    assert "still uses ld.global" in outcome.message


def test_an_unwritten_kernel():
    assert COPY.grade(unwritten).message == "✗ 99.1 copy: not written yet"


def test_what_is_no_kernel():
    assert COPY.grade(3).message == "✗ 99.1 copy: 3 is not a @cute.jit function."


# cuTile, interpreted: right in another way, wrong without looking so -------------------------------------------------

Const = ct.Constant


@ct.kernel
def persistent_transpose(x, y, tm: Const[int], tn: Const[int]):
    """Right: every block goes through the tiles in steps of the grid."""
    for i in range(ct.bid(0), ct.num_tiles(x, 0, (tm, tn)), ct.num_blocks(0)):
        for j in range(ct.bid(1), ct.num_tiles(x, 1, (tm, tn)), ct.num_blocks(1)):
            ct.store(y, (j, i), ct.transpose(ct.load(x, (i, j), (tm, tn))))


@ct.kernel
def gathering_transpose(x, y, tm: Const[int], tn: Const[int]):
    """Right: by index and without tile space."""
    row = (ct.bid(0) * tm + ct.arange(tm, dtype=ct.int32))[:, None]
    column = (ct.bid(1) * tn + ct.arange(tn, dtype=ct.int32))[None, :]
    ct.scatter(y, (column, row), ct.gather(x, (row, column)))


@ct.kernel
def two_pass_softmax(x, y, tile: Const[int]):
    """Right: masks the padding by hand."""
    row = ct.load(x, (ct.bid(0), 0), (1, tile), padding_mode=ct.PaddingMode.ZERO)
    there = ct.arange(tile, dtype=ct.int32)[None, :] < x.shape[1]
    top = ct.max(ct.where(there, row, -float("inf")))
    e = ct.where(there, ct.exp(row - top), 0.0)
    ct.store(y, (ct.bid(0), 0), e / ct.sum(e))


@pytest.mark.parametrize(("id", "answer"), [("06.1", persistent_transpose), ("06.1", gathering_transpose)])
def test_right_in_another_way(id, answer, capsys):
    check(id, answer)
    assert capsys.readouterr().out == find(id).passed_line + "\n"


@ct.kernel
def unwritten_transpose(x, y, tm: Const[int], tn: Const[int]):
    raise ct.static_exception(NotImplementedError("Exercise 06.1"))


@ct.kernel
def with_a_tile_of_100(x, y, tm: Const[int], tn: Const[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, (j, i), ct.transpose(ct.load(x, (i, j), (100, tn))))


@ct.kernel
def rounds_towards_zero(x, y, tm: Const[int], tn: Const[int]):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (i, j), (tm, tn))
    ct.store(y, (j, i), ct.transpose(ct.add(tile, 0.0, rounding_mode=ct.RoundingMode.RZ)))


@ct.kernel
def last_block_wins(x, y, tm: Const[int], tn: Const[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, (j, i), ct.transpose(ct.load(x, (i, j), (tm, tn))))
    if i + j == 0:
        ct.store(y, (1, 0), ct.transpose(ct.load(x, (0, 0), (tm, tn))))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (unwritten_transpose, "✗ 06.1 transpose: not written yet"),
        (with_a_tile_of_100, "Dimension #0 of shape (100, 32) is not a power of two"),
        (rounds_towards_zero, "rounding_mode=RoundingMode.RZ is not simulated"),
        (last_block_wins, "right by luck: block (0, 1) stores y[32:64, 0:16], where block (0, 0) stored other values"),
        (print, "print is not a @ct.kernel function"),
    ],
)
def test_what_is_said(answer, says):
    outcome = find("06.1").grade(answer)
    assert outcome.status in ("failed", "partial")
    assert says in outcome.message


def test_speed_that_cannot_be_measured_is_not_run():
    transpose = find("06.1")
    outcome = replace(transpose, tiers=(0.9,), bench_shape=(2**10, 2**10)).grade(persistent_transpose)
    assert outcome.status == "not_run"
    assert outcome.points == transpose.points - 1
    assert "speed not run" in outcome.message


# Host code without a GPU: what a launch does, what it refuses, what is left of it ------------------------------------


@ct.kernel
def double(x, z, tile: ct.Constant[int]):
    ct.store(z, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) * 2)


X = torch.arange(10.0)


def test_a_launch_runs_when_it_is_called_and_leaves_a_report():
    z = torch.full((10,), torch.nan)
    with launches_interpreted() as launched:
        sms = torch.cuda.get_device_properties(X.device).multi_processor_count
        ct.launch(torch.cuda.current_stream(), (sms,), double, (X, z, 4))
    assert sms == SMS
    torch.testing.assert_close(z, 2 * X)
    (one,) = launched
    assert (one.blocks, one.kernel, one.findings) == (3, "double", ())
    assert one.storers["z"].tolist() == [0] * 4 + [1] * 4 + [2] * 2


@pytest.mark.parametrize(
    ("launch", "error", "says"),
    [
        ((None, (1,), double, (X, X, 4)), TypeError, "wants a stream first"),
        ((X, (1,), double, (X, X, 4)), TypeError, "not a Tensor"),
        ((132, (1,), double, (X, X, 4)), TypeError, "not 132"),
        ((0, [1], double, (X, X, 4)), TypeError, "the grid should be a tuple"),
        ((0, (1, 1, 1, 1), double, (X, X, 4)), ValueError, "one to three sizes, not 4"),
        ((0, (1.0,), double, (X, X, 4)), TypeError, "1.0 is a float"),
        ((0, (0,), double, (X, X, 4)), ValueError, "has no blocks"),
        ((0, (1,), print, (X, X, 4)), TypeError, "print is not a @ct.kernel"),
        ((0, (1,), double, [X, X, 4]), TypeError, "should be a tuple, not a list"),
        ((0, (1,), double, (X, X)), TypeError, "takes 3 arguments, x, z, tile; it is given 2"),
    ],
)
def test_what_a_launch_refuses(launch, error, says):
    with launches_interpreted(), pytest.raises(error, match=says.replace("(", r"\(")):
        ct.launch(*launch)


def test_what_the_real_launch_refuses_is_refused_here():
    """Types alone: the real one goes on to look for a driver."""
    for launch in [
        (None, (1,), double, (X, X, 4)),
        (X, (1,), double, (X, X, 4)),
        (0, [1], double, (X, X, 4)),
        (0, (1.0,), double, (X, X, 4)),
    ]:
        with pytest.raises(TypeError):
            ct.launch(*launch)
        with launches_interpreted(), pytest.raises(TypeError):
            ct.launch(*launch)


def test_the_real_functions_are_back_afterwards():
    before = ct.launch, torch.cuda.current_stream, torch.cuda.get_device_properties
    with launches_interpreted():
        assert ct.launch is not before[0]
    assert (ct.launch, torch.cuda.current_stream, torch.cuda.get_device_properties) == before


def test_what_host_code_asks_of_torch_about_a_gpu():
    with launches_interpreted() as launched:
        room = torch.empty(10, device="cuda")
        stream = torch.cuda.default_stream()
        ct.launch(stream.cuda_stream, (1,), double, (X, room, 16))
        torch.cuda.synchronize()
    assert len(launched) == 1
    assert torch.equal(room, 2 * X)


# Tile C++: answers that return no source, tools that are missing, kernels with torch in their place ------------------


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda: 3, "it should return the source, a string; it returns 3."),
        (lambda: 1 // 0, "ZeroDivisionError"),
        ("source", "is not a function that returns the source"),
    ],
)
def test_an_answer_that_returns_no_source(answer, says):
    outcome = find("09.1").grade(answer)
    assert (outcome.status, outcome.points) == ("failed", 0)
    assert says in outcome.message


def test_what_a_gemm_without_tma_hears():
    message = find("09.2").grade(lambda: FIRST).message
    assert "not every load and store goes by TMA" in message
    assert "base pointer not 16-byte aligned" in message


@pytest.mark.usefixtures("nothing_kept")
class TestMissingTools:
    def test_without_a_host_compiler(self, monkeypatch):
        monkeypatch.setattr(programs.shutil, "which", lambda name: None)
        outcome = find("09.1").grade(lambda: FIRST)
        assert outcome.status == "not_run"
        assert outcome.message == (
            "– 09.1 first gemm: not run: nvcc needs a C++ compiler, and there is no gcc here "
            "(Debian, Ubuntu: apt install g++)"
        )

    def test_without_nvcc(self, monkeypatch):
        def missing(name):
            raise programs.metadata.PackageNotFoundError(name)

        programs.packaged_program.cache_clear()
        monkeypatch.setattr(programs.metadata, "files", missing)
        outcome = find("09.1").grade(lambda: FIRST)
        assert outcome.status == "not_run"
        assert outcome.message == "– 09.1 first gemm: not run: nvcc is missing: pip install nvidia-cuda-nvcc"


def test_a_right_kernel_is_launched_on_every_size(cpp_on_torch):
    launches = cpp_on_torch(lambda a, b, c, m, n, k: torch.mm(a, b.mT, out=c))
    outcome = find("09.1").grade(lambda: FIRST)
    assert (outcome.status, outcome.points) == ("passed", 3)
    assert launches == [
        ("sm_90", (2, 2), (256, 256, 256)),
        ("sm_90", (3, 2), (300, 200, 129)),
        ("sm_90", (1, 5), (70, 513, 96)),
    ]


def test_a_kernel_that_is_right_without_a_tail_is_partly_right(cpp_on_torch):
    cpp_on_torch(lambda a, b, c, m, n, k: torch.mm(a[:, : k // 64 * 64], b[:, : k // 64 * 64].mT, out=c))
    outcome = find("09.1").grade(lambda: FIRST)
    assert outcome.status == "partial"
    assert "1 of 3 sizes right" in outcome.message


def test_what_the_driver_refuses_is_told(cpp_on_torch, monkeypatch):
    def refused(*args):
        raise RuntimeError("too many resources requested for launch")

    cpp_on_torch(refused)
    monkeypatch.setattr(launchers, "load", refused)
    outcome = find("09.1").grade(lambda: FIRST)
    assert outcome.status == "failed"
    assert "a block asks for more registers" in outcome.message
