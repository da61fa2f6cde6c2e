"""Attention's problems: their references and bounds, beside torch's automatic differentiation."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from tutorlib.checking.cutile_launches import launches_interpreted
from tutorlib.kernels.attention import launch
from tutorlib.problems.attention import attention_problem, decoding_problem, gradient_problem

SHAPE = (2, 4, 2, 70, 70, 64)


@pytest.mark.parametrize("causal", [False, True])
def test_the_gradient_is_torchs_and_the_kernels_are_within_its_bound(causal):
    problem = gradient_problem(causal)
    inputs = problem.random(SHAPE, torch.Generator().manual_seed(0))
    q, k, v, do, o, lse, dk, dv = inputs
    leaves = [x.double().requires_grad_() for x in (q, k, v)]
    result = scaled_dot_product_attention(*leaves, is_causal=causal, enable_gqa=True)
    want = torch.autograd.grad(result, leaves, do.double())
    expected, allowed = problem.expected(inputs, SHAPE)
    torch.testing.assert_close(expected, want[0], rtol=2**-6, atol=2**-6)  # o is rounded to bf16
    dq = torch.full_like(q, torch.nan)
    with launches_interpreted():
        launch.backward_into(dq, dk, dv, do, q, k, v, o, lse, 64**-0.5, causal)
    assert ((dq.double() - expected).abs() <= allowed).all()
    assert problem.flops(SHAPE) == 2.5 * attention_problem(causal).flops(SHAPE)


@pytest.mark.parametrize("causal", [False, True])
def test_the_pattern_has_one_key_that_matters_and_maxima_that_rise_and_fall(causal):
    problem = attention_problem(causal)
    q, k, v = problem.pattern(SHAPE, "cpu")
    s = (q[0, 0].double() @ k[0, 0].double().mT * 64**-0.5)[-1]
    assert s.argmax() == 35
    assert (s.diff().abs() == 4).all()
    expected, _ = problem.expected((q, k, v), SHAPE)
    want = scaled_dot_product_attention(*(x.double() for x in (q, k, v)), is_causal=causal, enable_gqa=True)
    torch.testing.assert_close(expected, want)


def test_decoding_is_measured_by_its_bytes():
    shape = (2, 8, 1, 1, 100, 64)
    problem = decoding_problem()
    assert problem.flops(shape) == 0
    inputs = problem.random(shape, torch.Generator().manual_seed(0))
    expected, allowed = problem.expected(inputs, shape)
    o = torch.full_like(inputs[0], torch.nan)
    with launches_interpreted():
        launch.decode_into(o, *inputs, 64**-0.5)
    assert ((o.double() - expected).abs() <= allowed).all()
