"""The tensors of one call, launchers that make calls on them, and checked calls."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from tutorlib.problems.fault import guarded
from tutorlib.problems.output import Output, Snapshot
from tutorlib.problems.problem import Problem, Shape

if TYPE_CHECKING:
    from torch import Generator, Tensor

Call = Callable[[], None]  # queues the work of one call on the current stream

DEVICE = "cuda"
TIME_LIMIT_S = 10.0  # for one call of a kernel


def new_generator() -> "Generator":
    """A generator on the GPU with a secret seed."""
    import torch

    generator = torch.Generator(DEVICE)
    generator.seed()
    return generator


class Work:
    """The tensors of one call: inputs, at first identity and ramp, and an output that belongs to the checker."""

    def __init__(self, problem: Problem, shape: Shape, device: str = "") -> None:
        """device: of the tensors; "" for the GPU."""
        self.problem, self.shape = problem, shape
        self.inputs = problem.pattern(shape, device or DEVICE)
        self.output = Output(problem.output, problem.shape_of(problem.output, shape), device or DEVICE)

    @property
    def tensors(self) -> "tuple[Tensor, ...]":
        return (*self.inputs, self.output.tensor)

    @property
    def named(self) -> "dict[str, Tensor]":
        """The tensors by their names in the problem."""
        return dict(zip((operand.name for operand in self.problem.operands), self.tensors, strict=True))

    def refill(self, generator: "Generator") -> None:
        """New random inputs in the same memory."""
        for old, new in zip(self.inputs, self.problem.random(self.shape, generator), strict=True):
            old.copy_(new)

    def checksums(self) -> tuple[int, ...]:
        """A sum over the bits of each input that a kernel may not change."""
        import torch

        kept = [x for op, x in zip(self.problem.inputs, self.inputs, strict=True) if not op.scratch]
        integers = {1: torch.int8, 2: torch.int16, 4: torch.int32}
        return tuple(int(x.view(integers[x.element_size()]).sum(dtype=torch.int64)) for x in kept)

    def expected(self) -> "tuple[Tensor, Tensor]":
        return self.problem.expected(self.inputs, self.shape)


class Launcher(Protocol):
    """A kernel for the GPU at hand, in whatever language: CuTe, cuTile, Tile C++, or torch in a test."""

    def on(self, work: Work) -> Call:
        """A call of the kernel on these tensors, compiled. Raises CompileFailed."""
        ...


def call_in_order(call: Call, output: Output) -> Snapshot:
    """Poison the output, call, and copy the output, all queued on the current stream. Raises KernelFault."""

    left: list[Snapshot] = []
    output.snapshot()  # allocate memory and load the copying kernels now: later that would wait for running kernels

    def run() -> None:
        output.poison()
        call()
        left.append(output.snapshot())

    guarded(run, TIME_LIMIT_S)
    return left[0]
