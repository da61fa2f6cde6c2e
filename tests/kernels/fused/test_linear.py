"""The linear operator: torch's own checks of an operator, gradients by differences, and a module made of it."""

import copy

import pytest
import torch
from torch import nn

from tutorlib.kernels.fused.linear import KernelLinear, linear, use_kernels
from tutorlib.kernels.fused.mlp import FusedMLP, LlamaMLP, interleave, separate, swiglu_linear
from tutorlib.kernels.fused.parallel import shard


@pytest.fixture
def mlp() -> LlamaMLP:
    torch.manual_seed(0)
    return LlamaMLP(16, 48)


def test_opcheck_and_gradients():
    torch.manual_seed(0)
    x, weight = torch.randn(2, 3, 8).requires_grad_(), torch.randn(4, 8).requires_grad_()
    torch.library.opcheck(linear, (x, weight))
    wide = [tensor.detach().double().requires_grad_() for tensor in (x, weight)]
    assert torch.autograd.gradcheck(linear, wide)
    assert torch.autograd.gradgradcheck(linear, wide)


def test_opcheck_of_the_gated_operator():
    torch.library.opcheck(swiglu_linear, (torch.randn(2, 3, 8), torch.randn(32, 8)))


def test_bf16_is_rounded_once():
    x, weight = torch.randn(64, 512).bfloat16(), torch.randn(32, 512).bfloat16()
    assert linear(x, weight).equal((x.double() @ weight.double().mT).float().bfloat16()) or torch.allclose(
        linear(x, weight).double(), x.double() @ weight.double().mT, rtol=2**-8, atol=1e-4
    )


def test_swapped_modules_share_parameters_and_results(mlp):
    plain = copy.deepcopy(mlp)
    swapped = use_kernels(mlp)
    assert {type(child) for child in swapped.children()} == {KernelLinear}
    assert list(swapped.state_dict()) == list(plain.state_dict())
    x = torch.randn(2, 5, 16)
    torch.testing.assert_close(swapped(x), plain(x))
    for module in (swapped, plain):
        module(x).square().sum().backward()
    for got, wanted in zip(swapped.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(got.grad, wanted.grad)


def test_a_bias_stays():
    layer = nn.Sequential(nn.Linear(8, 4))
    x = torch.randn(3, 8)
    expected = layer(x)
    torch.testing.assert_close(use_kernels(layer)(x), expected)


def test_no_graph_break_and_autocast(mlp):
    swapped, x = use_kernels(mlp), torch.randn(4, 16)
    assert torch._dynamo.explain(swapped)(x).graph_break_count == 0
    with torch.autocast("cpu", torch.bfloat16):
        assert swapped(x).dtype == torch.bfloat16


def test_the_fused_module_is_the_plain_one(mlp):
    x = torch.randn(2, 5, 16)
    torch.testing.assert_close(FusedMLP(mlp)(x), mlp(x))


def test_interleaving_and_back():
    gate, up = torch.arange(48.0).view(24, 2), -torch.arange(48.0).view(24, 2)
    assert all(map(torch.equal, separate(interleave(gate, up)), (gate, up)))


@pytest.mark.parametrize("world", [1, 2, 3])
def test_the_parts_of_a_split_mlp_add_up(mlp, world):
    x = torch.randn(5, 16)
    weights = [child.weight.detach() for child in mlp.children()]
    total = torch.zeros(5, 16)
    for rank in range(world):
        gate, up, down = shard(*weights, rank, world)
        assert down.is_contiguous()
        total += (nn.functional.silu(x @ gate.mT) * (x @ up.mT)) @ down.mT
    torch.testing.assert_close(total, mlp(x).detach())


def test_features_that_do_not_divide_are_refused(mlp):
    with pytest.raises(ValueError, match="48 features do not divide among 5 ranks"):
        shard(*(child.weight for child in mlp.children()), 0, 5)
