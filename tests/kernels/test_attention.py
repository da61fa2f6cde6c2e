"""Attention's kernels, simulated, and the operator that torch knows."""

import math
from functools import cache
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.kernels.attention_cases import CHECKS, D, Forward, any_length, losses_of_an_encoder
from tutorlib.kernels.attention import hopper_backward, launch
from tutorlib.kernels.attention.hopper import AttentionConfig, make_attention
from tutorlib.kernels.attention.operator import (
    attention,
    left_to_torch,
    scaled_dot_product_attention,
    scores,
    why_not_fused,
)
from tutorlib.simulate.ptx import Report
from tutorlib.simulate.ptx.languages.cute import Traced, compile_with_lines, simulate_host
from tutorlib.simulate.stand_in.tiles import launches_interpreted


class Case(NamedTuple):
    config: AttentionConfig
    queries: int
    keys: int
    kv_heads: int = 2  # for two of Q
    head_dim: int = 64
    splits: int = 1


NO_LEVERS = {"pingpong": False, "overlap": False, "few_masks": False, "longest_first": False}
CASES = {
    "head_dim 64": Case(AttentionConfig(64, tile_n=64), 128, 192),
    "causal, two heads share K and V": Case(AttentionConfig(64, tile_n=64, causal=True), 200, 200, 1),
    "edges": Case(AttentionConfig(128, tile_n=176), 100, 500, head_dim=128),
    "one query": Case(AttentionConfig(64, tile_n=64), 1, 17),
    "more queries than keys": Case(AttentionConfig(64, tile_n=64, causal=True), 130, 70),
    "no overlap": Case(AttentionConfig(128, causal=True, overlap=False), 300, 300, head_dim=128),
    "three consumers": Case(AttentionConfig(64, 192, causal=True, pingpong=False), 300, 300),
    "no levers": Case(AttentionConfig(64, tile_n=64, causal=True, **NO_LEVERS), 200, 200),
    "persistent": Case(AttentionConfig(64, tile_n=64, persistent=True), 300, 130),
    "persistent, causal": Case(AttentionConfig(64, tile_n=64, causal=True, persistent=True), 500, 500, 1),
    "persistent, three consumers": Case(AttentionConfig(64, 192, pingpong=False, persistent=True), 400, 200),
    "persistent, no overlap": Case(
        AttentionConfig(128, causal=True, overlap=False, persistent=True), 300, 300, head_dim=128
    ),
    "one consumer, keys in three runs": Case(launch.attention_configs(64, False)[0], 20, 700, 1, splits=3),
    "keys in two runs of blocks of their own": Case(AttentionConfig(64, tile_n=64), 140, 200, splits=2),
    "rows padded to 128": Case(launch.attention_configs(96, False)[1], 140, 300, head_dim=96),
    "head_dim 256": Case(launch.attention_configs(256, True)[1], 140, 200, head_dim=256),
}


@cache
def compiled(config: AttentionConfig) -> Traced:
    from cutlass.cute.runtime import make_fake_stream

    return compile_with_lines(make_attention(config), [*launch.attention_fakes(config), make_fake_stream()], "sm_90a")


def simulate(
    config: AttentionConfig, q: Tensor, k: Tensor, v: Tensor, splits: int = 1
) -> tuple[Tensor, Tensor, Report]:
    """o and lse of each run of keys. A persistent kernel runs as on 2 SMs, and has to leave its counter at 0."""
    import cuda.bindings.driver as cuda
    from cutlass import Float32, Int32
    from cutlass.cute.runtime import from_dlpack

    o = torch.full_like(q, torch.nan).repeat(splits, 1, 1, 1)
    lse = torch.full(o.shape[:3], torch.nan)
    tensors = {"q": q, "k": k, "v": v, "o": o, "lse": lse}
    if config.persistent:
        tensors["counter"] = torch.zeros(1, dtype=torch.int32)

    given = (from_dlpack(x, assumed_align=16 if x.dtype == torch.bfloat16 else 4) for x in tensors.values())
    dynamic = [x.mark_layout_dynamic(leading_dim=len(x.shape) - 1) for x in given]
    *of_head_dim, counter = [*dynamic, None][:6]
    arguments = [*of_head_dim, Float32(q.shape[3] ** -0.5), counter, Int32(2), cuda.CUstream(0)]
    (report,) = simulate_host(compiled(config), tensors, arguments)
    if config.persistent:
        assert tensors["counter"] == 0
    return o, lse, report


def inputs(queries: int, keys: int, kv_heads: int, d: int, heads: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Slices of one packed tensor if there are as many keys as queries: (batch, tokens, 3, heads, d)."""
    generator = torch.Generator().manual_seed(queries)
    if queries == keys and kv_heads == heads:
        return torch.randn(1, queries, 3, heads, d, generator=generator).bfloat16().permute(2, 0, 3, 1, 4).unbind(0)
    shapes = (heads, queries), (kv_heads, keys), (kv_heads, keys)
    return tuple(torch.randn(1, h, n, d, generator=generator).bfloat16() for h, n in shapes)


@pytest.mark.parametrize("name", CASES)
def test_equals_torch_and_nothing_is_reported(name):
    config, *sizes, splits = CASES[name]
    q, k, v = inputs(*sizes)
    o, lse, report = simulate(config, q, k, v, splits)
    s = scores(q.double(), k.double(), q.shape[3] ** -0.5, config.causal)
    want = s.softmax(-1) @ v.double().repeat_interleave(q.shape[1] // k.shape[1], 1)
    logs = lse.double() * math.log(2)
    together = (o.double() * logs.softmax(0)[..., None]).sum(0, keepdim=True)
    torch.testing.assert_close(together, want, rtol=2**-7, atol=2**-7)
    torch.testing.assert_close(logs.logsumexp(0, keepdim=True), s.logsumexp(-1), rtol=1e-5, atol=1e-5)
    assert not report.findings


@pytest.fixture(params=[False, True], ids=["a block for each tile", "persistent"])
def forward(request) -> Forward:
    def call(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
        config = AttentionConfig(D, tile_n=64, causal=causal, persistent=request.param)
        o, lse, report = simulate(config, q, k, v)
        assert not report.findings
        return o, lse

    return call


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("check", CHECKS)
def test_it_is_right_in_special_cases(forward, check, causal):
    check(forward, causal, "cpu", 130)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [1, 17, 127, pytest.param(1025, marks=pytest.mark.long)])
def test_any_length_is_right(forward, tokens, causal):
    any_length(forward, causal, "cpu", tokens)


def test_ping_pong_is_for_two_consumers():
    with pytest.raises(ValueError, match="tile_m=192 has 3: pass pingpong=False"):
        AttentionConfig(tile_m=192)


def operator_inputs(dtype=torch.float64, kv_heads=2, d=64):
    q = torch.randn(2, 4, 9, d, dtype=dtype, requires_grad=True)
    return q, *(torch.randn(2, kv_heads, 11, d, dtype=dtype, requires_grad=True) for _ in "kv")


@pytest.mark.parametrize("causal", [False, True])
def test_results_and_gradients_equal_torch(causal):
    operands = operator_inputs()
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
    found = torch.library.opcheck(attention, (*operator_inputs(torch.float32), 0.125, True))
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.parametrize(
    "keywords",
    [{"dropout_p": 0.5}, {"attn_mask": torch.ones(9, 11, dtype=torch.bool)}, {"scale": 0.0}, {"scale": -1.0}],
)
def test_torch_computes_what_the_kernel_cannot(keywords):
    before, operands = left_to_torch.total(), operator_inputs()
    torch.manual_seed(0)
    got = scaled_dot_product_attention(*operands, enable_gqa=True, **keywords)
    torch.manual_seed(0)
    torch.testing.assert_close(got, functional.scaled_dot_product_attention(*operands, enable_gqa=True, **keywords))
    assert left_to_torch.total() == before + 1


def test_gradients_of_wide_heads_are_torchs():
    wide = operator_inputs(kv_heads=4, d=136)
    assert why_not_fused(*wide, None, 0.0, None).startswith("gradients of heads wider")
    with torch.no_grad():
        assert not why_not_fused(*wide, None, 0.0, None)


@pytest.mark.parametrize(("kv_heads", "keywords"), [(2, {}), (3, {"enable_gqa": True})])
def test_heads_that_do_not_fit_are_refused(kv_heads, keywords):
    with pytest.raises(ValueError, match="heads of Q"):
        scaled_dot_product_attention(*operator_inputs(kv_heads=kv_heads), **keywords)


def test_torch_traces_it_as_one_graph():
    operands = operator_inputs(torch.float32)
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


SCALE = 0.125


def random(*shape):
    return torch.randn(*shape).bfloat16()


def by_tiles(q, k, v, scale, causal, **options):
    o, lse = torch.full_like(q, torch.nan), torch.full(q.shape[:3], torch.nan)
    with launches_interpreted() as launched:
        launch.forward_by_tiles(o, lse, q, k, v, scale, causal, **options)
    assert not [finding for one in launched for finding in one.findings]
    return o, lse


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("check", CHECKS)
def test_cutiles_is_right_in_special_cases(check, causal):
    check(by_tiles, causal, "cpu", 150)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [1, 17, 127, pytest.param(4097, marks=pytest.mark.long)])
def test_cutiles_is_right_for_any_length(tokens, causal):
    any_length(by_tiles, causal, "cpu", tokens)


@pytest.fixture
def simulated_backward(monkeypatch):
    """The Hopper kernel's launches are simulated, and must have no finding."""
    import cuda.bindings.driver as cuda
    from cutlass import Float32
    from cutlass.cute.runtime import from_dlpack, make_fake_stream

    @cache
    def traced(config):
        fakes = [*hopper_backward.backward_fakes(), make_fake_stream()]
        return compile_with_lines(hopper_backward.make_backward(config), fakes, "sm_90a")

    def compiled(config):
        def launched(*arguments):
            *tensors, scale = arguments
            names = ("q", "k", "v", "do", "dk", "dv", "dq", "logs", "delta")
            dynamic = [from_dlpack(x, assumed_align=16).mark_layout_dynamic(leading_dim=x.ndim - 1) for x in tensors]
            named = dict(zip(names, tensors, strict=True))
            (report,) = simulate_host(traced(config), named, [*dynamic, Float32(scale), cuda.CUstream(0)])
            assert not report.findings

        return launched

    monkeypatch.setattr(hopper_backward, "compiled_backward", compiled)


@pytest.mark.parametrize(
    ("batch", "queries", "keys", "kv_heads", "d", "causal"),
    [(1, 200, 150, 1, 64, False), (3, 130, 130, 1, 128, True), (1, 70, 200, 2, 96, False)],
)
def test_the_hopper_backward_pass_equals_torch(
    simulated_backward, monkeypatch, batch, queries, keys, kv_heads, d, causal
):
    torch.manual_seed(0)
    monkeypatch.setattr(hopper_backward, "L2", 2 * 8 * d * queries)  # of the causal one: two K heads at once, then one
    q, do, (k, v) = random(batch, 2, queries, d), random(batch, 2, queries, d), random(2, batch, kv_heads, keys, d)
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    o, lse = attention(*wide, d**-0.5, causal)
    want = torch.autograd.grad(o, wide, do.double())
    got = [torch.full_like(x, torch.nan) for x in (q, k, v)]
    with launches_interpreted() as launched:
        hopper_backward.backward_into(*got, do, q, k, v, o.detach().bfloat16(), lse, d**-0.5, causal)
    assert not [finding for one in launched for finding in one.findings]
    for ours, right in zip(got, want, strict=True):
        torch.testing.assert_close(ours.double(), right, rtol=2**-6, atol=2**-6)


def test_a_row_that_sees_nothing_has_no_gradient(simulated_backward):
    """Its scores overflow to -inf in fp32."""
    q, k, v, do = random(4, 1, 1, 20, D).abs().unbind(0)
    k = -(k + 1)
    q[0, 0, 3] = 2.0**126
    o, lse = by_tiles(q, k, v, SCALE, False)
    dq, dk, dv = (torch.full_like(x, torch.nan) for x in (q, k, v))
    with launches_interpreted():
        hopper_backward.backward_into(dq, dk, dv, do, q, k, v, o, lse, SCALE, False)
    assert (dq[0, 0, 3] == 0).all()
    assert all(x.isfinite().all() for x in (dk, dv))


@pytest.mark.parametrize("keys", [1, 63, 1000])
@pytest.mark.parametrize("kv_heads", [4, 1])
def test_the_launched_decoding_step_equals_torch(keys, kv_heads):
    q, (k, v) = random(2, 4, 1, D), random(2, 2, kv_heads, keys, D)
    o, lse = torch.full_like(q, torch.nan), torch.empty(2, 4, 1)
    choice = launch.choose((2, kv_heads, 4 // kv_heads, D), keys, False, 132)
    with launches_interpreted() as launched:
        launch.forward_into(o, lse, q, k, v, SCALE, False, choice)
    torch.testing.assert_close(lse, attention(q, k, v, SCALE, False)[1], rtol=2**-10, atol=2**-10)
    want = functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), enable_gqa=True)
    torch.testing.assert_close(o.double(), want, rtol=2**-7, atol=2**-7)
    assert not [finding for one in launched for finding in one.findings]


@pytest.mark.parametrize("keys", [1, 64, 100_000])
@pytest.mark.parametrize("heads", [1, 8, 1000])
def test_decoding_takes_one_wave(keys, heads):
    tile = launch.Tile(16, 64, occupancy=2)
    assert launch.decode_choice(heads, keys, 132, tile).splits <= max(264 // heads, 1)


@pytest.mark.parametrize("blocks", [1, 7, 64, 1563])
def test_each_run_has_a_block_of_keys(blocks):
    for splits in launch.runs_of(blocks):
        assert (splits - 1) * -(-blocks // splits) < blocks
        assert splits <= launch.MOST_RUNS


@pytest.mark.parametrize(
    ("q_shape", "keys", "tile_m", "split"),
    [
        ((1, 8, 4, 64), 1500, 16, True),
        ((1, 8, 4, 128), 32768, 64, True),  # one query of 4 heads that share 8 of K and V
        ((64, 8, 4, 128), 2048, 64, False),
        ((1, 16, 333, 128), 4096, 64, False),
        ((4, 16, 333, 128), 4096, 128, False),
        ((64, 12, 197, 64), 197, 128, False),
        ((4, 16, 4096, 256), 4096, 128, False),
    ],
)
def test_tiles_that_would_leave_sms_idle_split_the_keys(q_shape, keys, tile_m, split):
    config, splits = launch.choose(q_shape, keys, False, 132)
    assert (config.tm if isinstance(config, launch.Tile) else config.tile_m) == tile_m
    assert (splits > 1) == split
