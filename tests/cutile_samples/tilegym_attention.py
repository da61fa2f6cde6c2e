"""NVIDIA/TileGym: attention in all its forms, decoding, and the gated delta rule."""

import math

import torch
from torch import randn
from torch.nn import functional

from tests.cutile_samples.references import attention, causal
from tests.cutile_samples.table import FP16, TF32, TILEGYM, Case, sample
from tests.cutile_samples.tilegym import OPS, zeros


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
