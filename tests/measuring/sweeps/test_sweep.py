"""Sweeps: what is measured, what is counted, what is kept."""

from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from tests.stand_ins import H200, MACHINE, multiplied
from tutorlib.cli import app
from tutorlib.machine import device, versions
from tutorlib.measuring import counters, results, sweeps
from tutorlib.measuring.results import NoData, all_sweep_results
from tutorlib.measuring.sweeps import sweep as sweeping
from tutorlib.measuring.sweeps.sweep import Candidate, Sweep, count_all, measure_all
from tutorlib.problems.catalogue import gemm


class Named:
    """Stands in for a launcher. Its kernel multiplies at 100 TFLOP/s where it is called slow, else at 400."""

    def __init__(self, name):
        self.tflops = 100 if name == "slow" else 400


def measured(problem, launcher, shape, regime, pairs):
    return multiplied(shape, launcher.tflops)


def sweep_of(*names, sizes=(512, 1024, 2048), smem=0, counters=(), **facts):
    candidates = tuple(Candidate(name, Named(name), smem, facts) for name in names)
    return Sweep(gemm("bf16"), candidates, tuple((size,) * 3 for size in sizes), counters)


@pytest.fixture
def h200(monkeypatch, tmp_path):
    """A GPU with 227 KiB of shared memory for a block; what is swept on it goes to a folder of its own."""
    monkeypatch.setattr(versions, "this_machine", lambda: MACHINE)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda _: SimpleNamespace(shared_memory_per_block_optin=227 * 1024)
    )
    monkeypatch.setattr(device, "gpu", lambda: H200)
    monkeypatch.setattr(sweeping, "call_once", lambda problem, launcher, shape: None)
    monkeypatch.setattr(sweeping, "context_broken", lambda: False)
    monkeypatch.setattr(sweeping, "measure", measured)
    monkeypatch.setattr(results, "SWEEPS", tmp_path / "sweeps")


@pytest.fixture
def command(h200, monkeypatch):
    """`tutor sweep gemm_rungs`, with a sweep made up in its place."""

    def invoke(sweep, *options):
        monkeypatch.setattr(sweeps, "make_sweep", lambda name: sweep)
        return CliRunner().invoke(app, ["sweep", "gemm_rungs", *options])

    return invoke


@pytest.mark.usefixtures("h200")
class TestMeasure:
    def test_every_kernel_at_every_size(self):
        points = list(measure_all(sweep_of("slow", "fast", stages=3)))
        assert [(p.name, p.measurement.shape[0], p.measurement.tflops) for p in points[:3]] == [
            ("slow", 512, 100), ("fast", 512, 400), ("slow", 1024, 100),
        ]  # fmt: skip
        assert points[0].facts == {"stages": 3}

    def test_what_does_not_fit_is_left_out(self):
        assert list(measure_all(sweep_of("huge", smem=228 * 1024))) == []


LAUNCHES = [{"dram.sum": float(n)} for n in range(3)]


class TestCount:
    @pytest.fixture
    def launches(self, monkeypatch):
        """Makes ncu see these launches."""
        return lambda found: monkeypatch.setattr(counters, "count", lambda command, metrics, marked: found)

    def test_counters_of_each_kernel_where_they_are_asked_for(self, launches):
        launches(LAUNCHES)
        assert count_all("plain", sweep_of("a", "b")) == {}
        assert count_all("counted", sweep_of("a", "b", counters=("dram.sum",))) == {
            "cuBLAS": {"dram.sum": 0.0}, "a": {"dram.sum": 1.0}, "b": {"dram.sum": 2.0},
        }  # fmt: skip

    def test_nothing_where_nobody_can_tell_whose_a_launch_is(self, launches):
        launches([*LAUNCHES, {"dram.sum": 3.0}])
        assert count_all("counted", sweep_of("a", "b", counters=("dram.sum",))) == {}

    def test_nothing_where_ncu_may_not_count(self, monkeypatch):
        def refuse(*_, **__):
            raise counters.NoCounters("ERR_NVGPUCTRPERM")

        monkeypatch.setattr(counters, "count", refuse)
        assert count_all("counted", sweep_of("a", "b", counters=("dram.sum",))) == {}


class TestTheCommand:
    def test_it_prints_each_point_and_keeps_them(self, command):
        done = command(sweep_of("slow", sizes=(512,)))
        line, wrote = done.output.splitlines()
        assert line.startswith("slow, 512×512×512 bf16, cool: ")
        assert line.endswith("100 TFLOP/s, 0.125 of cuBLAS's speed")
        assert wrote.endswith("h200_gemm_rungs.json")
        (found,) = all_sweep_results("gemm_rungs")
        assert found.complete
        assert [(p.name, p.measurement.tflops) for p in found.points] == [("slow", 100)]

    def test_a_sweep_that_ran_out_of_time_says_so(self, command):
        command(sweep_of("slow", "fast", sizes=(512,)), "--seconds", "0")
        (found,) = all_sweep_results("gemm_rungs")
        assert [point.name for point in found.points] == ["slow"]
        assert not found.complete

    def test_without_a_gpu_and_with_an_unknown_name(self, no_gpu):
        assert "There is no sweep x" in CliRunner().invoke(app, ["sweep", "x"]).output
        assert "needs a GPU" in CliRunner().invoke(app, ["sweep", "gemm_rungs"]).output

    @pytest.mark.usefixtures("h200")
    def test_nvidias_example_is_asked_for_where_it_is_missing(self, monkeypatch, tmp_path):
        monkeypatch.setenv("TUTORLIB_CUTLASS", str(tmp_path))
        done = CliRunner().invoke(app, ["sweep", "gemm_nvidia"])
        assert done.exit_code == 0
        assert "gemm_nvidia: git clone" in done.output
        with pytest.raises(NoData):
            all_sweep_results("gemm_nvidia")
