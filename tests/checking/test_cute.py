"""CuTe exercises on a machine without a GPU: what compiles, what is looked at, what is said."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.gpu.right_kernels import RIGHT, grid_stride_loop, one_thread_per_element
from tests.gpu_kernels import (
    COPY,
    FATAL,
    WRONG,
    accumulates_in_fp16,
    unwritten,
)
from tests.simulate.cute_kernels import stops_at_a_breakpoint
from tutorlib.checking.cute import CuteExercise
from tutorlib.machine.features import FP8_MMA
from tutorlib.notebook.check import CheckFailed, check
from tutorlib.simulate.ptx import schedule

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
    assert capsys.readouterr().out == "– 99.1 copy: compiled for sm_90a; not run: no GPU here\n"


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
    evidence = SimpleNamespace(compiled_at=lambda shape, arch: SimpleNamespace(ptx=""))
    found = replace(COPY, requires=(), spills=spills).examine(evidence)
    assert (found is not None) == refused
    assert not refused or found.lines == ("it spills 8 bytes of registers in each thread.",)


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
