"""Attention as an operator that torch knows, and a stand-in for its scaled_dot_product_attention."""

from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as torchs_attention  # a caller may replace torch's name

HEAD_DIMS, MOST_WITH_GRADIENT = range(8, 257, 8), 128
left_to_torch: Counter[str] = Counter()  # the reason → calls


@torch.library.custom_op("tutorlib::attention", mutates_args=())
def attention(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    """(o, lse): softmax(q kᵀ · scale) v, and the base-2 logarithm of each row's denominator.

    q, o: (batch, heads, queries, d). k, v: (batch, kv_heads, keys, d), each head of them for heads / kv_heads of q's.
    """
    if not q.is_cuda:
        return attention_by_torch(q, k, v, scale, causal)
    from tutorlib.kernels.attention.launch import forward_into

    q, k, v = aligned(q, k, v)
    o, lse = attention_fake(q, k, v, scale, causal)
    forward_into(o, lse, q, k, v, scale, causal)
    return o, lse


def aligned(*tensors: Tensor) -> Iterator[Tensor]:
    """At multiples of 16 bytes, from which TMA reads."""
    return (x.clone() if x.data_ptr() % 16 else x for x in tensors)


@attention.register_fake
def attention_fake(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    """Empty; as q lies in memory, but contiguous where a tile has room for the queries of several heads."""
    o = q.new_empty(q.shape) if 2 * q.shape[2] <= 64 else torch.empty_like(q)
    return o, q.new_empty(q.shape[:3], dtype=torch.float32)


def scores(q: Tensor, k: Tensor, scale: float, causal: bool) -> Tensor:
    """In fp32 (fp64 stays), -inf where a query does not see a key."""
    wide = torch.promote_types(q.dtype, torch.float32)
    s = q.to(wide) @ k.to(wide).repeat_interleave(q.shape[1] // k.shape[1], 1).mT * scale
    if causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).tril(), -torch.inf)
    return s


def attention_by_torch(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    """The same results up to rounding, by torch; 0 in a row that sees nothing."""
    s = scores(q, k, scale, causal)
    p = s.softmax(-1).masked_fill((s == -torch.inf).all(-1, keepdim=True), 0)
    o = p @ v.to(p.dtype).repeat_interleave(q.shape[1] // v.shape[1], 1)
    return o.to(q.dtype), (s.logsumexp(-1) / torch.log(torch.tensor(2.0))).float()


@torch.library.custom_op("tutorlib::attention_backward", mutates_args=())
def attention_backward(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, scale: float, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(dq, dk, dv)."""
    if q.is_cuda and q.shape[3] <= MOST_WITH_GRADIENT:
        from tutorlib.kernels.attention.hopper_backward import backward_into

        do, q, k, v = aligned(do, q, k, v)
        gradients = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        backward_into(*gradients, do, q, k, v, o, lse, scale, causal)
        return gradients
    logs = lse.masked_fill(lse == -torch.inf, torch.inf)[..., None]  # of a row that sees nothing: its P is 0
    p = torch.exp2(scores(q, k, scale, causal) / torch.log(torch.tensor(2.0)) - logs)
    group = q.shape[1] // k.shape[1]
    wide_k, wide_v = (x.to(p.dtype).repeat_interleave(group, 1) for x in (k, v))
    wide_do = do.to(p.dtype)
    ds = p * (wide_do @ wide_v.mT - (wide_do * o).sum(-1, keepdim=True)) * scale
    dk, dv = ds.mT @ q.to(p.dtype), p.mT @ wide_do
    dk, dv = (x.unflatten(1, (-1, group)).sum(2) for x in (dk, dv))
    return (ds @ wide_k).to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


@attention_backward.register_fake
def attention_backward_fake(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, scale: float, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def save_inputs(ctx, inputs, output) -> None:
    q, k, v, ctx.scale, ctx.causal = inputs
    ctx.save_for_backward(q, k, v, *output)
    ctx.mark_non_differentiable(output[1])


def attention_gradients(ctx, do: Tensor, _: Tensor):
    q, k, v, o, lse = ctx.saved_tensors
    return *attention_backward(do.contiguous(), q, k, v, o, lse, ctx.scale, ctx.causal), None, None


attention.register_autograd(attention_gradients, setup_context=save_inputs)


@torch.compiler.assume_constant_result
def other_gpu(device: torch.device) -> str:
    """Its name if it is no Hopper GPU, else ""."""
    return "" if torch.cuda.get_device_capability(device) == (9, 0) else torch.cuda.get_device_name(device)


def why_not_fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float, scale: float | None) -> str:
    """Why the kernel cannot take these; "" if it can."""
    if mask is not None or dropout:
        return "a mask or dropout"
    if scale is not None and scale <= 0:
        return "a scale that is not positive"
    if q.is_cuda and (name := other_gpu(q.device)):
        return f"{name} is no Hopper GPU"
    if any(x.ndim != 4 or x.shape[-1] not in HEAD_DIMS for x in (q, k, v)) or q.shape[-1] != v.shape[-1]:
        return "not (batch, heads, tokens, d), d a multiple of 8 up to 256"
    if q.shape[3] > MOST_WITH_GRADIENT and torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        return f"gradients of heads wider than {MOST_WITH_GRADIENT}"
    if min(q.numel(), k.numel()) == 0:
        return "no tokens"
    if q.is_cuda and any(x.dtype != torch.bfloat16 for x in (q, k, v)):
        return "not bf16"
    if any(x.stride(-1) != 1 or any(stride % 8 for stride in x.stride()[:3]) for x in (q, k, v)):
        return "rows that are not contiguous at multiples of 16 bytes"
    return ""


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """torch.nn.functional's, by the kernel where it can; `left_to_torch` counts the other calls by their reason."""
    if why := why_not_fused(query, key, value, attn_mask, dropout_p, scale):
        left_to_torch[why] += 1
        return torchs_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise ValueError(f"{query.shape[1]} heads of Q and {key.shape[1]} of K: pass enable_gqa=True")
    if query.shape[1] % key.shape[1]:
        raise ValueError(f"{query.shape[1]} heads of Q are no multiple of the {key.shape[1]} of K and V")
    return attention(query, key, value, scale or query.shape[-1] ** -0.5, is_causal)[0]
