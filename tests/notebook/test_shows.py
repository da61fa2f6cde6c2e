"""What a notebook shows: a kernel explained, recorded measurements, and what C prints."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from cutlass import cute

from tests.pages.answers import named
from tests.pages.p09 import ADD
from tests.simulate.cute_kernels import stops_at_a_breakpoint
from tests.stand_ins import MACHINE, multiplied
from tutorlib import explain
from tutorlib.compiling.spec import TensorSpec
from tutorlib.course.answers import load_answers
from tutorlib.draw.simulated import Story, WarpAccess, bank_grid_of, telling, timelines_of, worst_accesses
from tutorlib.kernels.hopper.first import make_first_gemm
from tutorlib.kernels.ladder import AMPERE_RUNGS
from tutorlib.measuring import results
from tutorlib.measuring.results import Point, SweepResults
from tutorlib.models.memory import wavefronts
from tutorlib.notebook.measured import (
    show_costs,
    show_levers,
    show_speeds,
    show_sweep,
)
from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host
from tutorlib.simulate.ptx.memory import listening

COPIES = load_answers("05_copy_kernels")
CONFLICTED = named("05.3", "make_swizzle(5, 0, 6) → make_swizzle(0, 0, 0)").function
SCALE = """
__global__ void scale(float* x, float* y) {
    int i = blockIdx.x * 32 + threadIdx.x;
    y[i] = 2 * x[i];
}
"""


def traced(host, *tensors, arch="sm_80"):
    compiled = compile_with_lines(host, [TensorSpec.like(t) for t in tensors], arch)
    with listening(Story):
        (report,) = simulate_host(compiled, {f"t{n}": tensor for n, tensor in enumerate(tensors)})
    return report


@pytest.fixture(scope="module")
def transpose():
    return traced(CONFLICTED, torch.randn(64, 64), torch.zeros(64, 64))


@pytest.fixture(scope="module")
def three_stages():
    a, b, c = (torch.randn(size, 256).bfloat16() for size in (128, 128, 128))
    return traced(AMPERE_RUNGS[3].host, a, b, c[:, :128].contiguous())


def test_the_report_marks_what_costs_too_much(capsys):
    explain(CONFLICTED, torch.randn(128, 64), torch.zeros(64, 128))
    said = capsys.readouterr().out
    assert said.startswith("2 blocks, ")
    assert "✓ no hazard" in said
    assert "! ld.shared     8,192 wavefronts of 256 needed" in said
    assert "  cp.async        256 wavefronts of 256 needed" in said
    assert "stores.partition_S(turned)" in said


def test_an_exercise_and_its_answer_are_enough(capsys):
    assert explain("05.3", COPIES["05.3"], shape=(64, 128)) is not None
    assert capsys.readouterr().out.startswith("transpose 64×128: ✓ dst is right\n2 blocks, ")


def test_of_a_wrong_answer_it_says_what_is_wrong(capsys):
    explain("05.3", named("05.3", "- commit_group()").function)
    said = capsys.readouterr().out
    assert "✗" in said
    assert "it is in no committed group" in said


def test_what_is_not_written_yet_is_said(capsys):
    @cute.jit
    def transpose(src: cute.Tensor, dst: cute.Tensor):
        raise NotImplementedError("Exercise 5.6")

    assert explain("05.3", transpose) is None
    assert capsys.readouterr().out == "not explained: Exercise 5.6 is not written yet\n"


def test_an_exercise_without_a_kernel_is_refused():
    with pytest.raises(TypeError, match=r"04\.1 wavefronts asks for no kernel"):
        explain("04.1", len)


def test_what_the_warps_did_in_order(transpose):
    story = transpose.heard
    assert [step.does for step in story.steps] == ["issue", "commit", "wait", "barrier", "read", "store"]
    assert {step.warps for step in story.steps} == {frozenset(range(8))}
    (grid,) = timelines_of(story)
    assert list(grid.labels[0]) == ["C", "c", "w", "|", "R", "S"]
    assert list(grid.down) == ["warps 0-7", "buffer 0"]
    assert list(grid.labels[1]) == ["0", "·", "", "", "0", ""]


def test_a_buffer_for_each_stage_and_a_number_for_each_copy_into_it(three_stages):
    """128×128×64 tiles, four K tiles, three stages: the fourth copy goes where the first was."""
    story = three_stages.heard
    assert list(story.buffers.values()) == [[0, 3], [1], [2]]
    grid, *_ = timelines_of(story)
    assert list(grid.down) == ["warps 0-3", "buffer 0", "buffer 1", "buffer 2"]
    first = grid.labels[1]
    assert next(label for label in first if label and label != "·") == "0"
    assert first.index("3") > max(n for n, label in enumerate(first) if label == "0")


def test_a_stage_is_read_until_its_wgmmas_are_waited_for():
    """Four K tiles in three stages of TMA loads; C's tile, the fifth, goes where the first stage was."""
    a, b, c = (torch.randn(rows, 256).bfloat16() for rows in (128, 256, 128))
    story = traced(make_first_gemm(stages=3), a, b, c, arch="sm_90a").heard
    assert list(story.buffers.values()) == [[0, 3, 4], [1], [2]]
    read = [{*step.reads} for step in story.steps if step.does in ("math", "wait")]
    assert read == [{0}, {0, 1}, {0, 1}, {1, 2}, {1, 2}, {2, 3}, {2, 3}, {3}]


def test_each_thread_in_its_bank(transpose):
    read, written = worst_accesses(transpose)
    assert (read.opcode, read.wavefronts, read.wasted) == ("ld.shared", 32, 31)
    assert (written.opcode, written.wavefronts, written.wasted) == ("cp.async", 1, 0)
    grid = bank_grid_of(read)
    assert [row[0] for row in grid.labels] == [str(thread) for thread in range(32)]
    assert all(not any(row[1:]) for row in grid.labels)
    assert "takes 32 wavefronts, 1 would do" in grid.title
    assert telling([read, written]) == [read]


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("stride", [4, 8, 16, 64, 132, 528])
def test_wavefronts_are_the_models(width, stride):
    addresses = np.arange(32) * max(stride, width)
    access = WarpAccess("", "", 0, addresses, width)
    vector = width // 4
    assert access.wavefronts == wavefronts([int(a) // 4 for a in addresses], 4, vector)


def test_a_cutile_kernel(capsys):
    import cuda.tile as ct

    from tests.checking.test_languages import persistent_transpose

    picture = explain(persistent_transpose, torch.randn(32, 64), torch.zeros(64, 32), grid=(2,), constants=(32, 16))
    assert picture is not None
    assert "2 blocks" in capsys.readouterr().out
    assert isinstance(persistent_transpose, ct.kernel)


def test_cpp_kernels(capsys):
    x = torch.arange(1024.0)
    explain(ADD, x, x, torch.zeros(1024), 1024, grid=(1,))
    explain(SCALE, x[:64], torch.zeros(64), grid=(2,), block=(32,))
    said = capsys.readouterr().out
    assert said.startswith("1 block, ")
    assert "2 blocks" in said
    assert "`y[i] = 2 * x[i];`" in said


def test_what_is_not_simulated_is_said(capsys):
    assert explain(stops_at_a_breakpoint, torch.zeros(2, 2), torch.zeros(2, 2)) is None
    said = capsys.readouterr().out
    assert said.startswith("not explained: ")
    assert "brkpt" in said


# Recorded measurements -----------------------------------------------------------------------------------------------

ONE, TWO = (1024,) * 3, (2048,) * 3
COLUMN = "NVIDIA H200, 2026-11-21, {}"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "SWEEPS", tmp_path)


def write(name, points, **others):
    SweepResults(MACHINE, "2026-11-21", True, tuple(points), **others).write(name)


@pytest.mark.parametrize(
    "show",
    [
        show_levers,
        lambda: show_sweep("gemm_k"),
        lambda: show_speeds("gemm_k"),
    ],
)
def test_where_nothing_was_measured_a_line_says_how(show, capsys):
    assert show() is None
    assert "not measured yet: run `tutor sweep " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("show", "cell"),
    [
        (show_costs, lambda table: table[COLUMN.format("cool"), "speed"].loc["1,024 tokens"]),
        (show_sweep, lambda table: table[COLUMN.format("cool"), "of cuBLAS"]),
    ],
)
def test_a_ratio_whose_pairs_spread_too_far_is_marked_and_a_line_says_so(show, cell, capsys):
    steady = multiplied(ONE, 840.0)
    write("gemm_k", [Point("steady", steady, {}), Point("restless", replace(steady, spread=0.06), {})])
    said = cell(show("gemm_k"))
    assert (said["steady"], said["restless"]) == ("1.050 ±0.5%", "≈1.050 ±3.0%")
    assert "≈: the quartiles are more than 5% apart" in capsys.readouterr().out
    write("gemm_k", [Point("steady", steady, {})])
    show("gemm_k")
    assert "≈" not in capsys.readouterr().out


def test_so_is_a_speed(capsys):
    write(
        "gemm_k",
        [Point("steady", multiplied(ONE, 840.0)), Point("restless", replace(multiplied(ONE, 840.0), spread=0.06))],
    )
    said = show_speeds("gemm_k")[COLUMN.format("cool"), "1024"]
    assert (said["steady"], said["restless"]) == ("840", "≈840")
    assert "≈: the quartiles are more than 5% apart" in capsys.readouterr().out


class TestLevers:
    @pytest.fixture(autouse=True)
    def measured(self):
        rows = (([], 720, 720), (["multicast"], 792, 756), (["multicast", "polling"], 800, 756))
        write(
            "hopper_levers",
            (
                Point(" + ".join(levers) or "plain", multiplied(shape, row[column]), {"levers": levers})
                for column, shape in enumerate((ONE, TWO))
                for levers, *row in rows
            ),
        )

    def test_a_tree_with_each_levers_gain_on_the_row_that_it_stands_on(self):
        table = show_levers()[COLUMN.format("cool")]
        assert list(table.index) == ["plain", "+ multicast", "· + polling"]
        assert list(table["1024"]) == ["0.900 ±0.5%", "0.990 ±0.5% +10.0%", "1.000 ±0.5% +1.0%"]
        assert list(table["2048"]) == ["0.900 ±0.5%", "0.945 ±0.5% +5.0%", "0.945 ±0.5%"]


def test_a_line_that_c_prints_does_not_wait_for_a_full_buffer():
    """A notebook's stdout is a pipe, too, and cute.printf on the host prints by C."""
    code = "import os, ctypes, tutorlib.notebook; ctypes.CDLL(None).puts(b'a line'); os._exit(0)"
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    assert (
        subprocess.run([sys.executable, "-c", code], env=usual, capture_output=True, check=True).stdout == b"a line\n"
    )
