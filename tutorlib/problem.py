"""A kernel's contract: which tensors it gets, what it must compute, how exact, and what that costs at least."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Generator, Tensor

Shape = tuple[int, ...]
DType = Literal["fp32", "fp16", "bf16", "e4m3"]

TORCH_NAME = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn"}
BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "e4m3": 1}
# Half the distance from 1 to the next number; tf32 is what tensor cores make of fp32.
UNIT_ROUNDOFF = {"fp32": 2.0**-24, "tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8}

Bound = Callable[["Tensor", "tuple[Tensor, ...]", DType], "Tensor"]


@dataclass(frozen=True)
class Operand:
    """One tensor of a problem, row-major: its last mode is contiguous.

    modes: one letter for each mode, "MK" for an (M, K) matrix.
    variance: the mode whose size divides the variance of random values ("K": they are scaled by K^-0.5), or "".
    pattern: what the identity-and-ramp case fills it with.
    """

    name: str
    modes: str
    dtype: DType
    variance: str = ""
    pattern: Literal["ramp", "identity"] = "ramp"


@dataclass(frozen=True)
class Problem:
    """What a kernel computes, for every shape.

    dims: the sizes that a shape names, one letter each: "MNK" for a GEMM, so that (512, 256, 64) has K = 64.
    reference: takes the inputs in high precision, returns the exact result.
    bound: takes that result, those inputs and the output's dtype; returns the largest |error| allowed, by element.
        None where nothing is computed, so that nothing may differ.
    flops: takes a shape; 0 where a problem only moves data.
    baseline: takes the output and the inputs, and runs the torch operation that a kernel is timed against.
    """

    name: str
    dims: str
    inputs: tuple[Operand, ...]
    output: Operand
    reference: Callable[..., "Tensor"]
    bound: Bound | None
    baseline: Callable[..., None]
    baseline_name: str
    flops: Callable[[Shape], int] = lambda shape: 0

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Every tensor in the order in which a kernel gets them: the output last."""
        return (*self.inputs, self.output)

    def shape_of(self, operand: Operand, shape: Shape) -> Shape:
        """The operand's own shape: (M, K) of (M, N, K)."""
        sizes = dict(zip(self.dims, shape, strict=True))
        return tuple(sizes[mode] for mode in operand.modes)

    def bytes(self, shape: Shape) -> int:
        """The fewest bytes that must cross device memory: each input read once, the output written once."""
        return sum(math.prod(self.shape_of(op, shape)) * BYTES[op.dtype] for op in self.operands)

    def random(self, shape: Shape, generator: "Generator") -> "tuple[Tensor, ...]":
        """Inputs drawn from a normal distribution, on the generator's device."""
        import torch

        sizes = dict(zip(self.dims, shape, strict=True))

        def draw(op: Operand) -> "Tensor":
            dtype = torch_dtype(op.dtype)
            drawn = torch.float32 if dtype.itemsize == 1 else dtype  # torch draws no fp8
            values = torch.empty(self.shape_of(op, shape), dtype=drawn, device=generator.device)
            return values.normal_(0, sizes.get(op.variance, 1) ** -0.5, generator=generator).to(dtype)

        return tuple(draw(op) for op in self.inputs)

    def pattern(self, shape: Shape, device: str) -> "tuple[Tensor, ...]":
        """Inputs whose result names its own place: an identity times a ramp.

        A result with rows and columns or two blocks exchanged is another one, and every value is exact in each
        dtype of the course (integers up to 256 are, in bf16).
        """
        return tuple(fill(op, self.shape_of(op, shape), device) for op in self.inputs)

    def expected(self, inputs: "tuple[Tensor, ...]", shape: Shape) -> "tuple[Tensor, Tensor]":
        """The exact result and the error allowed, which broadcasts to it.

        In float64; above 2^33 operations in float32, since many GPUs have next to no float64 units. Then the
        reference's own error, a small part of what `bound` allows, counts against the kernel.
        """
        import torch

        if self.bound is None:
            result = self.reference(*inputs)
            return result, result.new_zeros(())
        precision = torch.float64 if self.flops(shape) <= 2**33 else torch.float32
        precise = tuple(x.to(precision) for x in inputs)
        result = self.reference(*precise)
        return result, self.bound(result, precise, self.output.dtype)


def torch_dtype(name: DType):
    import torch

    return getattr(torch, TORCH_NAME[name])


def fill(op: Operand, shape: Shape, device: str) -> "Tensor":
    """An identity (ones where both indices agree, modulo the shorter mode) or a ramp of the integers 0 to 250."""
    import torch

    if op.pattern == "identity":
        row, column = (torch.arange(n, device=device) for n in shape)
        return (row[:, None] % shape[1] == column).to(torch_dtype(op.dtype))
    ramp = torch.zeros(shape, dtype=torch.int32, device=device)
    for mode, step in enumerate((31, 7, 3)[-len(shape) :]):  # coprime to 251, so neighbours differ in every mode
        index = torch.arange(shape[mode], dtype=torch.int32, device=device)
        ramp += step * (index % 251).view([-1 if n == mode else 1 for n in range(len(shape))])
    return (ramp % 251).to(torch_dtype(op.dtype))


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


def gemm_tf32() -> Problem:
    """`gemm` of fp32 matrices on the tensor cores, which round both factors to tf32. The baseline is cuBLAS' own."""

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor") -> None:
        import torch

        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.mm(a, b.mT, out=c)
        torch.backends.cuda.matmul.allow_tf32 = before

    return replace(
        gemm("fp32"), name="gemm_tf32", bound=tf32_accumulation, baseline=baseline, baseline_name="cuBLAS tf32"
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
