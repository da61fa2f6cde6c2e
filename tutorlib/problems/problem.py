"""A kernel's contract: its tensors, its function, its error bound, and the least cost."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tutorlib.compiling.spec import DTYPES, DType, TensorSpec

if TYPE_CHECKING:
    from torch import Generator, Tensor, dtype

Shape = tuple[int, ...]
Bound = Callable[["Tensor", "tuple[Tensor, ...]", DType], "Tensor"]


@dataclass(frozen=True)
class Operand:
    """One tensor of a problem, row-major: its last mode is contiguous. Matrices may be column-major.

    modes: one letter for each mode, "MK" for an (M, K) matrix.
    variance: the mode whose size divides the variance of random values ("K": they are scaled by K^-0.5), or "".
    scale: another factor of theirs.
    pattern: its values in the identity-and-ramp case.
    blocks: for each mode, the number of indices that share an element: (128, 1) for a scale of every 128 of K; (): 1.
    size: of a flat tensor of zeros, whatever the sizes are; its modes are "". scratch: whether a kernel may change it.
    """

    name: str
    modes: str
    dtype: DType
    variance: str = ""
    pattern: Literal["ramp", "identity", "steep", "masked"] = "ramp"
    scale: float = 1.0
    blocks: tuple[int, ...] = ()
    size: int = 0
    scratch: bool = False
    column_major: bool = False

    def laid_out(self, tensor: "Tensor") -> "Tensor":
        """The same values in this operand's order of memory."""
        return tensor.mT.contiguous().mT if self.column_major else tensor

    def spec(self, shape: Shape, dynamic: bool = False, divisible: int = 1) -> TensorSpec:
        """The tensor as compilers take it. dynamic, divisible: as TensorSpec has them."""
        order = (0, 1) if self.column_major else None
        return TensorSpec(shape, self.dtype, order, dynamic, divisible)


@dataclass(frozen=True)
class Problem:
    """The function that a kernel computes, for every shape.

    dims: the sizes that a shape names, one letter each: "MNK" for a GEMM, so that (512, 256, 64) has K = 64.
    reference: takes the inputs in high precision, returns the exact result.
    bound: takes that result, those inputs and the output's dtype; returns the largest |error| allowed, by element.
        None for a copy, which must be exact.
    flops: takes a shape; 0 where a problem only moves data.
    baseline: takes the output and the inputs, and runs the torch operation that a kernel is timed against, if it is.
    """

    name: str
    dims: str
    inputs: tuple[Operand, ...]
    output: Operand
    reference: Callable[..., "Tensor"]
    bound: Bound | None
    baseline: Callable[..., None] = lambda *tensors: None
    baseline_name: str = ""
    flops: Callable[[Shape], int] = lambda shape: 0

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Every tensor in the order of a kernel's parameters, the output last."""
        return (*self.inputs, self.output)

    def shape_of(self, operand: Operand, shape: Shape) -> Shape:
        """The operand's own shape: (M, K) of (M, N, K)."""
        if operand.size:
            return (operand.size,)
        sizes = dict(zip(self.dims, shape, strict=True))
        blocks = operand.blocks or (1,) * len(operand.modes)
        return tuple(-(-sizes[mode] // block) for mode, block in zip(operand.modes, blocks, strict=True))

    def bytes(self, shape: Shape) -> int:
        """The fewest bytes that must cross device memory: each input read once, the output written once."""
        matrices = (op for op in self.operands if not op.size)
        return sum(math.prod(self.shape_of(op, shape)) * DTYPES[op.dtype].bytes for op in matrices)

    def random(self, shape: Shape, generator: "Generator") -> "tuple[Tensor, ...]":
        """Inputs drawn from a normal distribution, on the generator's device."""
        import torch

        sizes = dict(zip(self.dims, shape, strict=True))

        def draw(op: Operand) -> "Tensor":
            dtype = torch_dtype(op.dtype)
            if op.size:
                return torch.zeros(op.size, dtype=dtype, device=generator.device)
            drawn = torch.float32 if dtype.itemsize == 1 else dtype  # torch draws no fp8
            values = torch.empty(self.shape_of(op, shape), dtype=drawn, device=generator.device)
            values.normal_(0, op.scale * sizes.get(op.variance, 1) ** -0.5, generator=generator)
            return op.laid_out(values.to(dtype))

        return tuple(draw(op) for op in self.inputs)

    def pattern(self, shape: Shape, device: str) -> "tuple[Tensor, ...]":
        """Inputs whose result names its own place: an identity times a ramp.

        A result with rows and columns exchanged, or two blocks, differs, and every value is exact in each dtype of the
        course (integers up to 256 are, in bf16).
        """
        return tuple(op.laid_out(fill(op, self.shape_of(op, shape), device)) for op in self.inputs)

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


def torch_dtype(name: DType) -> "dtype":
    import torch

    return getattr(torch, DTYPES[name].torch)


def fill(op: Operand, shape: Shape, device: str) -> "Tensor":
    """An identity (ones where both indices agree, modulo the shorter mode), a ramp of the integers 0 to 250, or
    integers that fall along the last mode from -750 to -1000 in one row and rise from 750 to 1000 in the next: each
    one's exponential is 0 or infinite, in fp64 too. Masked: a 0 in each row, one place further on than in the row
    before, and else -inf; some rows have no place left for the 0.
    """
    import torch

    if op.size:
        return torch.zeros(shape, dtype=torch_dtype(op.dtype), device=device)
    if op.pattern == "identity":
        row, column = (torch.arange(n, device=device) for n in shape)
        return (row[:, None] % shape[1] == column).to(torch_dtype(op.dtype))
    if op.pattern == "masked":
        row, column = (torch.arange(n, device=device) for n in shape)
        here = row[:, None] % (shape[1] + 1) == column
        return torch.where(here, 0.0, -torch.inf).to(torch_dtype(op.dtype))
    if op.pattern == "steep":
        rising = 750 + 250 * torch.arange(shape[-1], device=device) // shape[-1]
        sign = 2 * (torch.arange(shape[-2], device=device) % 2) - 1
        return (sign[:, None] * rising).expand(shape).to(torch_dtype(op.dtype)).contiguous()
    ramp = torch.zeros(shape, dtype=torch.int32, device=device)
    for mode, step in enumerate((31, 7, 3)[-len(shape) :]):  # coprime to 251, so neighbors differ in every mode
        index = torch.arange(shape[mode], dtype=torch.int32, device=device)
        ramp += step * (index % 251).view([-1 if n == mode else 1 for n in range(len(shape))])
    return (ramp % 251).to(torch_dtype(op.dtype))
