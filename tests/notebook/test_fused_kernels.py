"""Page 16's epilogues as functions of torch tensors: simulated in bf16, torch's in other dtypes."""

from unittest import mock

import pytest
import torch
from torch.nn import functional

from tutorlib.kernels.ampere import fused
from tutorlib.kernels.layers import interleave
from tutorlib.notebook import fused_kernels
from tutorlib.notebook.fused_kernels import show_fused_speeds, with_epilogue, with_gate


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
