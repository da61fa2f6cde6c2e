"""A kernel of each language, compiled for the GPU at hand and ready to be called: `problems.work.Launcher`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.compiled import LaunchGrid
from tutorlib.compiling.cpp import CompiledCpp, compile_cpp, compile_cuda_kernel
from tutorlib.compiling.dsls import CompiledCute, compile_cute, cute_arguments
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine import device
from tutorlib.machine.features import cute_target
from tutorlib.measuring.driver import load
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, Work

if TYPE_CHECKING:
    from tutorlib.kernels.hopper.parts import Parts


def tensor_specs(problem: Problem, shape: Shape, dynamic: bool = False, divisible: int = 1) -> list[TensorSpec]:
    """The tensors of a problem as compilers take them, the output last.

    dynamic: sizes are known at run time only. divisible: what then divides the contiguous mode's size.
    """
    return [op.spec(problem.shape_of(op, shape), dynamic, divisible) for op in problem.operands]


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


@dataclass(frozen=True)
class HostLauncher:
    """A host function: it takes the problem's tensors, the output last, and launches kernels."""

    host: Callable[..., Any]

    def on(self, work: Work) -> Call:
        return partial(self.host, *work.tensors)


@dataclass(frozen=True)
class CppLauncher:
    """A C++ kernel that takes the problem's tensors, the output last, and then its sizes.

    source: of one __tile_global__ function, as `compile_cpp` takes it, or of one __global__ function.
    grid: takes a shape, gives the number of blocks along x, y and z. block: the same for a block's threads; None of
    Tile C++.
    """

    source: str
    grid: Callable[[Shape], LaunchGrid]
    block: Callable[[Shape], LaunchGrid] | None = None

    def compiled(self, arch: str) -> CompiledCpp:
        """For a target ("sm_90"). Raises CompileFailed."""
        return compile_cuda_kernel(self.source, arch) if self.block else compile_cpp(self.source, arch)

    def on(self, work: Work) -> Call:
        compiled = self.compiled(device.tile_target())
        block = self.block(work.shape) if self.block else (1,)
        return load(compiled, self.grid(work.shape), (*work.tensors, *work.shape), block)


@dataclass
class HopperLauncher:
    """The Hopper GEMM as configured, compiled once for all shapes.

    Where config.scaled, both scales are 1, as the baseline's are. parts: None for the course's.
    """

    config: HopperConfig
    parts: "Parts | None" = None
    _launches: dict[Shape, Callable[..., None]] = field(default_factory=dict)

    def on(self, work: Work) -> Call:
        import torch

        from tutorlib.kernels.hopper import launch

        if work.shape not in self._launches:  # whose scratch memory is kept for the next call
            m, n, k = work.shape
            self._launches[work.shape] = launch.launcher(self.config, m, n, k, self.parts or launch.COURSE)
        a, b, *scales = work.inputs
        if self.config.scaled:
            scales = [torch.ones(1, device=a.device)] * 2
        return partial(self._launches[work.shape], a, b, work.output.tensor, *scales)
