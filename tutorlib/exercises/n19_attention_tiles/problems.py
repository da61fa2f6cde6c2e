"""The functions that the kernels of notebook 19 compute. Scores are multiples of log2(e) where a kernel uses exp2."""

import math
from typing import TYPE_CHECKING

from tutorlib.compiling.spec import DType
from tutorlib.exercises.n19_attention_tiles.judge.attention_inputs import (
    Combined,
    FarBelow,
    GradientOfQueries,
    WithHeads,
)
from tutorlib.problems.attention import attention_problem
from tutorlib.problems.bounds import UNIT_ROUNDOFF
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from torch import Tensor

LOG2_E = math.log2(math.e)
BF16, FP32 = UNIT_ROUNDOFF["bf16"], UNIT_ROUNDOFF["fp32"]
TINY = 1e-6  # that a flushed exponential may lose


def soft_average() -> Problem:
    """o (M,) = softmax(s) v for scores s (M, N) and values v (N,), all in fp32.

    To first order a weight is off by (2·max|s| + 2)·u, relative, its sum over N terms by N·u more, twice: in the
    numerator and in the denominator.
    """

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
        s, v = inputs
        relative = 2 * (2 * s.abs().amax(-1) + s.shape[-1] + 4) * FP32
        return relative * (s.softmax(-1) @ v.abs()) + TINY

    def baseline(o: "Tensor", s: "Tensor", v: "Tensor") -> None:
        o.copy_(s.softmax(-1) @ v)

    return Problem(
        name="soft_average",
        dims="MN",
        inputs=(Operand("s", "MN", "fp32", scale=64, pattern="steep"), Operand("v", "N", "fp32")),
        output=Operand("o", "M", "fp32"),
        reference=lambda s, v: s.softmax(-1) @ v,
        bound=bound,
        baseline=baseline,
        baseline_name="torch",
    )


def one_head(causal: bool = False) -> Problem:
    """o (M, D) = softmax(q kᵀ · D^-0.5) v of one head, in bf16; causal: query i sees keys 0 … i.

    The bound is that of `problems.attention`: P is rounded to bf16 before it multiplies v; errors of either sign add
    up as the root of their squares, of which six standard deviations are allowed; u for rounding o.
    """

    def weights(q: "Tensor", k: "Tensor") -> "Tensor":
        import torch

        s = q @ k.mT * q.shape[1] ** -0.5
        return (s.masked_fill(torch.ones_like(s).tril() == 0, -torch.inf) if causal else s).softmax(-1)

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
        q, k, v = inputs
        return BF16 * (result.abs() + 6 * (weights(q, k).square() @ v.square()).sqrt()) + TINY

    def baseline(o: "Tensor", q: "Tensor", k: "Tensor", v: "Tensor") -> None:
        from torch.nn.functional import scaled_dot_product_attention

        o.copy_(scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0])

    return FarBelow(
        name="one_head",
        dims="QKD",
        inputs=(Operand("q", "QD", "bf16", pattern="identity"), Operand("k", "KD", "bf16"), Operand("v", "KD", "bf16")),
        output=Operand("o", "QD", "bf16"),
        reference=lambda q, k, v: weights(q, k) @ v,
        bound=bound,
        baseline=baseline,
        baseline_name="torch",
        flops=lambda shape: 4 * math.prod(shape),
    )


def many_heads() -> Problem:
    """Causal attention as `problems.attention` has it, on this page's pattern."""
    return WithHeads(**vars(attention_problem(causal=True)))


def combined() -> Problem:
    """o (R, D) in fp32: parts (S, R, D), each with weight 2^lse (S, R) of all parts' weights.

    A weight is off by (2·max|lse| + 2)·u, relative, and S of them are added, in numerator and denominator.
    """

    def shares(lse: "Tensor") -> "Tensor":
        return (lse * math.log(2)).softmax(0)[..., None]

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
        parts, lse = inputs
        relative = 2 * (2 * lse.abs().amax() + len(lse) + 4) * FP32
        return relative * (parts.abs() * shares(lse)).sum(0) + TINY

    def baseline(o: "Tensor", parts: "Tensor", lse: "Tensor") -> None:
        o.copy_((parts * shares(lse)).sum(0))

    return Combined(
        name="combined",
        dims="SRD",
        inputs=(Operand("parts", "SRD", "fp32"), Operand("lse", "SR", "fp32", scale=4, pattern="steep")),
        output=Operand("o", "RD", "fp32"),
        reference=lambda parts, lse: (parts * shares(lse)).sum(0),
        bound=bound,
        baseline=baseline,
        baseline_name="torch",
    )


def gradient_of_queries() -> Problem:
    """dq (M, D) of one head, given lse (M,), to base 2, and delta (M,): dS k · D^-0.5, dS = P ∘ (dO vᵀ - delta).

    dS is rounded to bf16 before it multiplies k: the bound is the forward pass's, with dS for P and k for v.
    """

    def slopes(q: "Tensor", k: "Tensor", v: "Tensor", do: "Tensor", lse: "Tensor", delta: "Tensor") -> "Tensor":
        """dS · D^-0.5."""
        scale = q.shape[1] ** -0.5
        p = (q @ k.mT * (scale * LOG2_E) - lse[:, None]).exp2()
        return p * (do @ v.mT - delta[:, None]) * scale

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
        return BF16 * (result.abs() + 6 * (slopes(*inputs).square() @ inputs[1].square()).sqrt()) + TINY

    def baseline(dq: "Tensor", *inputs: "Tensor") -> None:
        dq.copy_(slopes(*inputs).to(dq.dtype) @ inputs[1])

    q, do = (Operand(name, "QD", "bf16", pattern="identity") for name in ("q", "do"))
    k, v = (Operand(name, "KD", "bf16") for name in "kv")
    return GradientOfQueries(
        name="gradient_of_queries",
        dims="QKD",
        inputs=(q, k, v, do, Operand("lse", "Q", "fp32"), Operand("delta", "Q", "fp32")),
        output=Operand("dq", "QD", "bf16"),
        reference=lambda *inputs: slopes(*inputs) @ inputs[1],
        bound=bound,
        baseline=baseline,
        baseline_name="torch",
        flops=lambda shape: 6 * math.prod(shape),
    )


def seen(shape: Shape, tm: int, tn: int) -> int:
    """The elements of K that the blocks of a causal head must load: up to each block's last query, in whole tiles."""
    queries, keys, d = shape
    return sum(min(keys, -(-(m + tm) // tn) * tn) for m in range(0, queries, tm)) * d
