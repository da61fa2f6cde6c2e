"""What the process of an answer needs of page 19's exercises."""

import math
from typing import TYPE_CHECKING

from tutorlib.problems.attention import AttentionProblem
from tutorlib.problems.problem import Problem, Shape

if TYPE_CHECKING:
    from torch import Generator, Tensor


# Problems whose inputs depend on each other, or would let a constant pass for -inf.

FAR = 2.0**40


class FarBelow(Problem):
    """softmax(q kᵀ · D^-0.5) v, (…, tokens, D) each."""

    def pattern(self, shape: Shape, device: str) -> "tuple[Tensor, ...]":
        """All scores of every other query are -FAR² · D^-0.5, exactly: no mask of -10,000 or -1e9 hides anything."""
        q, k, v = super().pattern(shape, device)
        q[..., 1::2, :], q[..., ::2, 0] = 0, 0
        q[..., 1::2, 0], k[..., 0] = FAR, -FAR
        return q, k, v


class WithHeads(FarBelow, AttentionProblem):
    """The same with a batch, heads and groups."""


class Combined(Problem):
    """parts, weighted by 2^lse."""

    def pattern(self, shape: Shape, device: str) -> "tuple[Tensor, ...]":
        parts, lse = super().pattern(shape, device)
        return parts, lse - 2**20  # a number as large in place of -inf would have a weight


class GradientOfQueries(Problem):
    """lse and delta are those of the forward pass."""

    def pattern(self, shape: Shape, device: str) -> "tuple[Tensor, ...]":
        return consistent(*super().pattern(shape, device))

    def random(self, shape: Shape, generator: "Generator") -> "tuple[Tensor, ...]":
        return consistent(*super().random(shape, generator))


def consistent(
    q: "Tensor", k: "Tensor", v: "Tensor", do: "Tensor", lse: "Tensor", delta: "Tensor"
) -> "tuple[Tensor, ...]":
    s = q.float() @ k.float().mT * q.shape[1] ** -0.5
    lse.copy_(s.logsumexp(-1) * math.log2(math.e))
    delta.copy_((do.float() * (s.softmax(-1) @ v.float())).sum(-1))
    return q, k, v, do, lse, delta
