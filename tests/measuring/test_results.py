"""Results and sweeps as files: written and read again, one for each GPU."""

import pytest

from tests.stand_ins import MACHINE, copied, multiplied, swept
from tutorlib.measuring import results
from tutorlib.measuring.results import (
    RECORDED,
    NoData,
    Point,
    Result,
    Results,
    SweepResults,
    all_results,
    all_sweep_results,
    data_file,
    read_results,
    recorded,
    stacks_of,
    sweep_file,
)

REACHED = Results(
    MACHINE,
    "2026-11-20",
    {"05_copy_kernels": "abc"},
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


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A file that has the measurement of exercise 05.2, and of no other."""
    monkeypatch.setattr(results, "DATA", tmp_path)
    exercises = {"05.1": Result("passed", 3, 3), "05.2": Result("passed", 2, 2, (copied(0.95),))}
    monkeypatch.setenv(RECORDED, str(Results(MACHINE, "2026-11-20", {}, exercises).write()))


def test_without_the_variable_nothing_is_recorded(monkeypatch):
    monkeypatch.delenv(RECORDED, raising=False)
    assert recorded("05.2", (16384, 16384)) is None


@pytest.mark.usefixtures("kept")
def test_a_measurement_is_found_by_exercise_and_shape():
    assert recorded("05.2", (16384, 16384)) == copied(0.95)
    assert recorded("05.2", (8192, 8192)) is None
    assert recorded("05.1", (16384, 16384)) is None
    assert recorded("05.3", (16384, 16384)) is None


SMALL, LARGE = (512,) * 3, (2048,) * 3


def lever_sweep(*rows):
    """rows: (levers or None, TFLOP/s at SMALL, at LARGE); cuBLAS has 100."""
    points = [
        Point(
            "+".join(levers) if levers is not None else "another",
            multiplied(shape, tflops, 100.0),
            {} if levers is None else {"levers": list(levers)},
        )
        for shape, column in ((LARGE, 2), (SMALL, 1))
        for levers, tflops in ((row[0], row[column]) for row in rows)
    ]
    return SweepResults(MACHINE, "2026-11-21", True, tuple(points))


FOUND = lever_sweep(("", 50, 60), ("a", 55, 63), ("ab", 66, 70), ("b", 52, 66), (None, 80, 90), ("abc", 67, 77))


class TestStacks:
    def test_a_kernel_is_built_on_the_nearest_before_it_that_has_a_lever_less(self):
        assert [(stack.added, stack.base and stack.base.name, stack.depth) for stack in stacks_of(FOUND)] == [
            ("", None, 0), ("a", "", 1), ("b", "a", 2), ("b", "", 1), ("", None, 0), ("c", "a+b", 3),
        ]  # fmt: skip
        assert [stack.label for stack in stacks_of(FOUND)] == ["", "+ a", "· + b", "+ b", "another", "·· + c"]

    def test_a_gain_smaller_than_the_spread_is_noise(self):
        plain, faster = stacks_of(lever_sweep(("", 50, 50), ("a", 50.4, 50.6)))  # each spreads by 1 %
        assert plain.gain(SMALL) is None
        assert [faster.gain(shape)[1] for shape in (SMALL, LARGE)] == [True, False]
        assert faster.gain(LARGE)[0] == pytest.approx(50.6 / 50 - 1)


@pytest.fixture
def nothing_calibrated(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "TARGETS", tmp_path / "results.json")
    results.load_targets.cache_clear()
    yield
    results.load_targets.cache_clear()


@pytest.mark.usefixtures("nothing_calibrated")
def test_targets_are_kept_by_architecture():
    assert results.target_ratio("sm_90", "05.3") is None
    results.save_targets("sm_90", MACHINE, "2026-11-20", {"05.3": 0.99, "05.4": 0.5})
    results.save_targets("sm_80", MACHINE, "2026-11-20", {"05.3": 0.9})
    results.save_targets("sm_90", MACHINE, "2026-11-21", {"05.4": 0.6})
    assert [results.target_ratio("sm_90", "05.3"), results.target_ratio("sm_90", "05.4")] == [0.99, 0.6]
    assert results.target_ratio("sm_80", "05.3") == 0.9
