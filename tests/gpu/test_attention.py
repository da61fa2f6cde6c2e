"""Notebooks 22 and 23's attention on a Hopper GPU: right in special cases and at real sizes, and inside models."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.nn import functional

from tests.kernels.attention_cases import CHECKS, D, Forward, any_length, normal, packed
from tutorlib.checking.running import find_fault
from tutorlib.instruments.table import forward_by
from tutorlib.kernels.attention import launch
from tutorlib.kernels.attention.operator import attention, scaled_dot_product_attention
from tutorlib.problems.attention import attention_problem

pytestmark = pytest.mark.gpu("90a")
SHAPES = (  # batch, heads, heads of K and V, queries, keys, head_dim
    (2, 8, 8, 4096, 4096, 128),
    (2, 16, 2, 4097, 4097, 128),
    (1, 16, 16, 2048, 2048, 64),
    (3, 8, 1, 1000, 1500, 64),
)
CLOSE = {"rtol": 2**-6, "atol": 2**-6}


def into(by, q, k, v, scale, causal):
    o, lse = torch.full_like(q, torch.nan), torch.full(q.shape[:3], torch.nan, device=q.device)
    by(o, lse, q, k, v, scale, causal)
    return o, lse


def the_other_into(o, lse, q, k, v, scale, causal):
    config = launch.attention_configs(q.shape[3], causal)[-1]
    launch.configured_into(replace(config, persistent=not config.persistent), o, lse, q, k, v, scale)


FORWARD = {
    "CuTe": launch.forward_into,
    "the other of persistent and not": the_other_into,
    "cuTile": launch.forward_by_tiles,
}


@pytest.fixture(params=FORWARD.values(), ids=FORWARD)
def forward(request) -> Forward:
    return partial(into, request.param)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("check", CHECKS)
def test_it_is_right_in_special_cases(forward, check, causal):
    check(forward, causal, "cuda", 2049)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [1, 17, 127, 4097])
def test_any_length_is_right(forward, tokens, causal):
    any_length(forward, causal, "cuda", tokens)


def test_persistent_kernels_on_several_streams_and_in_a_graph_draw_from_counters_of_their_own():
    operands = packed(4, 1025, heads=40, device="cuda")
    config = launch.attention_configs(D, True)[1]
    forward = partial(into, lambda *tensors: launch.configured_into(config, *tensors[:-1]))
    want, _ = forward(*operands, D**-0.5, True)
    streams, results = [torch.cuda.Stream() for _ in range(3)], []
    torch.cuda.synchronize()
    for stream in 4 * streams:
        with torch.cuda.stream(stream):
            results.append(forward(*operands, D**-0.5, True)[0])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # the first launch on the stream that records it
        results.append(forward(*operands, D**-0.5, True)[0])
    for _ in range(2):
        results[-1].zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert all(torch.equal(result, want) for result in results)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("by", FORWARD.values(), ids=FORWARD)
def test_it_is_right_at_real_sizes(by, causal, shape):
    assert find_fault(attention_problem(causal), forward_by("", by, causal).launcher, shape) is None


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("kv_heads", "d"), [(8, 128), (1, 128), (8, 64), (2, 96), (4, 256)])
@pytest.mark.parametrize("tokens", [17, 1025])
def test_gradients_equal_torch_in_fp64_and_those_of_k_and_v_are_the_same_twice(tokens, kv_heads, d, causal):
    q, do = normal(2, 8, tokens, d, device="cuda"), normal(1, 2, 8, tokens, d, device="cuda")[0]
    k, v = normal(2, 2, kv_heads, tokens, d, device="cuda").unbind(0)
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        o = functional.scaled_dot_product_attention(*wide, is_causal=causal, enable_gqa=True)
    want = torch.autograd.grad(o, wide, do.double())
    ours = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    got, again = (
        torch.autograd.grad(scaled_dot_product_attention(*ours, is_causal=causal, enable_gqa=True), ours, do)
        for _ in "12"
    )
    for one, right in zip(got, want, strict=True):
        torch.testing.assert_close(one.double(), right, rtol=2**-6, atol=2**-7 * float(right.abs().max()))
    assert all(torch.equal(one, twice) for one, twice in zip(got[1:], again[1:], strict=True))


@pytest.mark.parametrize(("batch", "kv_heads", "keys"), [(1, 8, 100_000), (16, 8, 4096), (3, 1, 4097), (1, 1, 1)])
@pytest.mark.parametrize(("group", "d"), [(1, 128), (8, 128), (8, 64)])
def test_decoding_equals_torch_in_fp64(batch, kv_heads, keys, group, d):
    q = normal(batch, kv_heads * group, 1, d, device="cuda")
    k, v = normal(2, batch, kv_heads, keys, d, device="cuda").unbind(0)
    o, lse = torch.full_like(q, torch.nan), torch.empty(q.shape[:3], device="cuda")
    sms, tile = torch.cuda.get_device_properties(0).multi_processor_count, launch.tile_of("decode_parts", d, False)
    choice = launch.decode_choice(batch * kv_heads, keys, sms, tile)
    launch.forward_into(o, lse, q, k, v, d**-0.5, False, choice)
    grouped = q.view(batch, kv_heads, group, d).double()
    want = (grouped @ k.double().mT * d**-0.5).softmax(-1) @ v.double()
    torch.testing.assert_close(o.view_as(want).double(), want, **CLOSE)


def test_a_tensor_that_tma_cannot_read_is_copied():
    shape = (1, 2, 100, 64)
    q, k, v = (normal(1, 2 * 100 * 64 + 1, device="cuda")[0, n:][: 2 * 100 * 64].view(shape) for n in (1, 0, 1))
    assert q.data_ptr() % 16
    torch.testing.assert_close(attention(q, k, v, 0.125, False), attention(q.clone(), k, v.clone(), 0.125, False))
    results = []
    for operands in ((q, k, v), (q.clone(), k, v.clone())):
        leaves = [x.detach().requires_grad_() for x in operands]
        results.append(torch.autograd.grad(attention(*leaves, 0.125, False)[0].float().square().sum(), leaves))
    torch.testing.assert_close(*results, **CLOSE)
