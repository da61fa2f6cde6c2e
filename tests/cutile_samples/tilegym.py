"""NVIDIA/TileGym: the kernels of its cuTile operations, forward, and backward where one launch is one gradient."""

import math

import torch
from torch import randn
from torch.nn import functional

from tests.cutile_samples.references import attention, causal, tiles
from tests.cutile_samples.table import BF16, FP16, TF32, TILEGYM, Case, sample

OPS = "tilegym.ops.cutile"
PARTLY = frozenset({"unwritten"})  # a part of an output is another kernel's, or stays as it was


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype)


@sample(TILEGYM, f"{OPS}.softmax", way=["gather", "whole_row", "tma", "chunked"])
def softmax(module, way):
    rows, columns = 12, 200
    kernel, grid, sizes = {
        "gather": (module._softmax_kernel, (4,), (rows, 256, columns)),
        "whole_row": (module._softmax_kernel_multi_wave_full_row_reg_cached_ldg, (rows,), (columns, 256)),
        "tma": (module._softmax_kernel_tma, (4,), (rows, columns, 256)),
        "chunked": (module._softmax_kernel_chunked, (4,), (rows, columns, 64)),
    }[way]
    x = randn(rows, columns) * 3
    return Case(kernel, grid, (zeros(rows, columns), x, *sizes), {0: x.softmax(1)})


def matrices(m, n, k, dtype, transposed_a=False, transposed_b=False):
    a, b = randn(m, k).to(dtype), randn(k, n).to(dtype)
    stored_a, stored_b = a.T.contiguous() if transposed_a else a, b.T.contiguous() if transposed_b else b
    return stored_a, stored_b, torch.zeros(m, n, dtype=dtype), a.double() @ b.double()


@sample(TILEGYM, f"{OPS}.matmul", dtype=[torch.bfloat16, torch.float32])
def matmul(module, dtype):
    a, b, c, want = matrices(152, 88, 200, dtype)
    grid = (tiles(152, 32) * tiles(88, 32),)
    tolerance = BF16 if dtype == torch.bfloat16 else TF32
    return Case(module._matmul_kernel, grid, (a, b, c, 32, 32, 64), {2: want}, tolerance)


@sample(TILEGYM, f"{OPS}.matmul", transposed=[False, True])
def persistent_matmul(module, transposed):
    a, b, c, want = matrices(152, 88, 200, torch.float16, transposed, transposed)
    args = (a, b, c, 152, 88, 200, 32, 32, 64, transposed, transposed, 8, 3)
    return Case(module._static_persistent_matmul_kernel, (4,), args, {2: want}, FP16)


@sample(TILEGYM, f"{OPS}.bmm", persistent=[False, True])
def batch_matmul(module, persistent):
    a, b, c = randn(3, 80, 96).half(), randn(3, 96, 48).half(), zeros(3, 80, 48, dtype=torch.float16)
    want = {2: a.double() @ b.double()}
    if not persistent:
        return Case(module._bmm_kernel, (3, 2, 3), (a, b, c, 32, 32, 32), want, FP16)
    args = (a, b.mT.contiguous(), c, 3, 80, 48, 96, 32, 32, 32, 8, False, True)
    return Case(module._static_persistent_bmm_kernel, (4,), args, want, FP16)


@sample(TILEGYM, f"{OPS}.group_gemm", transposed_b=[False, True])
def group_gemm(module, transposed_b):
    shapes = [(64, 32, 96), (40, 56, 64), (96, 64, 32)]
    parts = (matrices(*shape, torch.float16, transposed_b=transposed_b) for shape in shapes)
    a, b, c, want = (list(part) for part in zip(*parts, strict=True))
    return Case(module._group_gemm_kernel, (4,), (a, b, c, 32, 32, 32, 4, transposed_b), {2: want}, FP16)


def rms_inputs(rows, columns):
    """x, w, 1/rms of each row, and what is to come out with weights w + 0.5."""
    x, w = randn(rows, columns), randn(columns)
    rstd = (x.square().mean(1) + 1e-6).rsqrt()
    return x, w, rstd, x * rstd[:, None] * (w + 0.5)


@sample(TILEGYM, f"{OPS}.rms_norm", way=["whole_row", "gather", "persistent"])
def rms_norm(module, way):
    x, w, rstd, want = rms_inputs(12, 200)
    y, r = torch.zeros_like(x), zeros(12)
    if way == "persistent":
        args = (x, y, w, r, 4, 256, 1e-6, 0.5)
        return Case(module._rms_norm_kernel_static_persistent, (2,), args, {1: want, 3: rstd})
    kernel = module._rms_norm_kernel_multi_wave_cached if way == "whole_row" else module._rms_norm_kernel_gather
    args = (x, w, y, r, 200, 1e-6, 0.5, 256 if way == "whole_row" else 64)
    return Case(kernel, (12,), args, {2: want, 3: rstd})


@sample(TILEGYM, f"{OPS}.rms_norm")
def rms_norm_backward(module):
    """Each of 2 blocks sums the gradient of w over its rows: tiles of 4 rows, taken in turns."""
    x, w, rstd, _ = rms_inputs(16, 200)
    dy = randn(16, 200)
    x.requires_grad_()
    functional.rms_norm(x, (200,), w, 1e-6).backward(dy)
    dw = (dy * x.detach() * rstd[:, None]).reshape(2, 2, 4, 200).sum((0, 2))
    args = (zeros(16, 200), dy, x.detach(), w, rstd, zeros(2, 200), 4, 256)
    return Case(module._rms_bwd_kernel, (2,), args, {0: x.grad, 5: dw})


@sample(TILEGYM, f"{OPS}.layer_norm_legacy")
def layer_norm(module):
    x, w, b = randn(12, 200), randn(200), randn(200)
    y, mean, rstd = torch.native_layer_norm(x, (200,), w + 1, b, 1e-5)
    args = (x, torch.zeros_like(x), w, b, zeros(12), zeros(12), 200, 1e-5, 1.0, 64)
    return Case(module._layer_norm_fwd_kernel, (12,), args, {1: y, 4: mean[:, 0], 5: rstd[:, 0]})


@sample(TILEGYM, f"{OPS}.layer_norm_legacy")
def persistent_layer_norm(module):
    x, w, b = randn(16, 200).bfloat16(), randn(200), randn(200)
    y, mean, rstd = torch.native_layer_norm(x.float(), (200,), w, b, 1e-5)
    args = (x, torch.zeros_like(x), w, b, zeros(16), zeros(16), 16, 200, 1e-5, 200, 200, 0, 1, 4, 256, 1, 2)
    want = {1: y, 4: mean[:, 0], 5: rstd[:, 0]}
    return Case(module._persistent_layer_norm_fwd_kernel, (2,), args, want, BF16)


def rotated(x, cos, sin):
    """Rotary positions as Llama's: the first half of a head with the second."""
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


@sample(TILEGYM, f"{OPS}.rope")
def rope(module):
    """In place. q: (batch, heads, positions, d)."""
    q, k = randn(2, 4, 10, 32), randn(2, 2, 10, 32)
    angle = torch.rand(1, 10, 16)
    cos, sin = angle.cos(), angle.sin()
    args = (q, k, cos, sin, 1, 10, 4, 2, 16)
    return Case(module._rope_kernel, (20,), args, {0: rotated(q, cos, sin), 1: rotated(k, cos, sin)})


def gated(gate, up, dy):
    """silu(gate) · up and the gradients of both."""
    gate, up = gate.clone().requires_grad_(), up.clone().requires_grad_()
    y = functional.silu(gate) * up
    y.backward(dy)
    return y.detach(), gate.grad, up.grad


@sample(TILEGYM, f"{OPS}.silu_and_mul", backward=[False, True])
def silu_and_mul(module, backward):
    x, dy = randn(10, 192), randn(10, 96)
    y, da, db = gated(*x.chunk(2, 1), dy)
    if not backward:
        return Case(module._silu_and_mul_kernel_row_wise, (10,), (x, zeros(10, 96), 128, 96), {1: y})
    args = (dy, x, zeros(10, 96), zeros(10, 96), 128, 96)
    return Case(module._silu_and_mul_backward_kernel_row_wise, (10,), args, {2: da, 3: db})


@sample(TILEGYM, f"{OPS}.swiglu", backward=[False, True])
def swiglu(module, backward):
    a, b, dy = randn(10, 96), randn(10, 96), randn(10, 96)
    y, da, db = gated(a, b, dy)
    if not backward:
        return Case(module._swiglu_forward_kernel, (10,), (a, b, zeros(10, 96), 128), {2: y})
    args = (dy, a, b, zeros(10, 96), zeros(10, 96), 32)
    return Case(module._swiglu_backward_kernel, (10, 3), args, {3: da, 4: db})


@sample(TILEGYM, f"{OPS}.activation.relu")
def relu(module):
    x = randn(1000).half()
    return Case(module._relu_fwd_kernel, (8,), (x, torch.zeros_like(x), 1000, 128), {1: x.relu()}, tolerance=0)


@sample(TILEGYM, f"{OPS}.activation.gelu", approximate=[0, 1])
def gelu(module, approximate):
    """Both ways go by tanh, though only one says so."""
    x = randn(1000)
    want = functional.gelu(x, approximate="tanh")
    return Case(module._gelu_kernel, (8,), (zeros(1000), x, 1000, 128, approximate), {0: want})


@sample(TILEGYM, f"{OPS}.activation.geglu")
def geglu(module):
    x = randn(10, 192)
    left, right = x.chunk(2, 1)
    want = (left * functional.gelu(right, approximate="tanh")).reshape(-1)
    return Case(module._geglu_fwd_kernel, (8,), (zeros(960), x.reshape(-1), 96, 192, 96, 128, 1), {0: want})


@sample(TILEGYM, f"{OPS}.activation.geglu")
def geglu_backward(module):
    """The gradient of exact GELU, Φ(x) + x φ(x), but with Φ by tanh."""
    x, dy = randn(10, 192), randn(10, 96)
    left, right = x.chunk(2, 1)
    activated = functional.gelu(right, approximate="tanh")
    slope = activated / right + right * (-right.square() / 2).exp() / math.sqrt(2 * math.pi)
    want = torch.cat([dy * activated, left * dy * slope], 1).reshape(-1)
    args = (zeros(1920), dy.reshape(-1), x.reshape(-1), 96, 192, 96, 128, 1)
    return Case(module._geglu_bwd_kernel, (8,), args, {0: want})


@sample(TILEGYM, f"{OPS}.dropout", training=[False, True])
def dropout(module, training):
    """A number's place is its random number, after a hash in 32 bits that wrap."""
    x, seed, p = randn(1000), 42, 0.3
    bits = torch.arange(1000, dtype=torch.int32) * 1103515245 + seed
    for shift in (lambda h: h >> 16, lambda h: h << 8, lambda h: h >> 4):
        bits = bits ^ shift(bits)
    kept = (bits & 0x7FFFFFFF).float() / 0x7FFFFFFF > p
    want = torch.where(kept, x / (1 - p), 0) if training else x
    return Case(module._dropout_kernel, (8,), (x, zeros(1000), p, seed, 128, training), {1: want})


@sample(TILEGYM, f"{OPS}.moe", weighted=[0, 1])
def mixture_of_experts(module, weighted):
    """Rows sorted by expert, each expert's padded to whole tiles with a token that does not exist."""
    tokens, copies, experts, n, k, tile = 20, 2, 4, 48, 64, 16
    a, b = randn(tokens, k).half(), randn(experts, n, k).half()
    ids = torch.stack([torch.randperm(experts)[:copies] for _ in range(tokens)])
    weights = torch.rand(tokens * copies)
    rows = [(ids.reshape(-1) == expert).nonzero()[:, 0] for expert in range(experts)]
    padded = [functional.pad(row, (0, -len(row) % tile), value=tokens * copies) for row in rows]
    token_ids = torch.cat(padded).int()
    expert_ids = torch.arange(experts).repeat_interleave(torch.tensor([len(p) // tile for p in padded])).int()
    want = torch.einsum("tk,tcnk->tcn", a.float(), b.float()[ids]).reshape(-1, n)
    want = want * weights[:, None] if weighted else want
    c, none, total = zeros(tokens * copies, n, dtype=torch.float16), zeros(0).half(), torch.tensor([len(token_ids)])
    args = (a.reshape(-1), b, c, none, none, weights, token_ids, expert_ids, total.int(), n, k, len(token_ids))
    args += (tokens * copies, 0, 0, tile, 16, 32, 8, weighted, copies, 0, 0, 1, k)
    return Case(module._fused_moe_kernel, (tiles(len(token_ids), tile) * tiles(n, 16),), args, {2: want}, FP16)


def routing():
    """24 tokens' experts out of 4; how many of every 6 tokens went to each; where each one's tiles of 8 start."""
    ids = torch.randint(4, (24,), dtype=torch.int32)
    counts = functional.pad(functional.one_hot(ids.long(), 4).reshape(4, 6, 4).sum(1), (0, 0, 1, 0)).int()
    starts = functional.pad((-(-counts.sum(0) // 8) * 8).cumsum(0), (1, 0)).int()
    return ids, counts, starts


@sample(TILEGYM, f"{OPS}.moe_align_block")
def moe_align_counts(module):
    ids, counts, _ = routing()
    args = (ids, zeros(20).int(), 4, 24, 6)
    return Case(module._moe_align_block_size_stage1_kernel, (4,), args, {1: counts.view(-1)}, finds=PARTLY)


@sample(TILEGYM, f"{OPS}.moe_align_block")
def moe_align_sums(module):
    _, counts, _ = routing()
    want = counts.cumsum(0).view(-1)
    return Case(module._moe_align_block_size_stage2_kernel, (4,), (counts.view(-1), 4, 4), {0: want}, finds=PARTLY)


@sample(TILEGYM, f"{OPS}.moe_align_block")
def moe_align_starts(module):
    _, counts, starts = routing()
    sums = counts.cumsum(0).int()
    args = (zeros(1).int(), zeros(1).int(), sums.view(-1), zeros(5).int(), 4, 8)
    want = {0: starts[-1:], 1: sums[-1].max()[None], 3: starts}
    return Case(module._moe_align_block_size_stage3_kernel, (1,), args, want, finds=PARTLY)


@sample(TILEGYM, f"{OPS}.moe_align_block")
def moe_align_places(module):
    """Every token's number at its place in its expert's tiles, which are 24 where there is none."""
    ids, counts, starts = routing()
    blocks = int(starts[-1]) // 8
    places, experts = torch.full((int(starts[-1]),), 24), torch.full((blocks,), -1)
    for expert in range(4):
        tokens = (ids == expert).nonzero()[:, 0]
        places[starts[expert] : starts[expert] + len(tokens)] = tokens
        experts[starts[expert] // 8 : starts[expert + 1] // 8] = expert
    sums = counts.cumsum(0).int().view(-1)
    args = (ids, torch.full((len(places),), 24).int(), zeros(blocks).int(), sums, starts, 4, 8, 24, 6)
    return Case(module._moe_align_block_size_stage4_kernel, (4,), args, {1: places, 2: experts}, finds=PARTLY)


def heads(batch, queries, keys, d, q_heads=4, kv_heads=2):
    return tuple(randn(batch, h, n, d).half() for h, n in ((q_heads, queries), (kv_heads, keys), (kv_heads, keys)))


@sample(TILEGYM, f"{OPS}.attention", is_causal=[False, True])
def flash_attention(module, is_causal):
    q, k, v = heads(2, 64, 64, 16)
    want, _ = attention(q, k, v, 0.25, causal(64, 64) if is_causal else None)
    args = (q, k, v, torch.zeros_like(q), 0.25, 0, 16, 4, 32, 32, 2, is_causal, True)
    return Case(module._fmha_kernel, (2, 8), args, {3: want}, FP16)


@sample(TILEGYM, f"{OPS}.attention")
def flash_attention_for_training(module):
    q, k, v = heads(2, 64, 64, 16)
    want, lse = attention(q, k, v, 0.25, causal(64, 64))
    args = (q, k, v, torch.zeros_like(q), zeros(512), 0.25, 0, 16, 4, 2, 64, 32, 32, 2, True, True)
    return Case(module._fmha_fwd_kernel_with_lse, (2, 8), args, {3: want, 4: lse.reshape(-1)}, FP16)


def attention_gradients():
    """Inputs, what the forward pass leaves for the backward pass, and the gradients."""
    q, k, v = (t.float().requires_grad_() for t in heads(2, 64, 64, 16))
    out, lse = attention(q, k, v, 0.25, causal(64, 64))
    do = randn(2, 4, 64, 16)
    out.backward(do)
    delta = (out.detach() * do).sum(-1).reshape(-1)
    inputs = tuple(t.detach().half() for t in (q, k, v, do))
    return inputs, out.detach(), lse.detach().reshape(-1), delta, (q.grad, k.grad, v.grad)


@sample(TILEGYM, f"{OPS}.attention")
def flash_attention_backward_delta(module):
    (*_, do), out, _, _, _ = attention_gradients()
    out = out.half()
    want = (out.float() * do.float()).sum(-1).reshape(-1)
    return Case(module._fmha_bwd_preprocess_kernel, (2, 8), (out, do, zeros(512), 32, 16, 4, 64), {2: want})


@sample(TILEGYM, f"{OPS}.attention")
def flash_attention_backward_keys(module):
    (q, k, v, do), _, lse, delta, (_, dk, dv) = attention_gradients()
    outputs = torch.zeros_like(k), torch.zeros_like(v)
    args = (q, k, v, do, *outputs, lse, delta, 0.25, 16, 4, 2, 64, 32, 32, 2, True)
    return Case(module._fmha_bwd_dkdv_kernel, (2, 4), args, {4: dk, 5: dv}, FP16)


@sample(TILEGYM, f"{OPS}.attention")
def flash_attention_backward_queries(module):
    (q, k, v, do), _, lse, delta, (dq, _, _) = attention_gradients()
    args = (q, k, v, do, torch.zeros_like(q), lse, delta, 0.25, 16, 4, 64, 32, 32, 2, True)
    return Case(module._fmha_bwd_dq_kernel, (2, 8), args, {4: dq}, FP16)


@sample(TILEGYM, f"{OPS}.attention_sink", window=[0, 24])
def attention_with_sinks(module, window):
    """Each head's softmax has one more logit, whose value is 0."""
    q, k, v = heads(2, 64, 64, 16)
    sinks = randn(4)
    want, _ = attention(q, k, v, 0.25, causal(64, 64, window or None), sinks)
    args = (q, k, v, sinks, torch.zeros_like(q), zeros(1).int(), 0.25, 16, 4, 64, 32, 32, 2, window)
    return Case(module._attention_sink_kernel, (2, 8), args, {4: want}, FP16)


@sample(TILEGYM, f"{OPS}.gemma_attention", window=[0, 24])
def gemma_attention(module, window):
    """Logits are capped at ±2 by tanh; a window reaches so many keys back."""
    q, k, v = heads(2, 64, 64, 16)
    want, _ = attention(q, k, v, 0.25, causal(64, 64, window + 1 if window else None), cap=2.0)
    args = (q, k, v, torch.zeros_like(q), 0.25, 2, 4, 64, 64, 16, 32, 32, 2, 3, window, 2.0, True, True)
    return Case(module._gemma_fmha_kernel, (2, 8), args, {3: want}, FP16)


@sample(TILEGYM, f"{OPS}.experimental.swa_attention", window=[40, 64])
def sliding_window_attention(module, window):
    """Arrays of all heads' rows below each other.

    The windows reach into the first tile of keys for every query. Elsewhere the kernel takes exp2 of x·s - round(x·s)
    with x = -1e30: 0 where the product is rounded first, as here, but inf in a GPU's FMA, and the result is NaN.
    """
    q, k, v = heads(2, 64, 64, 16, 4, 4)
    want, _ = attention(q, k, v, 0.25, causal(64, 64, window))
    q, k, v, want = (t.reshape(-1, 16) for t in (q, k, v, want))
    args = (q, k, v, torch.zeros_like(q), 0.25, 64, window, 2, 2, 32, 32, 16, True)
    return Case(module._swa_fwd_kernel, (2, 8), args, {3: want}, FP16)


def latent(q_heads, kv_heads):
    """Queries, keys and values, and the parts of queries and keys that carry the position."""
    q, k, v = heads(2, 64, 64, 32, q_heads, kv_heads)
    return q, k, v, randn(2, q_heads, 64, 16).half(), randn(2, 1, 64, 16).half()


def with_positions(q, k, q_position, k_position):
    return torch.cat([q, q_position], -1), torch.cat([k, k_position.expand(-1, k.shape[1], -1, -1)], -1)


@sample(TILEGYM, f"{OPS}.mla")
def latent_attention(module):
    q, k, v, qp, kp = latent(4, 2)
    want, _ = attention(*with_positions(q, k, qp, kp), v, 0.125, causal(64, 64))
    args = (q, qp, k, kp, v, torch.zeros_like(q), 0.125, 32, 16, 4, 32, 32, 2)
    return Case(module._prefill_mla_kernel, (2, 8), args, {5: want}, FP16)


@sample(TILEGYM, f"{OPS}.experimental.sparse_mla")
def sparse_latent_attention(module):
    """Each query looks at 32 keys of its own, out of which those after it do not count."""
    q, k, v, qp, kp = latent(4, 1)
    chosen = torch.stack([torch.randperm(64)[:32] for _ in range(128)]).reshape(2, 64, 1, 32)
    chosen[..., 0] = torch.where((chosen == 0).any(-1), chosen[..., 0], 0)  # key 0 is before every query
    keep = zeros(2, 1, 64, 64).scatter_(3, chosen.transpose(1, 2), 1.0).bool() & causal(64, 64)
    want, _ = attention(*with_positions(q, k, qp, kp), v, 0.125, keep)
    args = (q, k, v, chosen.int(), qp, kp, torch.zeros_like(q), 0.125, 32, 16, 4, 16, 2, 4, 4, 1)
    return Case(module._sparse_mla_fwd_kernel, (64, 2), args, {6: want}, FP16)


def decoding_inputs(keys):
    """One query in each of 16 heads over one latent head, which is both keys and values."""
    q, qp = randn(2, 16, 32).half(), randn(2, 16, 16).half()
    kv, kp = randn(2, keys, 32).half(), randn(2, keys, 16).half()
    return q, qp, kv, kp


def decoded(q, qp, kv, kp, keys=slice(None)):
    q, k = torch.cat([q, qp], -1)[:, :, None], torch.cat([kv, kp], -1)[:, None, keys]
    out, lse = attention(q, k, kv[:, None, keys], 0.125)
    return out[:, :, 0], lse[:, :, 0]


@sample(TILEGYM, f"{OPS}.mla_decoding")
def latent_decoding(module):
    q, qp, kv, kp = decoding_inputs(64)
    out, lse = decoded(q, qp, kv, kp)
    args = (q, qp, kv, kv, kp, torch.zeros_like(q), zeros(2, 16), 0.125, 32, 16, 32, 16, 64, True)
    return Case(module._naive_absorb_mla_transpose_kernel, (1, 2), args, {5: out, 6: lse}, FP16)


@sample(TILEGYM, f"{OPS}.mla_decoding_split_kv")
def latent_decoding_in_parts(module):
    q, qp, kv, kp = decoding_inputs(80)
    parts = [decoded(q, qp, kv, kp, keys) for keys in (slice(64), slice(64, 80))]
    out, lse = (torch.stack(part, 2) for part in zip(*parts, strict=True))
    args = (q, qp, kv, kv, kp, zeros(2, 16, 2, 32).half(), zeros(2, 16, 2), 0.125, 2, 16, 80, 2, 64, 32, 16, 32, 16)
    return Case(module._naive_absorb_mla_transpose_kernel, (1, 2, 2), (*args, False), {5: out, 6: lse}, FP16)


def decoding_in_parts(keys, part, sinks=None, keep=None):
    """One query in each of 16 heads over 2 heads of keys, in parts; results by part."""
    q, k, v = heads(2, 1, keys, 32, 16, 2)
    results = []
    for n, start in enumerate(range(0, keys, part)):
        here = slice(start, start + part)
        seen = None if keep is None else keep[:, here]
        results.append(attention(q, k[:, :, here], v[:, :, here], 0.125, seen, sinks if n == 0 else None))
    out, lse = (torch.stack(each, 2) for each in zip(*results, strict=True))
    parts = len(results)
    grouped = q.reshape(2, 2, 8, 32)
    return grouped, k, v, parts, out.reshape(2, 2, 8, parts, 32), lse.reshape(2, 2, 8, parts)


@sample(TILEGYM, f"{OPS}.flash_decode")
def flash_decoding(module):
    q, k, v, parts, out, lse = decoding_in_parts(112, 64)
    outputs = zeros(*out.shape, dtype=torch.float16), zeros(*lse.shape)
    sizes = (0.125, 0, 0, 0, 0, 0, 2, 16, 2, 112, 32, 32, 64, 8, 8, parts)
    kernel = module._attention_decode_kernel_grouped
    return Case(kernel, (2, 2, parts), (q, k, v, *outputs, *sizes), {3: out, 4: lse}, FP16)


@sample(TILEGYM, f"{OPS}.gemma_attention_decode")
def gemma_decoding(module):
    q, k, v, parts, out, lse = decoding_in_parts(128, 64)
    outputs = zeros(*out.shape, dtype=torch.float16), zeros(*lse.shape)
    sizes = (0.125, 2, 16, 2, 128, 64, 32, 32, 8, 8, parts, 0, 0.0, False)
    kernel = module._gemma_attention_decode_kernel_grouped
    return Case(kernel, (2, 2, parts), (q, k, v, *outputs, *sizes), {3: out, 4: lse}, FP16)


@sample(TILEGYM, f"{OPS}.attention_sink_decode")
def decoding_with_sinks(module):
    sinks = randn(16)
    q, k, v, parts, out, lse = decoding_in_parts(128, 64, sinks)
    outputs = zeros(*out.shape, dtype=torch.float16), zeros(*lse.shape)
    sizes = (torch.tensor([127]).int(), 0.125, 0, 0, 0, 0, 0, 2, 16, 2, 128, 64, 32, 32, 8, 8, parts, 0, True)
    kernel = module._attention_sink_decode_kernel
    return Case(kernel, (2, 2, parts), (q, k, v, sinks, *outputs, *sizes), {4: out, 5: lse}, FP16)


@sample(TILEGYM, f"{OPS}.splitk_reduce", by_mma=[False, True])
def sum_of_parts(module, by_mma):
    """Parts of one attention, weighted by the exponentials of their base-2 logarithms."""
    parts, lse = randn(2, 4, 3, 32), randn(2, 4, 3)
    want = torch.einsum("bhsd,bhs->bhd", parts, (lse * math.log(2)).softmax(-1))
    args = (parts, lse, zeros(2, 4, 32), 2, 0, 4, 32, 3, 4, 32, by_mma)
    return Case(module._splitk_reduce_kernel, (2, 4, 1), args, {2: want})


def delta_rule(q, k, v, gate, beta, scale, state):
    """Gated delta rule, step by step. q, k: (batch, time, heads, dk); v: with dv; gate, beta: (batch, time, heads)."""
    outputs = []
    for t in range(q.shape[1]):
        state = state * gate[:, t].exp()[..., None, None]
        delta = (v[:, t] - torch.einsum("bhkv,bhk->bhv", state, k[:, t])) * beta[:, t, :, None]
        state = state + torch.einsum("bhk,bhv->bhkv", k[:, t], delta)
        outputs.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t] * scale))
    return torch.stack(outputs, 1), state


def delta_inputs(time):
    q, k = (functional.normalize(randn(2, time, 2, 32), dim=-1) for _ in range(2))
    v, gate, beta = randn(2, time, 2, 32), -torch.rand(2, time, 2), torch.rand(2, time, 2)
    return q, k, v, gate, beta, randn(2, 2, 32, 32)


@sample(TILEGYM, f"{OPS}.recurrent_gated_delta_rule", way=["block", "persistent", "one_step"])
def gated_delta_rule(module, way):
    *inputs, state = delta_inputs(1 if way == "one_step" else 6)
    out, last = delta_rule(*inputs, 0.125, state)
    kernel, grid, steps = {
        "block": (module._recurrent_gated_delta_rule_fwd_kernel, (4, 2), 6),
        "persistent": (module._recurrent_gated_delta_rule_fwd_kernel_persistent, (3,), 6),
        "one_step": (module._recurrent_gated_delta_rule_fwd_kernel_decode_vstream, (4, 2), 8),
    }[way]
    args = (*inputs, torch.zeros_like(inputs[2]), state, torch.zeros_like(state), 0.125)
    return Case(kernel, grid, (*args, True, True, False, 32, 16, True, True, steps), {5: out, 7: last})


def prepared(q, k, v, gate, beta, scale):
    """Chunks of 16 steps, (batch, heads, chunks, 16, d): scaled queries; keys; what each step's value and key are once
    the steps before it are worked in; the sum of gates up to each step.
    """
    q, k, v, gate, beta = (t.transpose(1, 2).unflatten(2, (-1, 16)) for t in (q, k, v, gate, beta))
    total = gate.cumsum(-1)
    decay = (total[..., :, None] - total[..., None, :]).exp()
    weighted = k * beta[..., None]
    mixed = torch.linalg.inv(torch.eye(16) + (weighted @ k.mT * decay).tril(-1))
    values, keys = mixed @ (v * beta[..., None]), mixed @ (weighted * total.exp()[..., None])
    return q * scale, k, values, keys, total


@sample(TILEGYM, f"{OPS}.chunk_gated_delta_rule", normalise=[False, True])
def delta_rule_within_chunks(module, normalise):
    q, k, v, gate, beta, _ = delta_inputs(32)
    want = prepared(q, k, v, gate, beta, 0.125)
    outputs = [torch.zeros_like(t) for t in want]
    args = (q, k, v, beta, gate, *outputs, 32, 32, 32, 0.125, 2, normalise, 16, 32, 4, False)
    return Case(module._intra_chunk_prepare_kernel, (4, 2), args, dict(zip(range(5, 10), want, strict=True)), TF32)


@sample(TILEGYM, f"{OPS}.chunk_gated_delta_rule")
def delta_rule_from_chunk_to_chunk(module):
    *inputs, state = delta_inputs(32)
    out, last = delta_rule(*inputs, 0.125, state)
    want = {5: out.transpose(1, 2).unflatten(2, (-1, 16)), 7: last}
    chunks = (t.contiguous() for t in prepared(*inputs, 0.125))
    args = (*chunks, zeros(2, 2, 2, 16, 32), state, torch.zeros_like(state), 2, 32, 32, 2, True, True, 16, 32, 16)
    return Case(module._chunk_inter_recurrence_kernel, (4, 2), args, want, TF32)


@sample(TILEGYM, f"{OPS}.experimental.mhc")
def residual_streams(module):
    """4 streams of 200 numbers: each the mix of all by a 4 × 4 matrix, and its share of a layer's output."""
    x, f, post, mix = randn(6, 4, 200), randn(6, 200), randn(6, 4), randn(6, 4, 4)
    want = mix @ x + post[:, :, None] * f[:, None]
    kernel = module._mhc_apply_residual_kernel
    return Case(kernel, (6, 4), (x, f, post, mix, torch.zeros_like(x), 200, 4, 64), {4: want})


@sample(TILEGYM, f"{OPS}.experimental.mhc")
def sinkhorn(module):
    """In place: 4 × 4 matrices, their rows and columns scaled in turns to sum to 1."""
    y = randn(6, 16)
    mat = y.reshape(6, 4, 4).exp()
    for _ in range(20):
        mat = mat / mat.sum(2, keepdim=True)
        mat = mat / mat.sum(1, keepdim=True)
    return Case(module._mhc_sinkhorn_kernel, (6,), (y, 4), {0: mat.reshape(6, 16)})


@sample(TILEGYM, f"{OPS}.experimental.mhc")
def split_k_matmul_and_squares(module):
    """Two halves of K side by side, each with its part of every row's sum of squares."""
    x, w = randn(64, 128), randn(128, 32)
    halves = [(x[:, part] @ w[part], x[:, part].square().sum(1)) for part in (slice(64), slice(64, 128))]
    y, r = (torch.cat(part) for part in zip(*halves, strict=True))
    args = (x, w, zeros(128, 32), zeros(128, 1), 64, 32, 128, 32, 32, 32, 2, 8)
    return Case(module._mhc_split_gemm_rms_kernel, (2, 2), args, {2: y, 3: r[:, None]}, TF32)


@sample(TILEGYM, f"{OPS}.experimental.mhc")
def gates_of_residual_streams(module):
    """The halves' sum over the root mean square: sigmoid, twice sigmoid and itself, by column."""
    y, r, bias = randn(128, 32), torch.rand(128, 1) * 64, randn(32)
    root = ((r[:64] + r[64:]) / 128).sqrt()
    scale = torch.tensor([0.5] * 4 + [2.0] * 4 + [1.5] * 24)
    linear = (y[:64] + y[64:]) * scale / root + bias
    want = torch.cat([linear[:, :4].sigmoid(), 2 * linear[:, 4:8].sigmoid(), linear[:, 8:]], 1)
    args = (y, r, zeros(64, 32), zeros(64, 1), 4, 0.5, 2.0, 1.5, bias, 64, 32, 128, 32, 32, 2)
    return Case(module._mhc_finalize_scale_bias_sigmoid_kernel, (2, 1), args, {2: want, 3: root})


@sample(TILEGYM, f"{OPS}.experimental.fused_linear_cross_entropy")
def cross_entropy(module):
    """Logits become probabilities, in place."""
    logits, target = randn(12, 200), torch.randint(200, (12,))
    of_target = logits.gather(1, target[:, None])[:, 0]
    args = (logits, zeros(12), of_target, 12, 200, 64)
    want = {0: logits.softmax(1), 1: functional.cross_entropy(logits, target, reduction="none")}
    return Case(module._ce_online_kernel, (4,), args, want)


@sample(TILEGYM, f"{OPS}.experimental.nvfp4_quantize")
def nvfp4_quantize(module):
    """Blocks of 16 numbers with an fp8 scale each, two 4-bit numbers in a byte."""
    x = randn(128, 128)
    args = (x, zeros(1024, dtype=torch.uint8), zeros(128, 64, dtype=torch.uint8), torch.ones(1), 2, 1, 128, 128)
    return Case(module._make_nvfp4_kernel(6), (2, 1), (*args, False, False), {}, needs=100, refused="float4_e2m1fn")
