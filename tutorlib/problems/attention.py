"""Attention: O = softmax(Q Kᵀ · D^-0.5) V."""

from typing import TYPE_CHECKING

from tutorlib.compiling.spec import DType
from tutorlib.problems.bounds import UNIT_ROUNDOFF
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from torch import Tensor

BF16 = UNIT_ROUNDOFF["bf16"]


class AttentionProblem(Problem):
    def pattern(self, shape: Shape, device: str) -> "tuple[Tensor, ...]":
        """Scores that fall by 4 with each key's distance from the middle one, the same for all queries.

        A block of keys on either side of the middle has a maximum so far from its neighbor's that 2^difference
        overflows: an online softmax whose maximum may fall again fails.
        """
        import torch

        q, k, v = super().pattern(shape, device)
        keys, head_dim = k.shape[2:]
        slope = (torch.arange(keys, device=device) - keys // 2).abs() * (-4 * head_dim**-0.5)
        return torch.ones_like(q), slope.to(k.dtype)[:, None].expand(k.shape).contiguous(), v


def attention_problem(causal: bool = False) -> Problem:
    """Shapes are (batch, heads, kv_heads, queries, keys, head_dim); causal: query i sees keys 0 … i.

    P is rounded to bf16 before it multiplies V. The errors of a row have either sign, so they add up as the root of
    their squares; six standard deviations are allowed, and u for rounding O. The baseline is torch's operator on
    cuDNN, its fastest backend on Hopper.
    """

    def by_head(q: "Tensor", k: "Tensor", v: "Tensor", power: int) -> "Tensor":
        """Σ (p · v)^power, one head at a time: the scores of all would not fit."""
        import torch

        out = torch.empty_like(q)
        group = q.shape[1] // k.shape[1]
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril() if causal else None
        for batch in range(q.shape[0]):
            for head in range(q.shape[1]):
                s = q[batch, head] @ k[batch, head // group].mT * q.shape[3] ** -0.5
                if seen is not None:
                    s = s.masked_fill(~seen, -torch.inf)
                out[batch, head] = s.softmax(-1).pow(power) @ v[batch, head // group].pow(power)
        return out

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
        q, k, v = inputs
        return BF16 * (result.abs() + 6 * by_head(q, k, v, 2).sqrt()) + 1e-6

    def baseline(o: "Tensor", q: "Tensor", k: "Tensor", v: "Tensor") -> None:
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.functional import scaled_dot_product_attention

        with sdpa_kernel(
            SDPBackend.CUDNN_ATTENTION
        ):  # into a tensor of its own: it takes no `out`, and a copy costs time
            scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])

    def flops(shape: Shape) -> int:
        batch, heads, _, queries, keys, d = shape
        return 4 * batch * heads * d * (queries * (queries + 1) // 2 if causal else queries * keys)

    return AttentionProblem(
        name="attention_causal" if causal else "attention",
        dims="BHGQKD",
        inputs=(Operand("q", "BHQD", "bf16"), Operand("k", "BGKD", "bf16"), Operand("v", "BGKD", "bf16")),
        output=Operand("o", "BHQD", "bf16"),
        reference=lambda q, k, v: by_head(q, k, v, 1),
        bound=bound,
        baseline=baseline,
        baseline_name="cuDNN",
        flops=flops,
    )
