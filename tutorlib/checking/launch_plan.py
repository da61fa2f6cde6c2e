"""What a host function of cuTile kernels launches, as plain data: Tile IR, grids, and tensors by their place in memory.

It may come from a process that is not trusted: `checked` says whether it can be launched at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tutorlib.compiling.errors import CompileFailed

if TYPE_CHECKING:
    from torch import Tensor

MOST_TILE_IR = 2**22  # bytes
MOST_LAUNCHES = 64  # of one call
MOST_MEMORY = 2**28  # bytes that a host function allocates
NO_LAUNCHES = "its launches cannot be read"


@dataclass(frozen=True, kw_only=True)
class TileIr:
    """A kernel as cuTile exports it."""

    tile_ir: bytes
    opt_level: int

    def checked(self) -> Self:
        """Raises CompileFailed where it cannot be compiled."""
        if type(self.tile_ir) is not bytes or len(self.tile_ir) > MOST_TILE_IR or self.opt_level not in range(4):
            raise CompileFailed("its Tile IR cannot be read")
        return self


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A tensor in one of the memories of a plan. start: its first byte there."""

    memory: int
    start: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def within(self, memories: "Sequence[Tensor]") -> "Tensor":
        """Raises CompileFailed where it is not."""
        import torch

        memory, dtype = memories[self.memory], getattr(torch, self.dtype, None)
        if not isinstance(dtype, torch.dtype) or not all(self.shape) or self.start % dtype.itemsize:
            raise CompileFailed(NO_LAUNCHES)
        end = self.start + dtype.itemsize * (
            1 + sum((n - 1) * d for n, d in zip(self.shape, self.strides, strict=True))
        )
        if end > memory.numel():
            raise CompileFailed("it launches on a tensor that reaches beyond its memory")
        return memory[self.start : end].view(dtype).as_strided(self.shape, self.strides)


@dataclass(frozen=True, kw_only=True)
class Planned(TileIr):
    """A launch. args: all of the kernel's. constants: the numbers of those that are compiled in."""

    grid: tuple[int, ...]
    args: tuple[Any, ...]
    constants: tuple[int, ...]

    @property
    def taken(self) -> tuple[Placed | int, ...]:
        """The arguments that are passed."""
        return tuple(arg for n, arg in enumerate(self.args) if n not in self.constants)


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """A host function's launches, in order. memories: what it allocated beside the problem's tensors, as bytes."""

    launches: tuple[Planned, ...]
    memories: tuple[bytes, ...]

    def checked(self, operands: int) -> Self:
        """Raises CompileFailed where these cannot be the launches of a host function of so many tensors."""
        if (
            not all(type(one) is bytes for one in self.memories)
            or sum(map(len, self.memories)) > MOST_MEMORY
            or len(self.launches) > MOST_LAUNCHES
            or not all(is_launch(one.checked(), operands + len(self.memories)) for one in self.launches)
        ):
            raise CompileFailed(NO_LAUNCHES)
        return self

    def laid_out(self, tensors: "Sequence[Tensor]") -> "list[Tensor]":
        """The memories as bytes: the tensors' own, and new ones beside them."""
        import torch

        own = [tensor.view(-1).view(torch.uint8) for tensor in tensors]
        made = (torch.frombuffer(bytearray(raw), dtype=torch.uint8) for raw in self.memories)
        return [*own, *(one.to(tensors[0].device) for one in made)]


def is_launch(one: Planned, memories: int) -> bool:
    """Whether it can be one with so many memories."""
    sizes = 1 <= len(one.grid) <= 3 and all(type(size) is int and 0 < size < 2**31 for size in one.grid)
    return sizes and all(is_placed(arg, memories) or is_number(arg) for arg in one.taken)


def is_number(arg: Any) -> bool:
    return type(arg) is int and -(2**31) <= arg < 2**31


def is_placed(arg: Any, memories: int) -> bool:
    if not isinstance(arg, Placed) or len(arg.shape) != len(arg.strides):
        return False
    counts = (arg.memory, arg.start, *arg.shape, *arg.strides)
    return all(type(n) is int and 0 <= n < 2**40 for n in counts) and arg.memory < memories
