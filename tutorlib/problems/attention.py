"""Attention: O = softmax(Q Kᵀ · D^-0.5) V, for one query, and its gradients."""

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.spec import DType
from tutorlib.problems.catalogue import UNIT_ROUNDOFF
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from torch import Generator, Tensor

BF16 = UNIT_ROUNDOFF["bf16"]
QUERIES, KEYS = "BHQD", "BGKD"


class AttentionProblem(Problem):
    def pattern(self, shape: Shape, device: str) -> "tuple[Tensor, ...]":
        """Scores that fall by 4 with each key's distance from the middle one, the same for all queries.

        A block of keys on either side of the middle has a maximum so far from its neighbor's that 2^difference
        overflows: an online softmax whose maximum may fall again fails.
        """
        import torch

        q, k, *others = super().pattern(shape, device)
        keys, head_dim = k.shape[2:]
        slope = (torch.arange(keys, device=device) - keys // 2).abs() * (-4 * head_dim**-0.5)
        return torch.ones_like(q), slope.to(k.dtype)[:, None].expand(k.shape).contiguous(), *others


class GradientProblem(AttentionProblem):
    """The inputs o and lse are those of the forward pass."""

    def pattern(self, shape: Shape, device: str) -> "tuple[Tensor, ...]":
        return self.consistent(*super().pattern(shape, device))

    def random(self, shape: Shape, generator: "Generator") -> "tuple[Tensor, ...]":
        return self.consistent(*super().random(shape, generator))

    def consistent(self, *inputs: "Tensor") -> "tuple[Tensor, ...]":
        q, k, v, do, o, lse, *scratch = inputs
        causal = self.name.endswith("causal")
        for (batch, head), s in scores_by_head(q.float(), k.float(), causal):
            lse[batch, head] = s.logsumexp(-1) / math.log(2)
            o[batch, head] = s.softmax(-1) @ v[batch, head * v.shape[1] // q.shape[1]].float()
        return q, k, v, do, o, lse, *scratch


def scores_by_head(q: "Tensor", k: "Tensor", causal: bool) -> Any:
    """((batch, head), Q Kᵀ · D^-0.5 of one head), head after head: all of them would not fit."""
    import torch

    seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril() if causal else None
    for batch in range(q.shape[0]):
        for head in range(q.shape[1]):
            s = q[batch, head] @ k[batch, head * k.shape[1] // q.shape[1]].mT * q.shape[3] ** -0.5
            yield (batch, head), s if seen is None else s.masked_fill(~seen, -torch.inf)


def attention_problem(causal: bool = False) -> Problem:
    """Shapes are (batch, heads, kv_heads, queries, keys, head_dim); causal: query i sees keys 0 … i.

    P is rounded to bf16 before it multiplies V. The errors of a row have either sign, so they add up as the root of
    their squares; six standard deviations are allowed, and u for rounding O. The baseline is torch's operator on
    cuDNN, its fastest backend on Hopper.
    """

    def by_head(q: "Tensor", k: "Tensor", v: "Tensor", power: int) -> "Tensor":
        """Σ (p · v)^power."""
        import torch

        out = torch.empty_like(q)
        for (batch, head), s in scores_by_head(q, k, causal):
            values = v[batch, head * v.shape[1] // q.shape[1]]
            out[batch, head] = s.softmax(-1).pow(power) @ values.pow(power)
        return out

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
        q, k, v = inputs
        return BF16 * (result.abs() + 6 * by_head(q, k, v, 2).sqrt()) + 1e-6

    def baseline(o: "Tensor", q: "Tensor", k: "Tensor", v: "Tensor") -> None:
        attend("CUDNN_ATTENTION", causal, q, k, v)  # into a tensor of its own: it takes no `out`, a copy costs time

    return AttentionProblem(
        name="attention_causal" if causal else "attention",
        dims="BHGQKD",
        inputs=(Operand("q", QUERIES, "bf16"), Operand("k", KEYS, "bf16"), Operand("v", KEYS, "bf16")),
        output=Operand("o", QUERIES, "bf16"),
        reference=lambda q, k, v: by_head(q, k, v, 1),
        bound=bound,
        baseline=baseline,
        baseline_name="cuDNN",
        flops=lambda shape: attention_flops(shape, causal),
    )


def against_torchs_best(causal: bool = False) -> Problem:
    """The same beside the fastest of torch's backends."""

    def baseline(o: "Tensor", q: "Tensor", k: "Tensor", v: "Tensor") -> None:
        attend(fastest_backend(causal, False, *(tuple(x.shape) for x in (q, k))), causal, q, k, v)

    return replace(attention_problem(causal), baseline=baseline, baseline_name="torch's best")


def decoding_problem() -> Problem:
    """One query for each sequence, so queries is 1. Memory limits it: it is measured by bytes, not by operations."""
    return replace(against_torchs_best(), name="decoding", flops=lambda shape: 0)


def gradient_problem(causal: bool = False) -> Problem:
    """dQ, of (q, k, v, do, o, lse, dk, dv); lse is the base-2 log-sum-exp of the rows' scores · log2(e).

    dS = P ∘ (dO Vᵀ - δ) is rounded to bf16 before it multiplies K: the bound is the forward pass's, with dS for P and K
    for V. dk and dv are written too and are not looked at; tests do that. The baseline is the backward pass of torch's
    fastest backend.
    """

    def by_head(inputs: "tuple[Tensor, ...]", power: int) -> "Tensor":
        """Σ (ds · k)^power."""
        import torch

        q, k, v, do, o, lse = inputs[:6]
        out = torch.empty_like(q)
        for (batch, head), s in scores_by_head(q, k, causal):
            shared = head * k.shape[1] // q.shape[1]
            slope = do[batch, head]
            p = torch.exp2(s / math.log(2) - lse[batch, head, :, None])
            ds = p * (slope @ v[batch, shared].mT - (slope * o[batch, head]).sum(-1, keepdim=True)) * q.shape[3] ** -0.5
            out[batch, head] = ds.pow(power) @ k[batch, shared].pow(power)
        return out

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
        return BF16 * (result.abs() + 6 * by_head(inputs, 2).sqrt()) + 1e-5

    def baseline(dq: "Tensor", q: "Tensor", k: "Tensor", v: "Tensor", do: "Tensor", *_: "Tensor") -> None:
        backend = fastest_backend(causal, True, tuple(q.shape), tuple(k.shape))
        gradients(backend, causal, q, k, v, do)

    queries, keys = ("q", "do", "o"), ("k", "v")
    operands = {name: Operand(name, QUERIES if name in queries else KEYS, "bf16") for name in (*queries, *keys)}
    return GradientProblem(
        name="gradients_causal" if causal else "gradients",
        dims="BHGQKD",
        inputs=(
            *(operands[name] for name in ("q", "k", "v", "do", "o")),
            Operand("lse", "BHQ", "fp32"),
            *(Operand(name, KEYS, "bf16", scratch=True) for name in ("dk", "dv")),
        ),
        output=Operand("dq", QUERIES, "bf16"),
        reference=lambda *inputs: by_head(inputs, 1),
        bound=bound,
        baseline=baseline,
        baseline_name="torch's best",
        flops=lambda shape: 5 * attention_flops(shape, causal) // 2,  # five products in place of two
    )


def attention_flops(shape: Shape, causal: bool) -> int:
    batch, heads, _, queries, keys, d = shape
    return 4 * batch * heads * d * (queries * (queries + 1) // 2 if causal else queries * keys)


# torch's attention ----------------------------------------------------------------------------------------------


def attend(backend: str, causal: bool, q: "Tensor", k: "Tensor", v: "Tensor") -> "Tensor":
    """torch's operator on one of its backends, by SDPBackend's name."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    with sdpa_kernel(getattr(SDPBackend, backend)):
        return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])


Attended = tuple[tuple["Tensor", ...], "Tensor"]
attended: dict[tuple[Any, ...], Attended] = {}  # forward passes whose gradients the baseline computes again and again


def gradients(backend: str, causal: bool, q: "Tensor", k: "Tensor", v: "Tensor", do: "Tensor") -> None:
    """torch's backward pass. The forward pass is that of the first call with tensors at these places."""
    import torch

    key = backend, causal, q.data_ptr(), k.data_ptr(), tuple(q.shape), tuple(k.shape)
    if key not in attended:
        leaves = tuple(x.clone().requires_grad_() for x in (q, k, v))
        attended[key] = leaves, attend(backend, causal, *leaves)
    leaves, o = attended[key]
    torch.autograd.grad(o, leaves, do, retain_graph=True)


@cache
def fastest_backend(causal: bool, backward: bool, q_shape: Shape, k_shape: Shape) -> str:
    """Of torch's backends that take such tensors, the one that is fastest on this GPU, by a few calls of each."""
    import torch
    from torch.utils.benchmark import Timer

    q, k = (torch.randn(shape, dtype=torch.bfloat16, device="cuda") for shape in (q_shape, k_shape))

    def seconds(backend: str) -> float:
        def call() -> None:
            gradients(backend, causal, q, k, k, q) if backward else attend(backend, causal, q, k, k)

        try:
            return Timer("call()", globals={"call": call}).timeit(5).mean
        except RuntimeError:  # no such kernel
            return math.inf

    fastest = min(("CUDNN_ATTENTION", "FLASH_ATTENTION", "EFFICIENT_ATTENTION"), key=seconds)
    attended.clear()
    return fastest
