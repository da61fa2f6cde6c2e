"""Sweeps: what is measured and kept; their figures show what the data say."""

import json
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from tutorlib import counters, device, plots, sweep_plots, sweeps
from tutorlib.bench import Measurement
from tutorlib.cli import app
from tutorlib.compile import TensorSpec, compile_cute
from tutorlib.counters import MEMORY_READ, WAVES
from tutorlib.evidence import NoData
from tutorlib.palette import MARK
from tutorlib.sweeps import SWEEPS, Candidate, Sweep, gemm

MACHINE = {"gpu": "NVIDIA H200", "arch": "sm_90", "driver": "580.0", "packages": {}}
UNKNOWN = {**MACHINE, "gpu": "NVIDIA Z9000"}


def measurement(shape, tflops, baseline_tflops):
    microseconds = gemm("bf16").flops(shape) / 1e6
    return Measurement(
        shape=shape, dtype="bf16", median_us=microseconds / tflops, lower_us=0.0, upper_us=0.0, baseline="cuBLAS",
        baseline_us=microseconds / baseline_tflops, ratio=tflops / baseline_tflops, spread=0.01, n=40, clock_mhz=1980,
        throttled=(), tflops=tflops, gbps=None, gpu="NVIDIA H200", versions={},
    )  # fmt: skip


@pytest.fixture
def h200(monkeypatch, tmp_path):
    """A GPU that multiplies at 100 TFLOP/s where a kernel is called slow and else at 400, and at 800 in cuBLAS."""
    monkeypatch.setattr(device, "this_machine", lambda: MACHINE)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda _: SimpleNamespace(shared_memory_per_block_optin=227 * 1024)
    )
    monkeypatch.setattr(
        sweeps, "time", lambda _, kernel, shape, gpu: measurement(shape, 100 if kernel.name == "slow" else 400, 800)
    )
    monkeypatch.setattr(sweeps, "DATA", tmp_path / "sweeps")


def made_of(*names, sizes=(512, 1024, 2048), smem=0, **facts):
    """What a sweep of these kernels measures."""
    candidates = tuple(Candidate(name, print, smem, facts) for name in names)
    made = Sweep(gemm("bf16"), candidates, tuple((size,) * 3 for size in sizes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SWEEPS, "made", lambda: made)
        return list(sweeps.measure("made"))


class TestMeasure:
    def test_every_kernel_at_every_size(self, h200):
        points = made_of("slow", "fast", stages=3)
        assert [(p["name"], p["shape"][0], p["tflops"]) for p in points[:3]] == [
            ("slow", 512, 100), ("fast", 512, 400), ("slow", 1024, 100),
        ]  # fmt: skip
        assert points[0]["stages"] == 3
        assert not {"gbps", "gpu", "versions"} & set(points[0])

    def test_what_does_not_fit_is_left_out(self, h200):
        assert made_of("huge", smem=228 * 1024) == []

    def test_counters_of_each_kernel_where_they_are_asked_for(self, h200, monkeypatch):
        kernels = Candidate("a", print, 0), Candidate("b", print, 0)
        monkeypatch.setitem(SWEEPS, "plain", lambda: Sweep(gemm("bf16"), kernels, ((8, 8, 8),)))
        monkeypatch.setitem(SWEEPS, "counted", lambda: Sweep(gemm("bf16"), kernels, ((8, 8, 8),), ("dram.sum",)))
        launches = [{"dram.sum": float(n)} for n in range(3)]
        monkeypatch.setattr(counters, "count", lambda command, metrics, marked: launches)
        assert sweeps.counted("plain") == {}
        assert sweeps.counted("counted") == {
            "cuBLAS": {"dram.sum": 0.0}, "a": {"dram.sum": 1.0}, "b": {"dram.sum": 2.0},
        }  # fmt: skip

        monkeypatch.setattr(counters, "count", lambda command, metrics, marked: [*launches, {"dram.sum": 3.0}])
        assert sweeps.counted("counted") == {}  # whose is which cannot be told

        def refuse(*_, **__):
            raise counters.NoCounters("ERR_NVGPUCTRPERM")

        monkeypatch.setattr(counters, "count", refuse)
        assert sweeps.counted("counted") == {}

    def test_written_and_read_again(self, h200):
        points = json.loads(json.dumps(made_of("slow", "fast")))
        path = sweeps.write("gemm_rungs", points, complete=True, counts={})
        assert path.name == "h200_gemm_rungs.json"
        assert [data["points"] for data in sweeps.all_data("gemm_rungs")] == [points]
        assert sweeps.all_data("gemm_stages") == []

    def test_the_command(self, h200, monkeypatch):
        sweep = Sweep(gemm("bf16"), (Candidate("slow", print, 0),), ((512, 512, 512),))
        monkeypatch.setitem(SWEEPS, "gemm_rungs", lambda: sweep)
        done = CliRunner().invoke(app, ["sweep", "gemm_rungs"])
        assert done.output.startswith("slow, 512×512×512: 0.125 of cuBLAS, spread 1.0%\nwrote ")
        assert sweeps.all_data("gemm_rungs")[0]["complete"]

    def test_a_sweep_that_ran_out_of_time_says_so(self, h200, monkeypatch):
        sweep = Sweep(gemm("bf16"), (Candidate("slow", print, 0), Candidate("fast", print, 0)), ((512, 512, 512),))
        monkeypatch.setitem(SWEEPS, "gemm_rungs", lambda: sweep)
        CliRunner().invoke(app, ["sweep", "gemm_rungs", "--seconds", "0"])
        (data,) = sweeps.all_data("gemm_rungs")
        assert [point["name"] for point in data["points"]] == ["slow"]
        assert not data["complete"]

    def test_without_a_gpu_and_with_an_unknown_name(self, monkeypatch):
        assert "There is no sweep x" in CliRunner().invoke(app, ["sweep", "x"]).output
        monkeypatch.setattr(device, "this_machine", lambda: {"gpu": None})
        assert "needs a GPU" in CliRunner().invoke(app, ["sweep", "gemm_rungs"]).output


class TestSweeps:
    def test_nvidias_example_is_asked_for_where_it_is_missing(self, h200, monkeypatch, tmp_path):
        monkeypatch.setenv("TUTORLIB_CUTLASS", str(tmp_path))
        done = CliRunner().invoke(app, ["sweep", "gemm_nvidia"])
        assert done.exit_code == 0
        assert "gemm_nvidia: git clone" in done.output
        assert sweeps.all_data("gemm_nvidia") == []

    @pytest.mark.parametrize("name", [name for name in SWEEPS if name != "gemm_nvidia"])
    def test_names_tell_the_kernels_apart(self, name):
        sweep = SWEEPS[name]()
        assert len({kernel.name for kernel in sweep.candidates}) == len(sweep.candidates) > 1

    @pytest.mark.parametrize(("name", "which"), [("gemm_rungs", -1), ("gemm_stages", 4)])
    def test_the_kernels_compile_with_the_shared_memory_that_they_say(self, name, which):
        kernel = SWEEPS[name]().candidates[which]
        compiled = compile_cute(kernel.host, [TensorSpec((512, 512), "bf16")] * 3, "sm_80")
        assert kernel.smem_bytes <= compiled.smem_bytes <= kernel.smem_bytes + 1024  # and the allocator's alignment


@pytest.fixture
def rungs(h200):
    return {"machine": MACHINE, "points": made_of("slow", "fast")}


@pytest.fixture
def stages(h200):
    points = [
        point
        for name, count, tile in (("slow", 2, [64, 64, 64]), ("a", 3, [64, 64, 64]), ("slow", 2, [128, 64, 64]))
        for point in made_of(name, sizes=(4096,), stages=count, tile=tile)
    ]
    return {"machine": MACHINE, "complete": True, "points": points}


class TestFigures:
    def test_the_ladder_shows_speeds_and_ratios(self, rungs):
        speed, ratio = sweep_plots.gemm_ladder([rungs]).axes
        lines = {line.get_label(): list(line.get_ydata()) for line in speed.get_lines()}
        assert lines == {"cuBLAS": pytest.approx([800] * 3), "slow": [100] * 3, "fast": [400] * 3}
        lines = {line.get_label(): list(line.get_ydata()) for line in ratio.get_lines()}
        assert lines == {"cuBLAS": [1, 1], "slow": [0.125] * 3, "fast": [0.5] * 3}

    def test_lines_differ_in_more_than_colour(self, rungs):
        styles = [(style["color"], style["marker"]) for _, _, style in sweep_plots.lines(rungs)]
        assert all(len(set(column)) == 2 for column in zip(*styles, strict=True))

    def test_the_roofline_puts_points_at_their_intensity(self, rungs):
        (axes,) = sweep_plots.roofline([rungs]).axes
        roof, _, slow, _ = axes.get_lines()
        assert list(slow.get_xdata()) == pytest.approx([512 / 3, 1024 / 3, 2048 / 3])  # 2n³ FLOP over 6n² bytes
        assert roof.get_xdata()[1] == pytest.approx(989 / 4.8)
        assert max(roof.get_ydata()) == pytest.approx(989)

    def test_no_roof_for_an_unknown_gpu(self, rungs):
        with pytest.raises(NoData, match="hardware table"):
            sweep_plots.roofline([{**rungs, "machine": UNKNOWN}])

    def test_stages_by_tile_and_what_did_not_fit(self, stages):
        axes = sweep_plots.gemm_stages([stages]).axes[0]
        assert [text.get_text() for text in axes.texts] == ["100", "400", "100"]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["64×64×64", "128×64×64"]
        assert axes.get_xlabel().endswith("no room in shared memory")
        assert sweep_plots.gemm_stages([{**stages, "complete": False}]).axes[0].get_xlabel().endswith("not measured")
        hatched, outlined = ([p for p in axes.patches if bool(p.get_hatch()) is wanted] for wanted in (True, False))
        assert [patch.get_xy() for patch in hatched] == [(0.5, 0.5)]
        assert [patch.get_xy() for patch in outlined] == [(0.5, -0.5)]
        assert outlined[0].get_edgecolor()[:3] == pytest.approx([int(MARK[n : n + 2], 16) / 255 for n in (1, 3, 5)])

    def test_orders_beside_the_model(self, h200):
        points = made_of("raster", "groups of 8", sizes=(4096, 8192), tile=[128, 128, 64])
        counted = {name: {MEMORY_READ: 2e9, WAVES: 4096 / 264} for name in ("raster", "groups of 8")}
        _, memory = sweep_plots.gemm_orders([{"machine": MACHINE, "counters": counted, "points": points}]).axes
        assert [bar.get_width() for bar in memory.patches] == [2, 2]
        raster, grouped = (x for x, _ in memory.collections[0].get_offsets())
        assert raster > 2 * grouped > memory.get_lines()[0].get_xdata()[0]
        assert memory.get_lines()[0].get_xdata()[0] == pytest.approx(2 * 2 * 8192 * 8192 / 1e9)

    def test_orders_without_counters_or_hardware(self, h200):
        points, counted = made_of("raster", tile=[128, 128, 64]), {"raster": {MEMORY_READ: 2e9, WAVES: 4096 / 264}}
        _, memory = sweep_plots.gemm_orders([{"machine": UNKNOWN, "counters": counted, "points": points}]).axes
        assert not memory.collections
        _, memory = sweep_plots.gemm_orders([{"machine": MACHINE, "counters": {}, "points": points}]).axes
        assert memory.get_xlabel().startswith("no counters")

    @pytest.mark.parametrize("name", ["gemm_ladder", "gemm_orders", "gemm_stages", "roofline"])
    def test_no_data_names_the_command(self, name, h200):
        with pytest.raises(NoData, match="tutor sweep gemm_"):
            plots.FIGURES[name]()
