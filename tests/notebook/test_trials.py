"""Kernels tried out on a page that is also read where there is no GPU."""

import pytest
import torch
from cutlass import cute

from tests.pages.p08 import ADD
from tests.simulate.cute_kernels import hello, stops_at_a_breakpoint
from tests.stand_ins import H200, multiplied
from tutorlib.compiling.errors import CompileFailed
from tutorlib.kernels.ladder import AMPERE_RUNGS
from tutorlib.kernels.nvidia_example import CHECKOUT
from tutorlib.machine import device
from tutorlib.notebook import trials
from tutorlib.notebook.trials import compare_on_gpu, run_cpp, run_on_gpu, show_beside

GEMMS = {"one buffer": AMPERE_RUNGS[0].host, "two buffers": AMPERE_RUNGS[1].host}


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

    def test_a_comparison_says_what_it_cannot_measure(self, capsys):
        compare_on_gpu(GEMMS, sizes=(512,))
        assert capsys.readouterr().out == "one buffer against two buffers: not measured: no GPU here\n"


def test_a_kernel_beside_libraries_is_a_table(monkeypatch, capsys):
    monkeypatch.setattr(device, "gpu", lambda: H200)
    monkeypatch.delenv(CHECKOUT, raising=False)
    monkeypatch.setattr(trials, "measure", lambda problem, launcher, shape: multiplied(shape, 400.0))
    table = show_beside({"yours": GEMMS["one buffer"]}, sizes=(512, 1024))
    assert table["of cuBLAS"].to_dict() == {("yours", 512): "0.500 ±0.5%", ("yours", 1024): "0.500 ±0.5%"}
    assert "NVIDIA's example: git clone" in capsys.readouterr().out


def test_a_comparison_has_a_line_for_each_size(monkeypatch, capsys):
    monkeypatch.setattr(device, "gpu", lambda: H200)
    measured = iter([multiplied((512,) * 3, 400.0), multiplied((512,) * 3, 200.0)])
    monkeypatch.setattr(trials, "measure", lambda problem, launcher, shape: next(measured))
    compare_on_gpu(GEMMS, sizes=(512,))
    assert capsys.readouterr().out == ("512: one buffer 0.7 µs, two buffers 1.3 µs; one buffer is 2.000 × as fast\n")


@pytest.mark.gpu("80")
def test_a_page_with_a_gpu_runs_the_kernel():
    a, b, c = (torch.randn(1000, device="cuda") for _ in range(3))
    assert run_on_gpu(add, a, b, c, dynamic=True)
    assert c.equal(a + b)
