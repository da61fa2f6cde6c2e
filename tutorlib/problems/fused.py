"""GEMMs with fused epilogues: the problems of notebook 18's kernels."""

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from tutorlib.problems.catalogue import UNIT_ROUNDOFF, accumulation, gemm
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

TANH = 2.0**-11  # the largest error of tanh.approx.f32 (PTX ISA)
STEEPEST = 1.13  # slope of GELU and of SiLU, whose largest are 1.13 and 1.10


def gelu_of(x: "Tensor") -> "Tensor":
    from torch.nn.functional import gelu

    return gelu(x, approximate="tanh")


@cache
def by_torch_compile(function: "Callable[..., Any]") -> "Callable[..., Any]":
    """The function compiled by torch.compile, anew for each shape."""
    import torch

    return torch.compile(function, dynamic=False)


# GEMMs ----------------------------------------------------------------------------------------------------------


def sums_error(a: "Tensor", b: "Tensor", beside: "Tensor | float" = 0.0) -> "Tensor":
    """The bound for A·Bᵀ in fp32 and one more addition: see `accumulation`."""
    sums = a @ b.mT + beside
    return accumulation(sums, (a, b), "fp32") + UNIT_ROUNDOFF["fp32"] * sums.abs()


def linear_gelu() -> Problem:
    """C (M, N) = GELU(A·Bᵀ + bias), where bias is (N,); bf16, all but the last rounding in fp32.

    |error| ≤ u·|c| + 1.13·(that of the sums) + |sum|/2·2^-11. The baseline is what torch.compile makes of it.
    """
    plain = gemm("bf16")

    def expression(a: "Tensor", b: "Tensor", bias: "Tensor") -> "Tensor":
        return gelu_of(a @ b.mT + bias)

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: Any) -> "Tensor":
        a, b, bias = inputs
        sums = a @ b.mT + bias
        return UNIT_ROUNDOFF[out] * result.abs() + STEEPEST * sums_error(a, b, bias) + TANH / 2 * sums.abs()

    return replace(
        plain,
        name="linear_gelu",
        inputs=(*plain.inputs, Operand("bias", "N", "bf16")),
        reference=expression,
        bound=bound,
        baseline=lambda c, *inputs: by_torch_compile(expression)(*inputs),
        baseline_name="torch.compile",
    )


def of_images() -> Problem:
    """`linear_gelu` of G images with M / G rows each; (M, N, K, G, W).

    bias (G, W) has a row for each image, whose columns N to 2N are added.
    """
    alone = linear_gelu()

    def by_row(a: "Tensor", b: "Tensor", bias: "Tensor") -> "tuple[Tensor, Tensor, Tensor]":
        n = len(b)
        return a, b, bias[:, n : 2 * n].repeat_interleave(len(a) // len(bias), 0)

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: Any) -> "Tensor":
        assert alone.bound is not None
        return alone.bound(result, by_row(*inputs), out)

    return replace(
        alone,
        name="linear_gelu_of_images",
        dims="MNKGW",
        inputs=(*alone.inputs[:2], Operand("bias", "GW", "bf16")),
        reference=lambda *inputs: alone.reference(*by_row(*inputs)),
        bound=bound,
        flops=lambda shape: alone.flops(shape[:3]),
    )


def linear_add() -> Problem:
    """C (M, N) = A·Bᵀ + D, where D is (M, N); bf16, rounded once. The baseline copies D to C, then cuBLAS adds."""
    plain = gemm("bf16")

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor", d: "Tensor") -> None:
        import torch

        torch.addmm(d, a, b.mT, out=c)

    return replace(
        plain,
        name="linear_add",
        inputs=(*plain.inputs, Operand("d", "MN", "bf16")),
        reference=lambda a, b, d: a @ b.mT + d,
        bound=lambda result, inputs, out: UNIT_ROUNDOFF[out] * result.abs() + sums_error(*inputs),
        baseline=baseline,
        baseline_name="cuBLAS",
    )


def linear_swiglu(width: int, activated: bool = True) -> Problem:
    """C (M, N / 2) = silu(gate) · up, where `width` columns of gate and of up stand in turn in A·Bᵀ (M, N); bf16.

    activated: by silu; otherwise C = gate · up.
    N is a multiple of 2·width. The baseline is torch's, on the two halves of B: the same work, in another order.
    """
    plain = gemm("bf16")

    def gate_and_up(sums: "Tensor") -> "tuple[Tensor, Tensor]":
        gate, up = sums.unflatten(1, (-1, 2, width)).unbind(2)
        return gate.flatten(1), up.flatten(1)

    def reference(a: "Tensor", b: "Tensor") -> "Tensor":
        from torch.nn.functional import silu

        gate, up = gate_and_up(a @ b.mT)
        return (silu(gate) if activated else gate) * up

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: Any) -> "Tensor":
        a, b = inputs
        gate, up = gate_and_up(a @ b.mT)
        of_gate, of_up = gate_and_up(sums_error(a, b))
        activated = STEEPEST * of_gate + TANH / 2 * gate.abs()
        return UNIT_ROUNDOFF[out] * result.abs() + up.abs() * activated + gate.abs() * of_up

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor") -> None:
        import torch
        from torch.nn.functional import silu

        gate, up = (a @ half.mT for half in b.chunk(2))
        torch.mul(silu(gate), up, out=c)

    return replace(
        plain,
        name=f"linear_swiglu_{width}" if activated else "linear_product",
        output=Operand("c", "MN", "bf16", blocks=(1, 2)),
        reference=reference,
        bound=bound,
        baseline=baseline,
        baseline_name="torch",
    )


@dataclass(frozen=True)
class AmaxProblem(Problem):
    """`tile_amax`: each tile's largest lies in another quarter of its rows than its neighbors', so that of four tiles
    one is wrong where a part of the threads is left out."""

    def random(self, shape: Shape, generator: "Generator") -> "tuple[Tensor, ...]":
        import torch

        a, b = super().random(shape, generator)
        (m, _, k), (rows, columns) = shape, self.output.blocks
        down, across = (torch.arange(size, device=a.device) for size in self.shape_of(self.output, shape))
        row = down[:, None] * rows + (3 - (2 * down[:, None] + across) % 4) * (rows // 4)  # of each tile
        inside = row < m
        a[row[inside], (across % k).expand_as(row)[inside]] = 4 * a.abs().max()
        b[across * columns, across % k] = 4 * b.abs().max() * (1 - 2 * (across % 2)).to(b.dtype)
        return a, b


def tile_amax(tile: tuple[int, int]) -> Problem:
    """amax (M tiles, N tiles), fp32: the largest |A·Bᵀ| of every tile."""
    plain = gemm("bf16")

    def largest(matrix: "Tensor") -> "Tensor":
        """The bound of each tile; edge tiles are cut off."""
        from torch.nn.functional import pad

        (m, n), (rows, columns) = matrix.shape, tile
        whole = pad(matrix.abs(), (0, -n % columns, 0, -m % rows))
        return whole.unflatten(1, (-1, columns)).unflatten(0, (-1, rows)).amax((1, 3))

    return AmaxProblem(
        name="tile_amax",
        dims=plain.dims,
        inputs=plain.inputs,
        output=Operand("amax", "MN", "fp32", blocks=tile),
        reference=lambda a, b: largest(a @ b.mT),
        bound=lambda result, inputs, out: largest(sums_error(*inputs)),
        flops=plain.flops,
    )
