"""Results and sweeps as files: written and read again, one for each GPU."""

import pytest

from tests.stand_ins import MACHINE, copied, swept
from tutorlib.measuring import results
from tutorlib.measuring.results import (
    NoData,
    Page,
    Result,
    Results,
    all_results,
    all_sweep_results,
    data_file,
    read_results,
    sweep_file,
)

REACHED = Results(
    MACHINE,
    "2026-11-20",
    {"05_copy_kernels": Page("abc", 12.5)},
    {"05.1": Result("passed", 3, 3), "05.2": Result("passed", 2, 2, (copied(0.95),)), "06.1": Result("partial", 1, 2)},
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "DATA", tmp_path / "data")
    monkeypatch.setattr(results, "SWEEPS", tmp_path / "data" / "sweeps")


def test_a_file_is_named_after_the_gpu():
    assert data_file("NVIDIA H200").name == "h200.json"
    assert data_file("NVIDIA GeForce RTX 4090").name == "geforce_rtx_4090.json"
    assert sweep_file("NVIDIA H200", "gemm_rungs").name == "h200_gemm_rungs.json"


@pytest.mark.usefixtures("folder")
class TestFiles:
    def test_results_are_read_back_as_they_were(self):
        path = REACHED.write()
        assert read_results(path) == REACHED
        assert all_results() == [REACHED]

    def test_a_sweep_is_read_back_as_it_was(self):
        found = swept("slow", "fast", stages=3)
        found.write("gemm_rungs")
        assert all_sweep_results("gemm_rungs") == [found]

    def test_what_nobody_swept_names_the_command(self):
        with pytest.raises(NoData, match="run `tutor sweep gemm_stages`"):
            all_sweep_results("gemm_stages")
