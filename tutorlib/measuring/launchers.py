"""A kernel of each language, compiled for the GPU at hand and ready to be called: `problems.work.Launcher`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tutorlib.compiling.cpp import CompiledCpp, compile_cpp
from tutorlib.compiling.cute import CompiledCute, compile_cute, cute_arguments
from tutorlib.compiling.driver import LaunchGrid, load
from tutorlib.compiling.spec import TensorSpec
from tutorlib.machine import device
from tutorlib.machine.features import cute_target
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, Work


def tensor_specs(problem: Problem, shape: Shape, dynamic: bool = False, divisible: int = 1) -> list[TensorSpec]:
    """The tensors of a problem as compilers take them, the output last.

    dynamic: sizes are known at run time only. divisible: what then divides the contiguous mode's size.
    """
    return [
        TensorSpec(problem.shape_of(op, shape), op.dtype, dynamic=dynamic, divisibility=divisible)
        for op in problem.operands
    ]


@dataclass
class CuteLauncher:
    """A @cute.jit host function, compiled for each shape anew, or once where layouts are dynamic.

    host: takes the problem's tensors, the output last, and launches. dynamic, divisible: as in `tensor_specs`.
    """

    host: Callable[..., None]
    problem: Problem
    dynamic: bool = False
    divisible: int = 1
    _compiled: dict[tuple[Shape, str], CompiledCute] = field(default_factory=dict)

    def compiled(self, shape: Shape, arch: str) -> CompiledCute:
        """For tensors of this shape and a compute capability ("90"). Raises CompileFailed."""
        key = () if self.dynamic else shape, arch
        if key not in self._compiled:
            specs = tensor_specs(self.problem, shape, self.dynamic, self.divisible)
            self._compiled[key] = compile_cute(self.host, specs, cute_target(arch))
        return self._compiled[key]

    def on(self, work: Work) -> Call:
        compiled = self.compiled(work.shape, device.need_gpu().arch)
        return partial(compiled.function, *cute_arguments(work.tensors, self.dynamic))


@dataclass(frozen=True)
class CutileLauncher:
    """A @ct.kernel; cuTile compiles it when it is first launched on tensors of a kind.

    grid: takes a shape, gives the number of blocks along x, y and z.
    constants: takes a shape, gives the arguments after the tensors.
    """

    kernel: Any
    grid: Callable[[Shape], LaunchGrid]
    constants: Callable[[Shape], tuple[Any, ...]]

    def on(self, work: Work) -> Call:
        import cuda.tile as ct
        import torch

        arguments = (*work.tensors, *self.constants(work.shape))
        grid = self.grid(work.shape)
        return lambda: ct.launch(torch.cuda.current_stream(), grid, self.kernel, arguments)


@dataclass
class CppLauncher:
    """A Tile C++ kernel that takes the problem's tensors, the output last, and then its sizes.

    source: as `compile_cpp` takes it. grid: takes a shape, gives the number of tile blocks along x, y and z.
    """

    source: str
    grid: Callable[[Shape], LaunchGrid]

    @property
    def compiled(self) -> CompiledCpp:
        """Raises CompileFailed."""
        return compile_cpp(self.source, device.tile_target())

    def on(self, work: Work) -> Call:
        return load(self.compiled, self.grid(work.shape), (*work.tensors, *work.shape))
