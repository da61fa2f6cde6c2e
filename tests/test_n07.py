"""Notebook 07: what its page says of compiled kernels, its exercises' corners, its sweeps and their figures."""

import importlib.util
import re
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutorlib import ptxas, sweeps, tile_plots
from tutorlib.build import parse
from tutorlib.compile import TensorSpec, compile_cutile
from tutorlib.course import SOLUTIONS
from tutorlib.device import hardware_of
from tutorlib.exercises import find
from tutorlib.exercises.n07_cutile_gemm import BENCH_FP8, no_spill, skinny_tile
from tutorlib.l2 import coverage, grouped, raster, traffic
from tutorlib.simulate.cutile import run
from tutorlib.tile import TileLauncher
from tutorlib.tile_fp8 import slabs
from tutorlib.tile_gemm import Config, compiled, persistent, plain, space

MACHINE = {"gpu": "NVIDIA H200", "arch": "sm_90", "driver": "580.0", "packages": {}}


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The solved notebook's answers as a module: cuTile reads a kernel's source, so it must stand in a file."""
    cells = parse(SOLUTIONS / "07_cutile_gemm.py")
    code = [cell for cell in cells if cell.kind == "code" and cell.role != "check"]
    file = tmp_path_factory.mktemp("07") / "cutile_gemm.py"
    file.write_text("\n\n".join(cell.solved for cell in code if cell.role == "answer" or cell is code[0]))
    spec = importlib.util.spec_from_file_location("cutile_gemm", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestWhatThePageSays:
    def test_128_by_256_spills_on_hopper_and_each_way_out_helps(self):
        assert compiled(Config(128, 256)).stack_bytes > 1000
        for way_out in (
            Config(128, 128),
            Config(128, 256, num_worker_warps=8),
            Config(128, 256, num_ctas=2),
        ):
            assert compiled(way_out).stack_bytes == 0

    def test_not_on_blackwell(self):
        assert compiled(Config(128, 256), "sm_100").stack_bytes == 0

    @pytest.mark.parametrize(
        ("arch", "instructions"),
        [
            ("sm_80", {"cp.async", "ldmatrix", "mma.sync"}),
            ("sm_90", {"cp.async.bulk.tensor", "mbarrier", "wgmma"}),
            ("sm_100", {"cp.async.bulk.tensor", "mbarrier", "tcgen05"}),
        ],
    )
    def test_three_generations(self, arch, instructions):
        made = compile_cutile(plain, [TensorSpec((4096, 4096), "bf16")] * 3 + [128, 128, 64], arch)
        assert instructions <= made.instructions

    def test_the_fp8_accumulators_have_room(self, notebook):
        m, n, k = BENCH_FP8
        specs = [TensorSpec((m, k), "e4m3"), TensorSpec((n, k), "e4m3"), TensorSpec((m, n), "bf16")]
        made = compile_cutile(notebook.gemm_fp8, [*specs, *skinny_tile(BENCH_FP8)], "sm_90")
        assert made.stack_bytes == 0
        assert ptxas.serialized(made.ptx) is None
        assert re.search(r"setmaxnreg\.inc\S* +\t?232", made.ptx.replace("\t", " "))

    @pytest.mark.parametrize(
        ("open_zero", "near", "far", "spills", "says"),
        [
            (False, 0, 0, True, None),
            (False, 3, 6, False, "insufficient register resources"),
            (False, 7, 7, False, "non wgmma instructions reading accumulator registers"),
            (True, 0, 0, False, None),
            (True, 3, 6, False, None),
        ],
    )
    def test_a_zero_that_the_compiler_knows_costs_registers(self, open_zero, near, far, spills, says):
        m, n, k = BENCH_FP8
        specs = [TensorSpec((m, k), "e4m3"), TensorSpec((n, k), "e4m3"), TensorSpec((m, n), "bf16")]
        by_tma = near != 7
        arguments = [*specs, 128, 128, open_zero, near, far, by_tma]
        made = compile_cutile(slabs.replace_hints(num_worker_warps=8), arguments, "sm_90")
        assert (made.stack_bytes > 1000) == spills
        assert (ptxas.serialized(made.ptx) or "").startswith(says or "")
        assert bool(ptxas.serialized(made.ptx)) == bool(says)

    def test_strips_read_less(self):
        h200 = hardware_of("NVIDIA H200")
        sent = [
            traffic((64, 64), order, 128, (2**14, 2**14), h200.sms, h200.l2 // 2, drift=1 / 8).fetched
            for order in (raster, partial(grouped, group=8))
        ]
        assert sent[1] < sent[0] / 3


class TestExercises:
    @pytest.mark.parametrize("grid", [(16, 16, 4), (7, 5, 3), (5, 9, 8)])
    def test_tutorials_order_is_taken_too(self, grid):
        rows, columns, _ = grid

        def as_in_samples(block, rows, columns, group):
            first = block // (group * columns) * group
            height = min(rows - first, group)
            return first + block % height, block % (group * columns) // height

        assert all(map(len, coverage((rows, columns), lambda b, *_: as_in_samples(b, *grid)).values()))
        assert find("07.2").grade(as_in_samples).status == "passed"

    @pytest.mark.parametrize(
        "hints", [{"num_ctas": 2}, {"num_worker_warps": 8}, {"num_ctas": 2, "num_worker_warps": 8}]
    )
    def test_every_way_out_is_taken(self, hints):
        assert no_spill(hints, 128, 256) is None

    @pytest.mark.parametrize("hints", [None, {"occupancy": 2}, {"num_ctas": 3}, {"num_worker_warps": 16}])
    def test_other_hints_are_refused_with_a_reason(self, hints):
        assert no_spill(hints, 128, 256)

    @pytest.mark.parametrize("id", ["07.1", "07.4", "07.6", "07.7"])
    def test_a_check_is_quick_and_right_without_a_gpu(self, notebook, id):
        name = {"07.1": "gemm", "07.4": "persistent", "07.6": "gemm_tf32", "07.7": "gemm_fp8"}[id]
        exercise = find(id)
        assert all(exercise.interpret(getattr(notebook, name), shape) is None for shape in exercise.shapes)


class TestTheKernel:
    @settings(max_examples=15, deadline=None)
    @given(
        m=st.integers(1, 90),
        n=st.integers(1, 90),
        k=st.integers(1, 70),
        group=st.integers(1, 4),
        blocks=st.integers(1, 5),
    )
    def test_any_sizes(self, m, n, k, group, blocks):
        a, b, c = torch.randn(m, k), torch.randn(n, k), torch.full((m, n), torch.nan)
        report = run(persistent, (blocks,), (a, b, c, 32, 16, 16, group))
        assert not report.findings
        torch.testing.assert_close(c, a @ b.mT, rtol=1e-4, atol=1e-4)

    def test_the_space_is_what_fits(self):
        configs = list(space())
        assert all(config.fits() for config in configs)
        assert Config(128, 256, num_worker_warps=8) in configs
        assert Config(128, 256, num_worker_warps=4) not in configs

    @pytest.mark.parametrize("config", [Config(64, 64, 32), Config(256, 256, 64, num_ctas=2, num_worker_warps=8)])
    def test_the_grid_is_no_larger_than_the_work(self, config):
        assert config.grid((100, 100), 132)[0] == config.tiles((100, 100))
        assert config.grid((8192, 8192), 132)[0] == 132 // config.num_ctas


@pytest.fixture
def points():
    """A sweep's points in which the n-th kernel reaches n TFLOP/s."""

    def made_up(name):
        sweep = sweeps.SWEEPS[name]()
        return [
            {"name": kernel.name, **kernel.facts, "shape": shape, "tflops": n, "ratio": n / 100, "baseline": "cuBLAS"}
            for shape in sweep.shapes
            for n, kernel in enumerate(sweep.candidates)
        ]

    return made_up


class TestFigures:
    def test_a_candidate_is_launched_as_an_exercise_is(self):
        candidate = sweeps.SWEEPS["tile_rungs"]().candidates[0]
        launcher = candidate.launcher(None, (256, 384, 128))
        assert isinstance(launcher, TileLauncher)
        assert launcher.grid((256, 384, 128)) == (2, 3, 1)

    def test_the_ladder_has_a_mark_for_each_rung_and_size(self, points):
        (axes,) = tile_plots.tile_ladder([{"machine": MACHINE, "points": points("tile_rungs")}]).axes
        assert len(axes.collections) == 3
        assert [x for x, _ in axes.collections[0].get_offsets()] == [n / 100 for n in range(7)]

    def test_the_map_shows_the_best_hints_of_each_tile(self, points):
        data = {"machine": MACHINE, "points": points("tile_space")}
        axes = tile_plots.tile_heatmap([data]).axes[0]
        best = max(data["points"], key=lambda point: point["tflops"])
        config = best["config"]
        assert len(axes.texts) == len(
            {(p["config"]["tm"], p["config"]["tn"], p["config"]["tk"]) for p in data["points"]}
        )
        assert any(
            text.get_text().startswith(f"{best['tflops']}\n{config['num_worker_warps']} warps") for text in axes.texts
        )
        (outlined,) = [patch for patch in axes.patches if not patch.get_hatch()]
        assert (config["tm"], config["tn"]) == (256, 256)
        assert outlined.get_xy()[1] == len(axes.get_yticks()) - 1.5  # tiles of 256×256 are the last row
