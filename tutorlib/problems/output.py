"""The output of a kernel: it belongs to the checker, is filled with NaN, and has a guard band on either side."""

import math
from typing import TYPE_CHECKING

from tutorlib.compiling.spec import DTYPES
from tutorlib.problems.problem import Operand, Shape, torch_dtype
from tutorlib.problems.wrong import count
from tutorlib.simulate.tensors import POISON

if TYPE_CHECKING:
    from torch import Tensor

GUARD = 2**20  # bytes of each band: it catches a whole tile past the end


class Output:
    """Memory for one output and its guard bands, every element poisoned.

    tensor: the kernel's argument, contiguous, of the operand's dtype.
    memory: all of it, viewed as integers of the same width.
    """

    def __init__(self, operand: Operand, shape: Shape, device: str) -> None:
        import torch

        width = DTYPES[operand.dtype].bytes
        self.shape, self.dtype = shape, torch_dtype(operand.dtype)
        self.poison_bits = POISON[width]
        self.band = GUARD // width
        integers = {2: torch.int16, 4: torch.int32}[width]
        self.memory = torch.empty(2 * self.band + math.prod(shape), dtype=integers, device=device)
        self.tensor = self.inside(self.memory).view(self.dtype).view(shape)
        self.poison()

    def inside(self, memory: "Tensor") -> "Tensor":
        return memory[self.band : -self.band]

    def poison(self) -> None:
        self.memory.fill_(self.poison_bits)

    def snapshot(self) -> "Snapshot":
        """A copy of the memory, made on the current stream."""
        return Snapshot(self, self.memory.clone())

    def as_it_is(self) -> "Snapshot":
        """The memory itself, for outputs that are too large to copy."""
        return Snapshot(self, self.memory)


class Snapshot:
    """A kernel's output.

    result: the output's values. unwritten: where they are still poison.
    """

    def __init__(self, output: Output, memory: "Tensor") -> None:
        self.output, self.memory = output, memory
        inside = output.inside(memory)
        self.result = inside.view(output.dtype).view(output.shape)
        self.unwritten = (inside == output.poison_bits).view(output.shape)

    @property
    def seen(self) -> "tuple[Tensor, Tensor]":
        """The values, and the mask of unwritten ones."""
        return self.result, self.unwritten

    def overrun(self) -> str | None:
        """A sentence about writes outside the output, or None if both guard bands are untouched."""
        touched = self.memory != self.output.poison_bits
        before = touched[: self.output.band].flip(0).nonzero()[:, 0] + 1  # distances from the output
        after = touched[-self.output.band :].nonzero()[:, 0] + 1
        if len(after):
            return f"{count(len(after), 'element')} after its end, the first {int(after[0])} past the last one"
        if len(before):
            return (
                f"{count(len(before), 'element')} before its start, the nearest {int(before[0])} before the first one"
            )
        return None
