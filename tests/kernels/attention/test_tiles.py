"""The cuTile kernels in the interpreter, beside torch's attention and its gradients in fp64."""

import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from tutorlib.kernels.attention.launch import LOG2_E
from tutorlib.kernels.attention.tiles import (
    ROWS,
    backward_keys,
    backward_queries,
    decode_add,
    decode_parts,
    delta_rows,
    tile_forward,
)
from tutorlib.simulate.cutile import run

D, SCALE = 64, 0.125
CASES = [  # heads per head of K and V, queries, keys, causal, tile
    (1, 100, 100, False, (32, 32)),
    (2, 70, 70, True, (32, 16)),
    (1, 17, 130, False, (32, 64)),
    (2, 40, 24, True, (16, 32)),
]


def random(*shape):
    return torch.randn(*shape).bfloat16()


@pytest.mark.parametrize(("group", "queries", "keys", "causal", "tile"), CASES)
def test_forward_and_backward_equal_torch(group, queries, keys, causal, tile):
    torch.manual_seed(0)
    tm, tn = tile
    q, do, (k, v) = random(2, 4, queries, D), random(2, 4, queries, D), random(2, 2, 4 // group, keys, D)
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    want = scaled_dot_product_attention(*wide, is_causal=causal, enable_gqa=True)
    o, lse, delta = torch.full_like(q, torch.nan), torch.zeros(2, 4, queries), torch.zeros(2, 4, queries)
    of_queries, of_keys = (-(-queries // tm), 4, 2), (-(-keys // tn), 4 // group, 2)
    shared = group, causal, tm, tn, D
    reports = [run(tile_forward, of_queries, (q, k, v, o, lse, SCALE * LOG2_E, *shared))]
    torch.testing.assert_close(o.double(), want, rtol=2**-7, atol=2**-7)

    gradients = [torch.full_like(x, torch.nan) for x in (q, k, v)]
    dq, dk, dv = gradients
    reports += [
        run(delta_rows, of_queries, (o, do, delta, tm, D)),
        run(backward_keys, of_keys, (q, k, v, do, lse, delta, dk, dv, SCALE, *shared)),
        run(backward_queries, of_queries, (q, k, v, do, lse, delta, dq, SCALE, *shared)),
    ]
    for got, exact in zip(gradients, torch.autograd.grad(want, wide, do.double()), strict=True):
        torch.testing.assert_close(got.double(), exact, rtol=2**-6, atol=2**-6)
    assert not [finding for report in reports for finding in report.findings]


@pytest.mark.parametrize(("keys", "run_of"), [(300, 2), (64, 1), (1, 1)])
def test_decoding_equals_torch(keys, run_of):
    group, tn = 4, 64
    q, (k, v) = random(2, 2, group, D), random(2, 2, 2, keys, D)
    splits = math.ceil(keys / tn / run_of)
    parts, lse, o = torch.zeros(2, 2, splits, ROWS, D), torch.zeros(2, 2, splits, ROWS), torch.full_like(q, torch.nan)
    reports = [
        run(decode_parts, (splits, 2, 2), (q, k, v, parts, lse, SCALE * LOG2_E, group, run_of, tn, D)),
        run(decode_add, (group, 2, 2), (parts, lse, o, 4, ROWS, D)),
    ]
    want = scaled_dot_product_attention(q.double(), k.double(), v.double())
    torch.testing.assert_close(o.double(), want, rtol=2**-7, atol=2**-7)
    assert not [finding for report in reports for finding in report.findings]
