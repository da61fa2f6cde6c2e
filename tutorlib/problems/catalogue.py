"""Error bounds from rounding analysis, and the problems that several notebooks ask for: copies, an addition, GEMMs."""

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from tutorlib.compiling.spec import DType
from tutorlib.problems.problem import Operand, Problem

if TYPE_CHECKING:
    from torch import Tensor

# Half the distance from 1 to the next number; tf32 is what tensor cores make of fp32.
UNIT_ROUNDOFF = {"fp32": 2.0**-24, "tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8}


def one_rounding(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
    """One rounding to the output's dtype: |error| ≤ u·|result|, u the unit roundoff."""
    return result.abs() * UNIT_ROUNDOFF[out]


def accumulation(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
    """The error allowed to c_mn = Σ_k a_mk·b_nk, summed in fp32 in any order and rounded once to the output.

    With u the unit roundoff (2^-24 for fp32):

    - A product of two fp16 or bf16 numbers has at most 22 bits and is exact in fp32.
    - K additions in fp32 give at most K·u32·Σ|a||b| to first order in the worst case (Higham, Accuracy and
      Stability of Numerical Algorithms, 2002, section 3.1). Errors of either sign grow like √K instead: at most
      λ·√K·u32·Σ|a||b|, with probability 1 - 2·exp(-λ²/2) (Higham and Mary, SIAM J. Sci. Comput. 41, 2019). λ = 6
      leaves about 3e-8 for one element, and an element of a sum of random values lies far below its bound.
    - Tensor cores cut off where the standard rounds (Fasi et al., PeerJ Comput. Sci. 7:e330, 2021): twice the
      error for each addition, hence 12 below.
    - Rounding to the output adds u_out·|c|.

    Together |error| ≤ u_out·|c| + 12·√K·u32·Σ|a||b|. Sums kept in fp16 break it: u16 is 2^13 times u32.
    """
    a, b = inputs
    magnitudes = a.abs().float() @ b.abs().float().mT
    return UNIT_ROUNDOFF[out] * result.abs() + 12 * math.sqrt(a.shape[-1]) * UNIT_ROUNDOFF["fp32"] * magnitudes


def tf32_accumulation(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
    """`accumulation`, where both factors of each product become tf32 first, rounded or cut off.

    Cut off, a factor is too small by up to 2u of it: by u on average, which makes c smaller by 2u·|c|. What is left is
    spread evenly over ±u, as roundings are, with a variance of u²/3; for both factors of the K products these
    add up to a standard deviation of u·√(2/3·Σ(ab)²), of which six are allowed.
    """
    a, b = inputs
    u = UNIT_ROUNDOFF["tf32"]
    spread = (a.square() @ b.square().mT).sqrt()
    return accumulation(result, inputs, out) + 2 * u * result.abs() + 6 * math.sqrt(2 / 3) * u * spread


FAST_BITS = 2.0**-13  # what Hopper's fp8 instructions keep of a sum: 14 bits (DeepSeek-V3 technical report, 3.3.2)


def fast_accumulation(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
    """The error allowed to c_mn = Σ_k a_mk·b_nk of fp8 numbers, summed with 14 bits and rounded once to the output.

    Each product, and the sum so far once for every 32 of them, is cut off below 2^-13 of the largest number that
    takes part: about K errors of either sign, which together stay under λ·√K·2^-13·max|partial sum|; and a partial
    sum of products of either sign under λ·√Σ(ab)² (Hoeffding's inequality). λ = 6 in both places, as in `accumulation`.
    A sum in fp16, 11 bits, is not told from this.
    """
    a, b = inputs
    spread = (a.square() @ b.square().mT).sqrt()
    return UNIT_ROUNDOFF[out] * result.abs() + 36 * math.sqrt(a.shape[-1]) * FAST_BITS * spread


# Problems -------------------------------------------------------------------------------------------------------------


def copy(dtype: DType) -> Problem:
    """dst = src, both (M, N) row-major."""
    return Problem(
        name="copy",
        dims="MN",
        inputs=(Operand("src", "MN", dtype),),
        output=Operand("dst", "MN", dtype),
        reference=lambda src: src,
        bound=None,
        baseline=lambda dst, src: dst.copy_(src),
        baseline_name="torch copy_",
    )


def transpose(dtype: DType) -> Problem:
    """dst (N, M) = src (M, N) transposed, both row-major. The baseline is a plain copy of as many bytes."""
    return Problem(
        name="transpose",
        dims="MN",
        inputs=(Operand("src", "MN", dtype),),
        output=Operand("dst", "NM", dtype),
        reference=lambda src: src.mT,
        bound=None,
        baseline=lambda dst, src: dst.view(src.shape).copy_(src),
        baseline_name="torch copy_",
    )


def vector_add(dtype: DType) -> Problem:
    """c = a + b, all of shape (N,)."""

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor") -> None:
        import torch

        torch.add(a, b, out=c)

    return Problem(
        name="vector_add",
        dims="N",
        inputs=(Operand("a", "N", dtype), Operand("b", "N", dtype)),
        output=Operand("c", "N", dtype),
        reference=lambda a, b: a + b,
        bound=one_rounding,
        baseline=baseline,
        baseline_name="torch add",
    )


def gemm(dtype: DType) -> Problem:
    """C (M, N) = A (M, K) · Bᵀ with B (N, K), all row-major; fp32 accumulation. The baseline is cuBLAS."""

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor") -> None:
        import torch

        torch.mm(a, b.mT, out=c)

    return Problem(
        name="gemm",
        dims="MNK",
        inputs=(Operand("a", "MK", dtype, pattern="identity"), Operand("b", "NK", dtype, variance="K")),
        output=Operand("c", "MN", dtype),
        reference=lambda a, b: a @ b.mT,
        bound=accumulation,
        baseline=baseline,
        baseline_name="cuBLAS",
        flops=lambda shape: 2 * math.prod(shape),
    )


def softmax(dtype: DType, pattern: Literal["ramp", "steep"] = "ramp") -> Problem:
    """y = exp(x - max) / Σ exp(x - max) along the rows of x (M, N); pattern: of the case that is not random."""

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: DType) -> "Tensor":
        """To first order, each error relative to y, in fp32:

        - x - max, at most D in size, is off by D·u, and so is its exponential, which adds 2 units of its own;
        - the sum of N such terms inherits that and adds N·u at most; the division adds u.

        Twice (D + 2)·u + N·u + u, and the rounding to the output. What is below fp32's smallest normal number may
        come out as 0.
        """
        (x,) = inputs
        spread = x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True)
        relative = (2 * (spread + 2) + x.shape[-1] + 1) * UNIT_ROUNDOFF["fp32"] + UNIT_ROUNDOFF[out]
        return relative * result + 2.0**-126

    def baseline(y: "Tensor", x: "Tensor") -> None:
        import torch

        torch.softmax(x, -1, out=y)

    return Problem(
        name="softmax",
        dims="MN",
        inputs=(Operand("x", "MN", dtype, pattern=pattern),),
        output=Operand("y", "MN", dtype),
        reference=lambda x: x.softmax(-1),
        bound=bound,
        baseline=baseline,
        baseline_name="torch softmax",
    )


def gemm_shared(accumulators: int, flags: int) -> Problem:
    """`gemm` of bf16 whose blocks may hand each other accumulators: fp32 scratch memory, and flags that stay zero."""
    plain = gemm("bf16")
    memory = (Operand("acc", "", "fp32", size=accumulators, scratch=True), Operand("flags", "", "int32", size=flags))
    return replace(
        plain,
        inputs=(*plain.inputs, *memory),
        reference=lambda a, b, acc, flags: plain.reference(a, b),
        bound=lambda result, inputs, out: accumulation(result, inputs[:2], out),
        baseline=lambda c, a, b, acc, flags: plain.baseline(c, a, b),
    )


def gemm_of_columns() -> Problem:
    """C (M, N) = Aᵀ · B with A (K, M) and B (K, N), all row-major bf16. The baseline is cuBLAS."""

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor") -> None:
        import torch

        torch.mm(a.mT, b, out=c)

    plain = gemm("bf16")
    a, b = plain.inputs
    return replace(
        plain,
        name="gemm_of_columns",
        inputs=(replace(a, modes="KM"), replace(b, modes="KN")),
        reference=lambda a, b: a.mT @ b,
        bound=lambda result, inputs, out: accumulation(result, (inputs[0].mT, inputs[1].mT), out),
        baseline=baseline,
    )


def gemm_m_major(dtype: DType) -> Problem:
    """`gemm` of a column-major A, whose M is contiguous: a.mT of a matrix (K, M) in PyTorch."""
    plain = gemm(dtype)
    a, b = plain.inputs
    return replace(plain, name="gemm_m_major", inputs=(replace(a, column_major=True), b))


def gemm_tf32() -> Problem:
    """`gemm` of fp32 matrices on the tensor cores, which round both factors to tf32. The baseline is cuBLAS' own."""

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor") -> None:
        import torch

        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.mm(a, b.mT, out=c)
        torch.backends.cuda.matmul.allow_tf32 = before

    plain = gemm("fp32")
    a, b = plain.inputs
    return replace(
        plain,
        name="gemm_tf32",
        inputs=(replace(a, scale=2.0**20), replace(b, scale=2.0**-20)),  # too large, and too small, for fp16
        bound=tf32_accumulation,
        baseline=baseline,
        baseline_name="cuBLAS tf32",
    )


def gemm_fp8() -> Problem:
    """`gemm` of e4m3 matrices into bf16, with the tensor cores' fast accumulation. The baseline is cuBLASLt."""

    @cache
    def unit_scale(device: str) -> "Tensor":
        import torch

        return torch.ones((), device=device)

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor") -> None:
        import torch

        scale = unit_scale(str(a.device))
        torch._scaled_mm(a, b.mT, scale, scale, out_dtype=c.dtype, use_fast_accum=c.is_cuda, out=c)

    return replace(
        gemm("bf16"),
        name="gemm_fp8",
        inputs=(Operand("a", "MK", "e4m3", pattern="identity"), Operand("b", "NK", "e4m3")),
        bound=fast_accumulation,
        baseline=baseline,
        baseline_name="cuBLASLt",
    )
