"""Attention as torch's operator, on the CPU."""

import pytest
import torch
from torch.nn import functional

from tests.kernels.attention.cases import CHECKS, losses_of_an_encoder
from tutorlib.kernels.attention.operator import attention, left_to_torch, scaled_dot_product_attention, why_not_fused


def inputs(dtype=torch.float64, kv_heads=2, d=64):
    q = torch.randn(2, 4, 9, d, dtype=dtype, requires_grad=True)
    return q, *(torch.randn(2, kv_heads, 11, d, dtype=dtype, requires_grad=True) for _ in "kv")


@pytest.mark.parametrize("causal", [False, True])
def test_results_and_gradients_equal_torch(causal):
    operands = inputs()
    got = scaled_dot_product_attention(*operands, is_causal=causal, enable_gqa=True)
    want = functional.scaled_dot_product_attention(*operands, is_causal=causal, enable_gqa=True)
    torch.testing.assert_close(got, want)
    slope = torch.randn_like(got)
    both = (torch.autograd.grad(result, operands, slope) for result in (got, want))
    for ours, torchs in zip(*both, strict=True):
        torch.testing.assert_close(ours, torchs, rtol=1e-5, atol=1e-5)  # lse is fp32


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_gpu_it_is_right_in_special_cases(check, causal):
    check(attention, causal, "cpu", 130)


def test_torch_accepts_the_operator():
    found = torch.library.opcheck(attention, (*inputs(torch.float32), 0.125, True))
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.parametrize(
    "keywords",
    [{"dropout_p": 0.5}, {"attn_mask": torch.ones(9, 11, dtype=torch.bool)}, {"scale": 0.0}, {"scale": -1.0}],
)
def test_torch_computes_what_the_kernel_cannot(keywords):
    before, operands = left_to_torch.total(), inputs()
    torch.manual_seed(0)
    got = scaled_dot_product_attention(*operands, enable_gqa=True, **keywords)
    torch.manual_seed(0)
    torch.testing.assert_close(got, functional.scaled_dot_product_attention(*operands, enable_gqa=True, **keywords))
    assert left_to_torch.total() == before + 1


@pytest.mark.parametrize(("kv_heads", "keywords"), [(2, {}), (3, {"enable_gqa": True})])
def test_heads_that_do_not_fit_are_refused(kv_heads, keywords):
    with pytest.raises(ValueError, match="heads of Q"):
        scaled_dot_product_attention(*inputs(kv_heads=kv_heads), **keywords)


def test_torch_traces_it_as_one_graph():
    operands = inputs(torch.float32)
    traced = torch.compile(scaled_dot_product_attention, fullgraph=True, backend="eager")
    got = traced(*operands, is_causal=True, enable_gqa=True)
    assert torch.equal(got, scaled_dot_product_attention(*operands, is_causal=True, enable_gqa=True))


def test_a_layer_of_torchs_trains_with_it(monkeypatch):
    want = losses_of_an_encoder("cpu", torch.float32)
    calls = count_calls(monkeypatch)
    assert losses_of_an_encoder("cpu", torch.float32) == pytest.approx(want, rel=1e-4)
    assert calls == [""] * 3


def count_calls(monkeypatch):
    """Replaces torch's function by ours; a list of why each call was left to torch, "" if it was not."""
    calls = []

    def ours(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **more):
        calls.append(why_not_fused(query, key, value, attn_mask, dropout_p, more.get("scale")))
        return scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, **more)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", ours)
    return calls
