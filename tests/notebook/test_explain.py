"""`explain`: the report and the drawing of kernels in each language."""

import pytest
import torch

from tests.simulate.cute_kernels import stops_at_a_breakpoint
from tests.wrong.n08_tile_cpp import ADD
from tutorlib import explain
from tutorlib.compiling.spec import TensorSpec
from tutorlib.course.answers import load_answers
from tutorlib.draw.simulated import WarpStep, bank_accesses, steps_of, timeline_of_warps
from tutorlib.simulate.ptx import NotSimulated
from tutorlib.simulate.ptx.languages.cute import simulate_host
from tutorlib.simulate.ptx.languages.cute_lines import compile_with_lines

COPIES = load_answers("05_copy_kernels")
SCALE = """
__global__ void scale(float* x, float* y) {
    int i = blockIdx.x * 32 + threadIdx.x;
    y[i] = 2 * x[i];
}
"""


def traced(host, *tensors):
    (report,) = simulate_host(
        compile_with_lines(host, [TensorSpec.like(t) for t in tensors]),
        {f"t{n}": tensor for n, tensor in enumerate(tensors)},
        traced=True,
    )
    return report


@pytest.fixture(scope="module")
def transpose():
    return traced(COPIES["05.6"], torch.randn(64, 64), torch.zeros(64, 64))


def test_the_report_marks_what_costs_too_much(capsys):
    explain(COPIES["05.6"], torch.randn(128, 64), torch.zeros(64, 128))
    said = capsys.readouterr().out
    assert said.startswith("2 blocks, ")
    assert "✓ no hazard" in said
    assert "! ld.shared        8,192 wavefronts of 256 needed" in said
    assert "  st.shared          256 wavefronts of 256 needed" in said
    assert "mine.partition_S(turned)" in said


def test_a_swizzle_costs_what_it_must(capsys):
    explain(COPIES["05.7"], torch.randn(64, 64), torch.zeros(64, 64))
    assert "!" not in capsys.readouterr().out


def test_what_the_warps_did_in_order(transpose):
    steps = steps_of(transpose.trace)
    assert [step.does for step in steps] == ["load", "write", "barrier", "read", "store"]
    assert {step.warps for step in steps} == {frozenset(range(8))}
    grid = timeline_of_warps(transpose.trace)
    assert grid.labels[0] == ["L16", "W16", "|", "R16", "S16"]
    assert [step.count for step in steps] == [16, 16, 1, 16, 16]


def test_each_bank_of_an_access(transpose):
    grid = bank_accesses(transpose)
    written, read = grid.labels
    assert written == ["1"] * 32
    assert read == ["32"] + [""] * 31
    assert [name.split()[-1] for name in grid.down] == ["st.shared", "ld.shared"]


def test_steps_that_differ_stay_apart():
    assert WarpStep("read", frozenset({0}), 1) != WarpStep("read", frozenset({1}), 1)


def test_a_cutile_kernel(capsys):
    import cuda.tile as ct

    from tests.checking.cutile_kernels import persistent_add

    x = torch.arange(256.0)
    picture = explain(persistent_add, x, x, torch.zeros(256), grid=(2,), constants=(64,))
    assert picture is not None
    assert "2 blocks" in capsys.readouterr().out
    assert isinstance(persistent_add, ct.kernel)


def test_cpp_kernels(capsys):
    x = torch.arange(1024.0)
    explain(ADD, x, x, torch.zeros(1024), 1024, grid=(1,))
    explain(SCALE, x[:64], torch.zeros(64), grid=(2,), block=(32,))
    said = capsys.readouterr().out
    assert "1 blocks" in said
    assert "2 blocks" in said
    assert "`y[i] = 2 * x[i];`" in said


def test_what_is_not_simulated():
    with pytest.raises(NotSimulated, match=r"brkpt"):
        explain(stops_at_a_breakpoint, torch.zeros(2, 2), torch.zeros(2, 2))
