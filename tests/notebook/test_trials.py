"""Running, comparing, tuning and compiling kernels from a notebook."""

from unittest import mock

import pytest
import torch
from cutlass import cute
from torch.nn import functional

from tests.pages.p09 import ADD
from tests.simulate.cute_kernels import hello, stops_at_a_breakpoint
from tutorlib.compiling.errors import CompileFailed
from tutorlib.kernels.ampere import fused
from tutorlib.kernels.layers import interleave
from tutorlib.models.hopper_gemm import Sm, repaired_cycles
from tutorlib.notebook import fused_kernels
from tutorlib.notebook.fused_kernels import show_fused_speeds, with_epilogue, with_gate
from tutorlib.notebook.trials import run_cpp, run_on_gpu, show_limits, show_periods, timed_steps
from tutorlib.paths import SOLUTIONS


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 128 + thread
    if i < cute.size(c):
        c[i] = a[i] + b[i]


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    add_kernel(a, b, c).launch(grid=(cute.ceil_div(cute.size(c), 128), 1, 1), block=(128, 1, 1))


def zeros(*sizes, device="cpu"):
    return tuple(torch.zeros(size, device=device) for size in sizes)


@pytest.mark.usefixtures("no_gpu")
class TestWithoutAGpu:
    def test_a_cute_kernel_is_simulated_and_a_line_says_so(self, capsys):
        a, b, c = torch.arange(300.0), torch.arange(300.0) ** 2, torch.zeros(300)
        assert run_on_gpu(add, a, b, c, dynamic=True)
        assert capsys.readouterr().out == "add: simulated: no GPU here\n"
        assert c.equal(a + b)

    def test_what_a_kernel_prints_is_shown(self, capsys):
        assert run_on_gpu(hello)
        lines = [f"thread {thread} of block {block}" for block in range(2) for thread in range(3)]
        assert capsys.readouterr().out.splitlines() == ["hello: simulated: no GPU here", *lines]

    def test_what_it_does_wrong_is_shown_with_its_line(self, capsys):
        assert run_on_gpu(add, *zeros(128, 100, 128))
        said = capsys.readouterr().out
        assert "thread 100 of block 0 loads argument 1[100], which lies outside argument 1 of shape (100,)" in said
        assert "`c[i] = a[i] + b[i]`" in said

    def test_a_kernel_that_the_simulator_does_not_know_is_compiled(self, capsys):
        assert not run_on_gpu(stops_at_a_breakpoint, *zeros((128, 128), (128, 128)))
        assert capsys.readouterr().out.startswith("stops_at_a_breakpoint: compiled, not run: no GPU here; ")

    def test_a_tile_kernel_is_simulated_and_a_line_says_so(self, capsys):
        a, b, c = torch.arange(300.0), torch.arange(300.0) ** 2, torch.zeros(300)
        assert run_cpp(ADD, (1,), a, b, c, 300)
        assert capsys.readouterr().out == "simulated: no GPU here\n"
        assert c.equal(a + b)

    def test_arguments_that_do_not_fit_are_refused_here_too(self):
        with pytest.raises(CompileFailed, match="parameters should be"):
            run_cpp(ADD, (1,), *zeros(8), 8)


@pytest.mark.gpu("80")
def test_a_page_with_a_gpu_runs_the_kernel():
    a, b, c = (torch.randn(1000, device="cuda") for _ in range(3))
    assert run_on_gpu(add, a, b, c, dynamic=True)
    assert c.equal(a + b)


# Epilogues as functions of torch -------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def simulated():
    with mock.patch.object(fused_kernels, "simulate_host", wraps=fused_kernels.simulate_host) as calls:
        yield calls


def by_torch(a, b, bias):
    return functional.gelu(functional.linear(a, b, bias), approximate="tanh")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_an_epilogue_is_gelu_of_a_layer(dtype, simulated):
    kernel = with_epilogue(fused.bias_gelu)
    for rows in (3, 70, 3):
        a, b, bias = (torch.randn(shape, dtype=dtype) for shape in ((rows, 8), (72, 8), (72,)))
        got, exact = kernel(a, b, bias), by_torch(a.double(), b.double(), bias.double())
        assert got.dtype == dtype
        torch.testing.assert_close(got.double(), exact, rtol=2**-8, atol=2**-9)
    assert simulated.call_count == (3 if dtype == torch.bfloat16 else 0)


def test_it_is_the_op_that_was_passed():
    a, b, bias = (torch.randn(shape).bfloat16() for shape in ((4, 8), (16, 8), (16,)))
    got = with_epilogue(lambda acc, bias: acc - bias)(a, b, bias)
    torch.testing.assert_close(got.double(), a.double() @ b.double().mT - bias.double(), rtol=2**-8, atol=2**-9)


@pytest.mark.parametrize("features", [64, 40])
def test_a_gate_takes_weights_interleaved_as_on_hopper(features, simulated):
    """40 features are no multiple of the simulated tile's pieces: torch computes them."""
    a, gate, up = (torch.randn(shape).bfloat16() for shape in ((5, 16), (features, 16), (features, 16)))
    got = with_gate(fused.gated)(a, interleave(gate, up))
    exact = functional.silu(a.double() @ gate.double().mT) * (a.double() @ up.double().mT)
    torch.testing.assert_close(got.double(), exact, rtol=2**-5, atol=2**-5)
    assert simulated.call_count == (features == 64)


def test_without_a_hopper_gpu_nothing_is_timed(no_gpu, capsys):
    assert show_fused_speeds(with_epilogue(fused.bias_gelu), with_gate(fused.gated)) is None
    assert capsys.readouterr().out.startswith("not timed: ")


# The parts of a K tile -----------------------------------------------------------------------------------------------


def test_the_cycles_that_pages_11_and_13_quote_are_the_record_s():
    pages = [(SOLUTIONS / f"{page}.py").read_text() for page in ("11_double_buffer", "13_three_stages")]
    limits = show_limits(lambda blocks, stages, latency, *_: latency).droplevel(0, axis="columns")
    assert len(limits) == 5
    assert all(number in pages[0] for column in ("arithmetic", "transfer") for number in limits[column])
    delays = show_periods(lambda block, k_blocks, ahead, delay: delay)["counted"]
    assert f"takes {delays.iloc[0]} cycles" in pages[1].replace("\n# ", " ")
    blocks = show_periods(lambda block, *_: block)["counted"]
    assert f"{blocks.iloc[0]} cycles" in pages[1].replace("\n# ", " ")


def test_the_dots_that_page_16_counts_are_the_records():
    page = (SOLUTIONS / "16_choose.py").read_text().replace("\n# ", " ")
    off = [(n, cycles / repaired_cycles((128, n, 64), (1, 1), Sm())) for n, cycles in timed_steps()]
    wide, narrow = [ratio for n, ratio in off if n >= 128], [ratio for n, ratio in off if n < 128]
    assert f"within 15% of {sum(abs(ratio - 1) <= 0.15 for ratio in wide) / len(wide):.0%} of the dots" in page
    assert f"it is within 15% of {sum(abs(ratio - 1) <= 0.15 for ratio in narrow)} of {len(narrow)}" in page
    slower, faster = sum(ratio > 1.15 for ratio in narrow), sum(ratio < 0.85 for ratio in narrow)
    assert f"; {slower} take 1.15 to {max(narrow):.1f} times as long as it says, and {faster} less than 0.85" in page
