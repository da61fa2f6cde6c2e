"""The problems that several notebooks ask for: copies, a vector addition, GEMMs."""

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor
from tutorlib.compiling.spec import DType
from tutorlib.problems.bounds import accumulation, fast_accumulation, one_rounding, tf32_accumulation
from tutorlib.problems.problem import Operand, Problem


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
    def one(device: str) -> "Tensor":
        import torch

        return torch.ones((), device=device)

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor") -> None:
        import torch

        scale = one(str(a.device))
        torch._scaled_mm(a, b.mT, scale, scale, out_dtype=c.dtype, use_fast_accum=c.is_cuda, out=c)

    return replace(
        gemm("bf16"),
        name="gemm_fp8",
        inputs=(Operand("a", "MK", "e4m3", pattern="identity"), Operand("b", "NK", "e4m3")),
        bound=fast_accumulation,
        baseline=baseline,
        baseline_name="cuBLASLt",
    )
