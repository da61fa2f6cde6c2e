"""The Hopper kernel on the simulator, beside torch's attention in fp64."""

import math
from functools import cache

import pytest
import torch
from torch import Tensor

from tests.kernels.attention.cases import CHECKS, D, Forward, any_length
from tutorlib.kernels.attention import launch
from tutorlib.kernels.attention.hopper import AttentionConfig, make_attention
from tutorlib.kernels.attention.operator import scores
from tutorlib.simulate.ptx import Report
from tutorlib.simulate.ptx.languages.cute import Traced, compile_for, simulate_call

CASES = {  # configuration, queries, keys
    "head_dim 64": (AttentionConfig(64, tile_n=64), 128, 192),
    "causal, two heads share K and V": (AttentionConfig(64, tile_n=64, causal=True, group=2), 200, 200),
    "edges": (AttentionConfig(128, tile_n=176), 100, 500),
    "one query": (AttentionConfig(64, tile_n=64), 1, 17),
    "more queries than keys": (AttentionConfig(64, tile_n=64, causal=True), 130, 70),
    "no overlap": (AttentionConfig(128, causal=True, overlap=False), 300, 300),
    "three consumers": (AttentionConfig(64, 192, causal=True, pingpong=False), 300, 300),
    "no levers": (
        AttentionConfig(
            64, tile_n=64, causal=True, pingpong=False, overlap=False, few_masks=False, longest_first=False
        ),
        200,
        200,
    ),
    "persistent": (AttentionConfig(64, tile_n=64, persistent=True), 300, 130),
    "persistent, causal": (AttentionConfig(64, tile_n=64, causal=True, group=2, persistent=True), 500, 500),
    "persistent, three consumers": (AttentionConfig(64, 192, pingpong=False, persistent=True), 400, 200),
    "persistent, no overlap": (AttentionConfig(128, causal=True, overlap=False, persistent=True), 300, 300),
}


@cache
def compiled(config: AttentionConfig) -> Traced:
    from cutlass.cute.runtime import make_fake_stream

    return compile_for(make_attention(config), [*launch.attention_fakes(config), make_fake_stream()], "sm_90a")


def simulate(config: AttentionConfig, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Report]:
    """A persistent kernel runs as on 2 SMs, and has to leave its counter at 0."""
    import cuda.bindings.driver as cuda
    from cutlass import Float32, Int32

    o, lse = torch.full_like(q, torch.nan), torch.full(q.shape[:3], torch.nan)
    tensors = {"q": q, "k": k, "v": v, "o": o, "lse": lse}
    if config.persistent:
        tensors["counter"] = torch.zeros(1, dtype=torch.int32)

    *of_head_dim, counter = [*map(launch.as_cute, tensors.values()), None][:6]
    arguments = [*of_head_dim, Float32(config.head_dim**-0.5), counter, Int32(2), cuda.CUstream(0)]
    (report,) = simulate_call(compiled(config), tensors, arguments)
    if config.persistent:
        assert tensors["counter"] == 0
    return o, lse, report


def inputs(config: AttentionConfig, queries: int, keys: int, heads: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Slices of one packed tensor if there are as many keys as queries: (batch, tokens, 3, heads, head_dim)."""
    generator, d = torch.Generator().manual_seed(queries), config.head_dim
    kv_heads = heads // config.group
    if queries == keys and config.group == 1:
        return torch.randn(1, queries, 3, heads, d, generator=generator).bfloat16().permute(2, 0, 3, 1, 4).unbind(0)
    shapes = (heads, queries), (kv_heads, keys), (kv_heads, keys)
    return tuple(torch.randn(1, h, n, d, generator=generator).bfloat16() for h, n in shapes)


@pytest.mark.parametrize("name", CASES)
def test_equals_torch_and_nothing_is_reported(name):
    config, queries, keys = CASES[name]
    q, k, v = inputs(config, queries, keys)
    o, lse, report = simulate(config, q, k, v)
    s = scores(q.double(), k.double(), config.head_dim**-0.5, config.causal)
    want = s.softmax(-1) @ v.double().repeat_interleave(config.group, 1)
    torch.testing.assert_close(o.double(), want, rtol=2**-7, atol=2**-7)
    torch.testing.assert_close(lse.double(), s.logsumexp(-1) / math.log(2), rtol=1e-5, atol=1e-5)
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
