"""Evidence of an answer that is a kernel: plain data, made by one call in the process of the answer (`requests`).

A notebook's check makes it in its own process; the grader's judge gets it from the student's, as these records. No
machine code crosses: the judge compiles PTX and Tile IR itself, then simulates or launches it, with inputs and a clock
of its own. An entry that could not be made is the exception that says why; the judge raises it where it wants to use
the entry (`used`), and checks there what a process that is not trusted has sent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from tutorlib.compiling.errors import CompileFailed
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.simulate.cutile import TileReport
    from tutorlib.simulate.ptx.findings import SourceLine

T = TypeVar("T")
At = tuple[str, Shape]  # a problem's name, and a size of it
FIRST, APART = 2**45, 2**36  # the address that is made up for the first tensor of a launch, and how far the next is
MOST_PTX, MOST_TILE_IR = 2**24, 2**22  # characters, bytes
MOST_LAUNCHES = 64  # of one call
MOST_MEMORY = 2**28  # bytes that a host function allocates
UNREADABLE = "the compiled kernel cannot be read"
NO_LAUNCHES = "its launches cannot be read"
OUTSIDE = "a pointer of its launch leads out of its tensors"


def used(found: Any, kind: type[T], why: str = UNREADABLE) -> T:
    """The entry. Raises what stands in its place, and CompileFailed where it is nothing of this kind."""
    if isinstance(found, Exception):
        raise found.with_traceback(None)
    if not isinstance(found, kind):
        raise CompileFailed(why)
    return found


def are_counts(numbers: Any, least: int = 0, below: int = 2**31) -> bool:
    """Whether these are integers in this range."""
    return all(type(n) is int and least <= n < below for n in numbers)


# CuTe ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RecordedLaunch:
    """A launch of a host function on tensors at made-up addresses: tensor n lies at FIRST + n · APART."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    dynamic_smem: int
    parameters: bytes
    cluster: tuple[int, ...]
    cooperative: bool
    overlapping: bool


@dataclass(frozen=True, kw_only=True)
class CuteCode:
    """The kernels of a host function, compiled for one size and GPU, and their launches.

    smem_bytes: of a block. places: the lines of the reader's source; the PTX's line information numbers them from 1.
    """

    ptx: str
    smem_bytes: int = 0
    launches: tuple[RecordedLaunch, ...] = ()
    places: "tuple[SourceLine | None, ...]" = ()


@dataclass(frozen=True, kw_only=True)
class CuteEvidence:
    """Of a @cute.jit host function.

    looked: points and lines of the part's verdict on the answer by itself. codes: by size and compute capability, ""
    for the simulator.
    """

    looked: tuple[float, tuple[str, ...]] | None = None
    codes: Mapping[tuple[Shape, str], CuteCode | Exception] = field(default_factory=dict)

    def at(self, shape: Shape, arch: str = "") -> CuteCode:
        """Raises as `used`."""
        code = used(self.codes.get((shape, arch)), CuteCode)
        if not (isinstance(code.ptx, str) and len(code.ptx) <= MOST_PTX and ".entry" in code.ptx):
            raise CompileFailed(UNREADABLE)
        return code


def relocated(parameters: bytes, addresses: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Offset and value of each pointer among a recorded launch's parameters, for tensors at these addresses.

    A word that points into a made-up tensor is a pointer: a parameter, a member of a struct, or the first word of a TMA
    descriptor. sizes: of the tensors, in bytes. Raises CompileFailed where one leads out of its tensor.
    """
    for at in range(0, len(parameters) - 7, 8):
        tensor, offset = divmod(int.from_bytes(parameters[at : at + 8], "little") - FIRST, APART)
        if 0 <= tensor < len(sizes):
            if offset >= sizes[tensor]:
                raise CompileFailed(OUTSIDE)
            yield at, addresses[tensor] + offset


# cuTile --------------------------------------------------------------------------------------------------------------


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

    def is_one(self, memories: int) -> bool:
        """Whether it can be one in so many memories."""
        counts = (self.memory, self.start, *self.shape, *self.strides)
        return self.ndim == len(self.strides) and are_counts(counts, below=2**40) and self.memory < memories

    def within(self, memories: "Sequence[Tensor]") -> "Tensor":
        """Raises CompileFailed where it is not."""
        import torch

        memory, dtype = memories[self.memory], getattr(torch, self.dtype, None)
        if not isinstance(dtype, torch.dtype) or not all(self.shape) or self.start % dtype.itemsize:
            raise CompileFailed(NO_LAUNCHES)
        last = sum((n - 1) * d for n, d in zip(self.shape, self.strides, strict=True))
        end = self.start + dtype.itemsize * (1 + last)
        if end > memory.numel():
            raise CompileFailed("it launches on a tensor that reaches beyond its memory")
        return memory[self.start : end].view(dtype).as_strided(self.shape, self.strides)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A launch of Tile IR. args: all of the kernel's. constants: the numbers of those that are compiled in."""

    tile_ir: bytes
    opt_level: int
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    constants: tuple[int, ...]

    @property
    def taken(self) -> tuple[Placed | float, ...]:
        """The arguments that are passed."""
        return tuple(arg for n, arg in enumerate(self.args) if n not in self.constants)

    def is_one(self, memories: int) -> bool:
        """Whether it can be one with so many memories."""
        return (
            type(self.tile_ir) is bytes
            and len(self.tile_ir) <= MOST_TILE_IR
            and self.opt_level in range(4)
            and 1 <= len(self.grid) <= 3
            and are_counts(self.grid, least=1)
            and all(
                arg.is_one(memories)
                if isinstance(arg, Placed)
                else type(arg) is float or are_counts([arg], least=-(2**31))
                for arg in self.taken
            )
        )


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """Launches of cuTile kernels, in order. memories: those that a host function allocated beside the problem's
    tensors, as bytes.
    """

    launches: tuple[Planned, ...]
    memories: tuple[bytes, ...]

    def laid_out(self, tensors: "Sequence[Tensor]") -> "list[Tensor]":
        """The memories as bytes: the tensors' own, and new ones beside them."""
        import torch

        own = [tensor.view(-1).view(torch.uint8) for tensor in tensors]
        made = (torch.frombuffer(bytearray(raw), dtype=torch.uint8) for raw in self.memories)
        return [*own, *(one.to(tensors[0].device) for one in made)]


@dataclass(frozen=True, kw_only=True)
class Interpreted:
    """A call that was interpreted, block by block.

    output: poison where nothing was stored. changed: the inputs that differ afterwards, by number. raised: by the call.
    current: whether all launches are in torch's current stream.
    """

    output: "Tensor | None" = None
    changed: tuple[int, ...] = ()
    reports: "tuple[TileReport, ...]" = ()
    raised: str = ""
    current: bool = True


Calls = tuple["tuple[Tensor, ...]", ...]  # the tensors of each call: inputs of the judge's, and a poisoned output


@dataclass(frozen=True, kw_only=True)
class TileEvidence:
    """Of a @ct.kernel, or of a host function that launches some.

    plans: by problem and size, target ("sm_90") and number of the GPU's SMs. file, lines: a kernel's source. calls: as
    the judge asked for.
    """

    plans: Mapping[tuple[At, str, int], LaunchPlan | Exception] = field(default_factory=dict)
    interpreted: Mapping[At, tuple[Interpreted, ...] | Exception] = field(default_factory=dict)
    file: str = ""
    lines: tuple[str, ...] = ()
    calls: Mapping[At, Calls] = field(default_factory=dict)

    def plan(self, at: At, target: str, sms: int, operands: int) -> LaunchPlan:
        """A plan for a problem of so many tensors. Raises as `used`."""
        plan = used(self.plans.get((at, target, sms)), LaunchPlan, NO_LAUNCHES)
        try:
            memories = operands + len(plan.memories)
            right = (
                all(type(one) is bytes for one in plan.memories)
                and sum(map(len, plan.memories)) <= MOST_MEMORY
                and len(plan.launches) <= MOST_LAUNCHES
                and all(one.is_one(memories) for one in plan.launches)
            )
        except (AttributeError, TypeError):
            right = False
        if not right:
            raise CompileFailed(NO_LAUNCHES)
        return plan
