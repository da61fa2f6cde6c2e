"""The cuTile kernels in the interpreter, beside torch's attention and its gradients in fp64."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from tests.kernels.attention.cases import CHECKS, any_length
from tutorlib.checking.cutile_launches import launches_interpreted
from tutorlib.kernels.attention import launch

D, SCALE = 64, 0.125


def random(*shape):
    return torch.randn(*shape).bfloat16()


def forward(q, k, v, scale, causal, **options):
    o, lse = torch.full_like(q, torch.nan), torch.full(q.shape[:3], torch.nan)
    with launches_interpreted() as launched:
        launch.forward_by_tiles(o, lse, q, k, v, scale, causal, **options)
    assert not [finding for one in launched for finding in one.report.findings]
    return o, lse


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("check", CHECKS)
def test_it_is_right_in_special_cases(check, causal):
    check(forward, causal, "cpu", 150)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [1, 17, 127, pytest.param(4097, marks=pytest.mark.long)])
def test_any_length_is_right(tokens, causal):
    any_length(forward, causal, "cpu", tokens)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys", "kv_heads"), [(150, 150, 2), (1, 1, 4), (17, 300, 1)])
def test_the_launched_backward_pass_equals_torch_and_is_the_same_twice(queries, keys, kv_heads, causal):
    torch.manual_seed(0)
    q, do, (k, v) = random(1, 4, queries, D), random(1, 4, queries, D), random(2, 1, kv_heads, keys, D)
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    want = torch.autograd.grad(
        scaled_dot_product_attention(*wide, is_causal=causal, enable_gqa=True), wide, do.double()
    )
    o, lse = forward(q, k, v, SCALE, causal)
    with launches_interpreted() as launched:
        ours, again = (launch.backward(do, q, k, v, o, lse, SCALE, causal) for _ in "12")
    assert not [finding for one in launched for finding in one.report.findings]
    for got, twice, right in zip(ours, again, want, strict=True):
        torch.testing.assert_close(got.double(), right, rtol=2**-6, atol=2**-6)
        assert torch.equal(got, twice)


def test_a_row_that_sees_nothing_has_no_gradient():
    """Its scores overflow to -inf in fp32."""
    q, k, v, do = random(4, 1, 1, 20, D).abs().unbind(0)
    k = -(k + 1) * 2**40
    q[0, 0, 3] = 2.0**100
    o, lse = forward(q, k, v, SCALE, False)
    with launches_interpreted():
        dq, dk, dv = launch.backward(do, q, k, v, o, lse, SCALE, False)
    assert (dq[0, 0, 3] == 0).all()
    assert all(x.isfinite().all() for x in (dk, dv))


@pytest.mark.parametrize("keys", [1, 63, 1000])
@pytest.mark.parametrize("kv_heads", [4, 1])
def test_the_launched_decoding_step_equals_torch(keys, kv_heads):
    q, (k, v) = random(2, 4, 1, D), random(2, 2, kv_heads, keys, D)
    o = torch.full_like(q, torch.nan)
    with launches_interpreted() as launched:
        launch.decode_into(o, q, k, v, SCALE)
    want = scaled_dot_product_attention(q.double(), k.double(), v.double(), enable_gqa=True)
    torch.testing.assert_close(o.double(), want, rtol=2**-7, atol=2**-7)
    assert not [finding for one in launched for finding in one.report.findings]


@pytest.mark.parametrize("all_tiles", [1, 64, 1563])
@pytest.mark.parametrize("heads", [1, 8, 1000])
def test_runs_cover_all_tiles_in_one_wave(all_tiles, heads):
    run_of, splits = launch.split_keys(all_tiles, heads, 264)
    assert (splits - 1) * run_of < all_tiles <= splits * run_of
    assert splits <= max(264 // heads, 1)
    assert splits <= launch.MOST_RUNS
