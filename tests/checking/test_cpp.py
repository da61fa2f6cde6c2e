"""Tile C++ exercises: answers that return no source, tools that are missing, kernels with torch in their place."""

import pytest
import torch

from tests.pages.p08 import ADD, FIRST
from tutorlib.compiling import programs
from tutorlib.exercises import find
from tutorlib.measuring import launchers


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda: 3, "it should return the source, a string; it returns 3."),
        (lambda: 1 // 0, "ZeroDivisionError"),
        ("source", "is not a function that returns the source"),
    ],
)
def test_an_answer_that_returns_no_source(answer, says):
    outcome = find("08.2").grade(answer)
    assert (outcome.status, outcome.points) == ("failed", 0)
    assert says in outcome.message


def test_what_a_gemm_without_tma_hears():
    message = find("08.4").grade(lambda: FIRST).message
    assert "not every load and store goes by TMA" in message
    assert "base pointer not 16-byte aligned" in message


@pytest.mark.usefixtures("nothing_kept")
class TestMissingTools:
    def test_without_a_host_compiler(self, monkeypatch):
        monkeypatch.setattr(programs.shutil, "which", lambda name: None)
        outcome = find("08.1").grade(lambda: ADD)
        assert outcome.status == "not_run"
        assert outcome.message == (
            "– 08.1 vector_add: not run: nvcc needs a C++ compiler, and there is no gcc here "
            "(Debian, Ubuntu: apt install g++)"
        )

    def test_without_nvcc(self, monkeypatch):
        def missing(name):
            raise programs.metadata.PackageNotFoundError(name)

        programs.packaged_program.cache_clear()
        monkeypatch.setattr(programs.metadata, "files", missing)
        outcome = find("08.1").grade(lambda: ADD)
        assert outcome.status == "not_run"
        assert outcome.message == "– 08.1 vector_add: not run: nvcc is missing: pip install nvidia-cuda-nvcc"


def test_a_right_kernel_is_launched_on_every_size(cpp_on_torch):
    launches = cpp_on_torch(lambda a, b, c, m, n, k: torch.mm(a, b.mT, out=c))
    outcome = find("08.2").grade(lambda: FIRST)
    assert (outcome.status, outcome.points) == ("passed", 3)
    assert launches == [
        ("sm_90", (2, 2), (256, 256, 256)),
        ("sm_90", (3, 2), (300, 200, 129)),
        ("sm_90", (1, 5), (70, 513, 96)),
    ]


def test_a_kernel_that_is_right_without_a_tail_is_partly_right(cpp_on_torch):
    cpp_on_torch(lambda a, b, c, m, n, k: torch.mm(a[:, : k // 64 * 64], b[:, : k // 64 * 64].mT, out=c))
    outcome = find("08.2").grade(lambda: FIRST)
    assert outcome.status == "partial"
    assert "1 of 3 sizes right" in outcome.message


def test_what_the_driver_refuses_is_told(cpp_on_torch, monkeypatch):
    def refused(*args):
        raise RuntimeError("too many resources requested for launch")

    cpp_on_torch(refused)
    monkeypatch.setattr(launchers, "load", refused)
    outcome = find("08.2").grade(lambda: FIRST)
    assert outcome.status == "failed"
    assert "a block asks for more registers" in outcome.message
