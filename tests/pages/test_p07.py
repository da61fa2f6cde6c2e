"""Notebooks 06 and 07: the bound on a softmax; what the page says of compiled kernels, and corners of exercises."""

import re
from functools import partial
from inspect import getsource

import pytest
import torch

from tutorlib.compiling import programs
from tutorlib.compiling.dsls import compile_cutile, executed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find
from tutorlib.exercises.p07 import BENCH_FP8
from tutorlib.exercises.p08 import skinny_tile
from tutorlib.kernels.cutile import Config, compiled, plain
from tutorlib.machine.features import hardware_of
from tutorlib.models.l2 import coverage, grouped, raster, traffic
from tutorlib.problems.catalogue import softmax


@pytest.fixture(scope="module")
def answers():
    return load_answers("07_cutile_gemm")


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

    def test_the_fp8_accumulators_have_room(self, answers):
        m, n, k = BENCH_FP8
        specs = [TensorSpec((m, k), "e4m3"), TensorSpec((n, k), "e4m3"), TensorSpec((m, n), "bf16")]
        made = compile_cutile(load_answers("08_cutile_fp8")["08.3"], [*specs, *skinny_tile(BENCH_FP8)], "sm_90")
        assert made.stack_bytes == 0
        assert programs.serialized(made.ptx) is None
        assert re.search(r"setmaxnreg\.inc\S* +\t?232", made.ptx.replace("\t", " "))

    def test_so_have_those_of_384_rows(self):
        source = getsource(load_answers("08_cutile_fp8")["08.3"]._pyfunc).replace("64", "128").replace("(4,", "(2,")
        kernel = executed(f"import cuda.tile as ct\nZERO = ct.PaddingMode.ZERO\n{source}", "of_384_rows").gemm_fp8
        specs = [TensorSpec((384, 7168), "e4m3"), TensorSpec((32576, 7168), "e4m3"), TensorSpec((384, 32576), "bf16")]
        assert compile_cutile(kernel, [*specs, 128, 128], "sm_90").stack_bytes == 0

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


@pytest.mark.parametrize("n", [1, 100, 1000])
def test_the_bound_takes_an_fp32_softmax_and_no_fp16_one(n):
    problem, shape = softmax("fp32"), (16, n)
    (x,) = problem.random(shape, torch.Generator().manual_seed(n))
    x = x * 20
    want, allowed = problem.expected((x,), shape)
    assert ((x.softmax(-1).double() - want).abs() <= allowed).all()
    if n > 1:
        assert ((x.half().softmax(-1).double() - want).abs() > allowed).any()
