"""Sweeps: what is measured, what is counted, what is kept."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from tests.stand_ins import H200, MACHINE, multiplied
from tutorlib.cli import app
from tutorlib.instruments import sweeps
from tutorlib.instruments.sweeps import sweep as sweeping
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep, count_all, measure_all
from tutorlib.machine import device, versions
from tutorlib.machine.features import WGMMA
from tutorlib.measuring import counters, results
from tutorlib.measuring.measure import WrongWhenTimed
from tutorlib.measuring.results import Failure, NoData, all_sweep_results
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.fault import KernelFault


class Named:
    """Stands in for a launcher. Its kernel multiplies at 100 TFLOP/s where it is called slow, else at 400."""

    def __init__(self, name):
        self.tflops = 100 if name == "slow" else 400


def measured(problem, launcher, shape, pairs):
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

    def test_what_this_gpu_has_no_instructions_for_is_left_out(self, monkeypatch):
        sweep = Sweep(
            gemm("bf16"), (Candidate("old", Named("old")), Candidate("new", Named("new"), needs=WGMMA)), ((512,) * 3,)
        )
        assert [point.name for point in measure_all(sweep)] == ["old", "new"]
        monkeypatch.setattr(device, "gpu", lambda: replace(H200, name="NVIDIA A100", arch="80"))
        assert [point.name for point in measure_all(sweep)] == ["old"]

    @pytest.mark.parametrize(
        ("error", "says"),
        [
            (WrongWhenTimed("c[0, 0] is still NaN"), "c[0, 0] is still NaN"),
            (KernelFault("it crashed"), "it crashed"),
            (ValueError("rows of 7 elements\nand more"), "ValueError: rows of 7 elements"),
        ],
    )
    def test_one_that_fails_loses_no_other(self, monkeypatch, error, says):
        def wrong_if_slow(problem, launcher, shape, pairs):
            if launcher.tflops == 100:
                raise error
            return measured(problem, launcher, shape, pairs)

        monkeypatch.setattr(sweeping, "measure", wrong_if_slow)
        failed, fine, *_ = measure_all(sweep_of("slow", "fast", sizes=(512,)))
        assert failed == Failure("slow", (512,) * 3, says)
        assert fine.name == "fast"


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

    def test_a_baseline_that_is_no_kernel_has_none(self, launches):
        launches(LAUNCHES[:2])
        assert count_all("counted", sweep_of("a", "b", counters=("dram.sum",))) == {
            "a": {"dram.sum": 0.0}, "b": {"dram.sum": 1.0},
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

    def test_resumed_it_measures_what_its_file_lacks(self, command, monkeypatch):
        command(sweep_of("slow", sizes=(512,)))
        asked = []

        def noted(problem, launcher, shape, pairs):
            asked.append(launcher.tflops)
            return measured(problem, launcher, shape, pairs)

        monkeypatch.setattr(sweeping, "measure", noted)
        command(sweep_of("slow", "fast", sizes=(512,)), "--resume")
        (found,) = all_sweep_results("gemm_rungs")
        assert (found.names, asked, found.complete) == (["slow", "fast"], [400], True)
        command(sweep_of("slow", sizes=(512,)))
        (found,) = all_sweep_results("gemm_rungs")
        assert (found.names, asked) == (["slow"], [400, 100])

    def test_what_it_finds_out_besides_is_a_fact_and_no_kernel_is_lost_where_that_fails(self, command):
        command(replace(sweep_of("slow", sizes=(512,)), look=lambda: {"roof": 1}))
        assert all_sweep_results("gemm_rungs")[0].facts == {"roof": 1}
        command(replace(sweep_of("slow", sizes=(512,)), facts={"seed": 2}), "--resume")
        assert all_sweep_results("gemm_rungs")[0].facts == {"roof": 1, "seed": 2}
        done = command(replace(sweep_of("slow", sizes=(512,)), look=lambda: {}["roof"]))
        assert "gemm_rungs: 'roof'" in done.output
        assert all_sweep_results("gemm_rungs")[0].names == ["slow"]

    def test_a_broken_context_ends_the_command_and_is_resumed_without_the_kernel(self, command, monkeypatch):
        monkeypatch.setattr(sweeping, "context_broken", lambda: True)
        monkeypatch.setattr(sweeping, "call_once", lambda *_: (_ for _ in ()).throw(KernelFault("it hangs")))
        done = command(sweep_of("slow", "fast", sizes=(512,)))
        assert done.exit_code == 1
        assert "slow, 512×512×512 failed: it hangs" in done.output
        assert "gemm_rungs: slow broke CUDA's context in this process. Go on without it: --resume." in done.output
        monkeypatch.setattr(sweeping, "call_once", lambda *_: None)
        assert command(sweep_of("slow", "fast", sizes=(512,)), "--resume").exit_code == 0
        assert all_sweep_results("gemm_rungs")[0].names == ["fast"]

    def test_where_nothing_can_run_nothing_is_written(self, command):
        done = command(sweep_of("huge", smem=2**20))
        assert done.output == "gemm_rungs: this GPU can run none of its kernels\n"
        with pytest.raises(NoData):
            all_sweep_results("gemm_rungs")

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
