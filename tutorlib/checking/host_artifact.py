"""The artifact of a host function that launches cuTile kernels: the answer's process records its launches.

The judge carries them out, simulated or on the GPU, on its own tensors. Whatever else the host function computes with
torch, it computes in its own process, on tensors of zeros.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tutorlib.checking.artifact import MOST_LAUNCHES, MOST_TILE_IR, UNREADABLE, Artifact
from tutorlib.checking.artifact_launch import cutile_arguments, load_entry, packed
from tutorlib.checking.kernel_questions import cutile_launches
from tutorlib.compiling.compiled import Compiled, LaunchConfig
from tutorlib.compiling.cutile import compile_tile_ir
from tutorlib.compiling.errors import CompileFailed
from tutorlib.machine import device
from tutorlib.measuring.driver import prepare
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Call, Work
from tutorlib.simulate.ptx.report import Report

if TYPE_CHECKING:
    from torch import Tensor

MOST_MEMORY = 2**28  # bytes that a host function allocates


@dataclass(frozen=True)
class Placed:
    """A tensor in one of the memories. start: its first byte there."""

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
            raise CompileFailed(UNREADABLE)
        last = sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        if self.start + (last + 1) * dtype.itemsize > memory.numel():
            raise CompileFailed("it launches on a tensor that reaches beyond its memory")
        flat = memory[self.start : self.start + (last + 1) * dtype.itemsize].view(dtype)
        return flat.as_strided(self.shape, self.strides)


@dataclass(frozen=True)
class Planned:
    """A launch. args: all of the kernel's. taken: those that are not compiled in as constants."""

    tile_ir: bytes
    opt_level: int
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    taken: tuple[Placed | int, ...]

    def compiled(self, arch: str) -> Compiled:
        return compile_tile_ir(self.tile_ir, arch, self.opt_level)


@dataclass(frozen=True)
class LaunchPlan:
    """A host function's launches, in order. memories: None for each tensor, then those that it allocated."""

    launches: tuple[Planned, ...]
    memories: tuple[bytes | None, ...]

    def laid_out(self, tensors: "Sequence[Tensor]") -> "list[Tensor]":
        """The memories as bytes: the tensors' own, and new ones beside them."""
        import torch

        own = [tensor.view(-1).view(torch.uint8) for tensor in tensors]
        made = (torch.frombuffer(bytearray(raw), dtype=torch.uint8) for raw in self.memories[len(own) :] if raw)
        return [*own, *(one.to(tensors[0].device) for one in made)]


@dataclass
class HostArtifact(Artifact):
    """The host function."""

    _plans: dict[tuple[Shape, str, int], LaunchPlan] = field(default_factory=dict)

    def plan(self, shape: Shape, arch: str, sms: int) -> LaunchPlan:
        """Its launches on tensors of this shape. Raises CompileFailed."""
        if (shape, arch, sms) not in self._plans:
            try:
                self._plans[shape, arch, sms] = read_plan(self.ask(cutile_launches, shape, arch, sms), self.operands)
            except (KeyError, TypeError, ValueError) as error:
                raise CompileFailed(UNREADABLE) from error
        return self._plans[shape, arch, sms]


def read_plan(told: Any, operands: int) -> LaunchPlan:
    """Raises KeyError, TypeError and ValueError if the data is malformed."""
    memories = tuple(told["memories"])
    if list(memories[:operands]) != [None] * operands or not all(type(one) is bytes for one in memories[operands:]):
        raise ValueError("no memories")
    if sum(map(len, memories[operands:])) > MOST_MEMORY:
        raise ValueError("too much memory")
    return LaunchPlan(tuple(read_planned(one, len(memories)) for one in told["launches"][:MOST_LAUNCHES]), memories)


def read_planned(told: Any, memories: int) -> Planned:
    tile_ir, opt_level, grid = told["tile_ir"], told["opt_level"], tuple(told["grid"])
    if type(tile_ir) is not bytes or len(tile_ir) > MOST_TILE_IR or opt_level not in range(4):
        raise ValueError("no Tile IR")
    if not 1 <= len(grid) <= 3 or not all(type(size) is int and 0 < size < 2**31 for size in grid):
        raise ValueError("no grid")
    kinds = [one[0] for one in told["args"]]
    args = [one[1] if one[0] == "constant" else read_argument(memories, *one) for one in told["args"]]
    taken = tuple(arg for kind, arg in zip(kinds, args, strict=True) if kind != "constant")
    return Planned(tile_ir, int(opt_level), grid, tuple(args), taken)


def read_argument(memories: int, kind: str, *rest: Any) -> Placed | int:
    if kind == "number":
        (number,) = rest
        if type(number) is not int or not -(2**31) <= number < 2**31:
            raise ValueError("no number")
        return number
    which, start, dtype, shape, strides = rest
    counts = (which, start, *shape, *strides)
    if len(shape) != len(strides) or not all(type(n) is int and 0 <= n < 2**40 for n in counts) or which >= memories:
        raise ValueError("no tensor")
    return Placed(which, start, str(dtype), tuple(shape), tuple(strides))


@dataclass
class SimulatedHostArtifact:
    """A launcher (`problems.work.Launcher`) that simulates. reports: of the last call's launches."""

    kernel: HostArtifact
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def plan(self, shape: Shape, sms: int | None = None) -> LaunchPlan:
        """sms: None for as many as the interpreter has."""
        from tutorlib.checking.cutile_launches import SMS
        from tutorlib.simulate.ptx.languages.cutile import ARCH

        return self.kernel.plan(shape, ARCH, sms or SMS)

    def ptx(self, shape: Shape) -> str:
        from tutorlib.simulate.ptx.languages.cutile import ARCH

        return "\n".join(one.compiled(ARCH).ptx for one in self.plan(shape).launches)

    def on(self, work: Work) -> Call:
        from tutorlib.simulate.ptx.languages.cutile import ARCH, launch

        plan = self.plan(work.shape)
        names = [operand.name for operand in work.problem.operands]

        def call() -> None:
            memories = plan.laid_out(work.tensors)
            self.reports = []
            for one in plan.launches:
                found: dict[str, Tensor | int] = {}
                for n, arg in enumerate(one.taken):
                    name = f"argument {n}"
                    if isinstance(arg, Placed):
                        known = names[arg.memory] if arg.memory < len(names) else name
                        found[name if known in found else known] = arg.within(memories)
                    else:
                        found[name] = arg
                made = one.compiled(ARCH)
                self.reports.append(launch(made, lambda instruction: None, one.grid, found, self.traced))

        return call


@dataclass
class LaunchedHostArtifact:
    """A launcher (`problems.work.Launcher`) for the GPU at hand, of the host function's recorded launches."""

    kernel: HostArtifact
    _loaded: dict[bytes, Any] = field(default_factory=dict)

    def on(self, work: Work) -> Call:
        gpu = device.need_gpu()
        plan = self.kernel.plan(work.shape, device.tile_target(), gpu.sms)
        memories = plan.laid_out(work.tensors)
        made = memories[len(work.tensors) :]
        first = [memory.clone() for memory in made]
        launches = [self.prepared(one, memories) for one in plan.launches]

        def call() -> None:
            for memory, content in zip(made, first, strict=True):
                memory.copy_(content)  # each call starts from the host function's memories, not from the last call's
            for launch in launches:
                launch()

        return call

    def prepared(self, one: Planned, memories: "Sequence[Tensor]") -> Call:
        kinds, values = cutile_arguments(arg if isinstance(arg, int) else arg.within(memories) for arg in one.taken)
        if one.tile_ir not in self._loaded:
            self._loaded[one.tile_ir] = load_entry(one.compiled(device.tile_target()), kinds)
        return prepare(self._loaded[one.tile_ir], LaunchConfig(one.grid), *packed(kinds, values))
