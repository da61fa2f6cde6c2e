"""Sweeps, and what else is measured: launches, mma.sync alone, compute-sanitizer's verdicts, the chooser's fit."""

import json
from dataclasses import replace
from math import log2
from statistics import median
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from tests.stand_ins import H200, MACHINE, multiplied
from tutorlib.cli import app
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.instruments import launches, table
from tutorlib.instruments import sweep as sweeping
from tutorlib.instruments.sweep import Candidate, Failed, Sweep, count_all, in_a_process, measure_all
from tutorlib.instruments.table import LEAST, MOST, STEP, SWEEPS, TOKENS, random_shapes
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.hopper.choose import shape_problem
from tutorlib.machine import device
from tutorlib.machine.features import WGMMA
from tutorlib.measuring import counters, results
from tutorlib.measuring.results import Failure, NoData, all_sweep_results
from tutorlib.measuring.timing import WrongWhenTimed
from tutorlib.notebook import hunt
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.work import KernelFault


class Named:
    """Stands in for a launcher. Its kernel multiplies at 100 TFLOP/s where it is called slow, else at 400."""

    def __init__(self, name):
        self.tflops = 100 if name == "slow" else 400


def measured(problem, launcher, shape, pairs, in_a_row):
    return multiplied(shape, launcher.tflops)


def sweep_of(*names, sizes=(512, 1024, 2048), smem=0, counters=(), **facts):
    candidates = tuple(Candidate(name, Named(name), smem, facts) for name in names)
    return Sweep(gemm("bf16"), candidates, tuple((size,) * 3 for size in sizes), counters)


@pytest.fixture
def h200(monkeypatch, tmp_path):
    """A GPU with 227 KiB of shared memory for a block; what is swept on it goes to a folder of its own."""
    monkeypatch.setattr(device, "this_machine", lambda: MACHINE)
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
        monkeypatch.setitem(table.SWEEPS, "gemm_rungs", lambda: sweep)
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
        def wrong_if_slow(problem, launcher, shape, pairs, in_a_row):
            if launcher.tflops == 100:
                raise error
            return measured(problem, launcher, shape, pairs, in_a_row)

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

        def noted(problem, launcher, shape, pairs, in_a_row):
            asked.append(launcher.tflops)
            return measured(problem, launcher, shape, pairs, in_a_row)

        monkeypatch.setattr(sweeping, "measure", noted)
        command(sweep_of("slow", "fast", sizes=(512,)), "--resume")
        (found,) = all_sweep_results("gemm_rungs")
        assert (found.names, asked, found.complete) == (["slow", "fast"], [400], True)
        command(sweep_of("slow", sizes=(512,)))
        (found,) = all_sweep_results("gemm_rungs")
        assert (found.names, asked) == (["slow"], [400, 100])

    def test_a_point_whose_baseline_is_off_is_not_recorded_until_it_is_measured_again(self, command, monkeypatch):
        def capped(problem, launcher, shape, pairs, in_a_row):
            found = measured(problem, launcher, shape, pairs, in_a_row)
            return replace(found, usual_us=0.5 * found.baseline_us) if launcher.tflops == 100 else found

        monkeypatch.setattr(sweeping, "measure", capped)
        assert "for the same work: not recorded" in command(sweep_of("slow", "fast", sizes=(512,))).output
        (found,) = all_sweep_results("gemm_rungs")
        assert (found.names, found.complete) == (["fast"], False)
        monkeypatch.setattr(sweeping, "measure", measured)
        command(sweep_of("slow", "fast", sizes=(512,)), "--resume")
        (found,) = all_sweep_results("gemm_rungs")
        assert (found.names, found.complete) == (["fast", "slow"], True)

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


HOPPER = "gemm_any", "gemm_models", "hopper_levers"


@pytest.mark.parametrize("name", SWEEPS)
def test_names_tell_the_kernels_apart(name):
    sweep = SWEEPS[name]()
    assert len({candidate.name for candidate in sweep.candidates}) == len(sweep.candidates) > 0
    assert len(set(sweep.shapes)) == len(sweep.shapes) > 0


@pytest.mark.parametrize(("name", "which"), [("gemm_rungs", 4), ("gemm_stages", 4)])
def test_the_kernels_compile_with_the_shared_memory_that_they_say(name, which):
    candidate = SWEEPS[name]().candidates[which]
    compiled = compile_cute(candidate.launcher.host, [TensorSpec((512, 512), "bf16")] * 3, "sm_80")
    assert candidate.smem_bytes <= compiled.smem_bytes <= candidate.smem_bytes + 1024  # and the allocator's alignment


@pytest.fixture
def known_gpu(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)


@pytest.mark.usefixtures("known_gpu")
def test_a_persistent_rung_has_as_many_blocks_as_run_at_once():
    launcher = SWEEPS["tile_rungs"]().candidates[-1].launcher
    assert launcher.grid((8192, 8192, 8192)) == (132, 1, 1)
    assert launcher.grid((128, 256, 128)) == (2, 1, 1)


def test_117_shapes_that_tma_takes_each_weight_at_each_number_of_tokens():
    sweep = SWEEPS["gemm_models"]()
    assert len(sweep.shapes) == len(set(sweep.shapes)) == 117
    assert [shape_problem(*shape) for shape in sweep.shapes] == [None] * 117
    assert sweep.in_a_row
    assert {tokens for tokens, _, _ in sweep.shapes} == set(TOKENS)


@pytest.mark.parametrize("name", HOPPER)
def test_nothing_of_it_runs_where_there_is_no_wgmma(name):
    assert {candidate.needs for candidate in SWEEPS[name]().candidates} == {WGMMA}


def test_random_shapes_are_multiples_within_the_range_and_each_doubling_is_as_likely():
    sizes = [size for shape in random_shapes(1, count=4000) for size in shape]
    assert all(LEAST <= size <= MOST and size % STEP == 0 for size in sizes)
    assert median(map(log2, sizes)) == pytest.approx((log2(LEAST) + log2(MOST)) / 2, abs=0.1)
    assert random_shapes(1) == random_shapes(1) != random_shapes(2)


def test_a_process_gives_a_functions_result_or_its_last_line():
    assert in_a_process(device.packages) == device.packages()
    with pytest.raises(Failed, match=r"launch_for_profiler: KeyError: 'no such sweep'"):
        in_a_process(table.launch_for_profiler, "no such sweep")


@pytest.mark.parametrize("found", results.records(results.LAUNCHES), ids=lambda found: found["machine"]["gpu"])
def test_what_the_page_says_was_measured(found):
    later = found[launches.LATER]
    ways = list(later)
    assert list(map(later.__getitem__, ways[:3])) == sorted(later.values(), reverse=True)[:3]
    assert later["kept, with views made once"] < 20
    assert later["kept in a dictionary, TVM-FFI"] < 20
    assert later["kept, TVM-FFI"] < later[launches.TORCH]


@pytest.fixture(scope="module")
def alone():
    """The GEMM whose main loop only multiplies, with two blocks and six K tiles."""
    specs = [TensorSpec((256, 384), "bf16"), TensorSpec((128, 384), "bf16"), TensorSpec((256, 128), "bf16")]
    return compile_cute(make_gemm(GemmConfig(), table.multiply_alone), specs, "sm_80")


def test_mma_sync_alone_loops_over_registers_and_leaves_room_for_two_blocks(alone):
    loop = alone.ptx[alone.ptx.index("mma.sync") : alone.ptx.rindex("mma.sync")]
    assert loop.count("mma.sync.aligned.m16n8k16") == 4 * 32 - 1  # K blocks of 4 × 8 atoms, but for the last one
    assert not any(copy in loop for copy in ("ld.shared", "ldmatrix", "cp.async", "ld.global"))
    assert alone.registers * 2 * GemmConfig().threads <= 65536
    assert not alone.spill_bytes


def test_mma_sync_alone_multiplies_the_first_k_block_as_often_as_there_are():
    a, b = torch.arange(64.0).view(2, 32), torch.ones(3, 32)
    assert table.repeated().reference(a, b).equal(2 * (a[:, :16] @ b[:, :16].mT))


@pytest.mark.gpu("80")
def test_mma_sync_alone_is_right_and_timed():
    assert table.mma_sync_alone()["mma_sync_tflops"] > 0


def test_the_table(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(results, "SWEEPS", tmp_path)
    assert hunt.show_verdicts() is None
    assert "Nothing was recorded" in capsys.readouterr().out
    heard = {
        "memcheck": {"ended": "finished", "errors": 8, "first": "Invalid __global__ read of size 4 bytes"},
        "racecheck": {"ended": "finished", "errors": 0, "first": ""},
    }
    hung = {"synccheck": {"ended": "it hung: stopped after 120 s", "errors": 0, "first": ""}}
    machine = {"gpu": "NVIDIA H200"}
    tool = "Version 2025.3.1.0 (build 1)"
    data = {"machine": machine, "date": "2026-11-21", "compute_sanitizer": tool, "verdicts": {"sgemm": heard | hung}}
    (tmp_path / "h200_sanitizer.json").write_text(json.dumps(data))
    table = hunt.show_verdicts()
    assert "sgemm: NVIDIA H200, 2026-11-21, compute-sanitizer 2025.3.1.0\n" in capsys.readouterr().out
    assert list(table.index) == ["sgemm"]
    assert list(table.iloc[0]) == ["8 × Invalid __global__ read", "-", "it hung", "not recorded"]
