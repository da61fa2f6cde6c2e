"""Launchers that simulate, on any machine, the kernels of each language; and those of notebook 18's broken kernels."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from tutorlib.compiling.compiled import LaunchGrid
from tutorlib.compiling.cpp import ARCH, compile_cpp, compile_cuda
from tutorlib.compiling.dsls import compile_cutile, module_from
from tutorlib.compiling.errors import CompileFailed
from tutorlib.kernels.bugs.catalogue import Bug, CudaLaunch, CuteLaunch, CutileLaunch
from tutorlib.measuring.launchers import tensor_specs
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, Launcher, Work
from tutorlib.simulate.ptx.languages.cpp import simulate_cuda, simulate_tile_cpp
from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host
from tutorlib.simulate.ptx.languages.cutile import finder, launch
from tutorlib.simulate.ptx.report import Report

if TYPE_CHECKING:
    from torch import Tensor


class SimulatedLauncher(Launcher, Protocol):
    """A launcher for tensors in ordinary memory; its calls raise NotSimulated and CannotLaunch.

    reports: of the last call's launches. traced: whether they say what the first block did, step by step.
    """

    reports: list[Report]
    traced: bool


@dataclass
class Simulated:
    """A SimulatedLauncher of a kernel in source code.

    compile: takes a shape; raises CompileFailed. run: takes what it made, the tensors, and `traced`.
    """

    compile: Callable[[Shape], Any]
    run: Callable[[Any, Work, bool], list[Report]]
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def on(self, work: Work) -> Call:
        compiled = self.compile(work.shape)

        def call() -> None:
            self.reports = self.run(compiled, work, self.traced)

        return call


def simulated_cute(
    host: Callable[..., None], problem: Problem, dynamic: bool = False, divisible: int = 1, arch: str = "sm_80"
) -> Simulated:
    """A @cute.jit host function. dynamic, divisible: as in `tensor_specs`."""
    return Simulated(
        cache(lambda shape: compile_with_lines(host, tensor_specs(problem, shape, dynamic, divisible), arch)),
        lambda made, work, traced: simulate_host(made, work.named, dynamic=dynamic, traced=traced),
    )


def simulated_cutile(
    kernel: Any, problem: Problem, grid: Callable[[Shape], LaunchGrid], constants: tuple[Any, ...]
) -> Simulated:
    """A @ct.kernel. constants: its arguments after the tensors."""
    return Simulated(
        cache(lambda shape: compile_cutile(kernel, [*tensor_specs(problem, shape), *constants], ARCH)),
        lambda made, work, traced: [launch(made, finder(kernel, made), grid(work.shape), work.named, traced)],
    )


def simulated_cpp(source: str, grid: Callable[[Shape], LaunchGrid]) -> Simulated:
    """A Tile C++ kernel; grid as `measuring.launchers.CppLauncher` has it."""
    return Simulated(
        lambda shape: compile_cpp(source, ARCH),
        lambda made, work, traced: [simulate_tile_cpp(made, grid(work.shape), named_arguments(work), traced)],
    )


def simulated_cuda(source: str, grid: Callable[[Shape], LaunchGrid], block: Callable[[Shape], LaunchGrid]) -> Simulated:
    """A plain CUDA kernel; grid and block as `measuring.launchers.CppLauncher` has them."""

    def run(ptx: str, work: Work, traced: bool) -> list[Report]:
        return [simulate_cuda(source, grid(work.shape), block(work.shape), named_arguments(work), traced=traced)]

    return Simulated(lambda shape: compile_cuda(source), run)


def named_arguments(work: Work) -> "dict[str, Tensor | int | float]":
    """The tensors and the sizes, by their names in the problem."""
    return {**work.named, **dict(zip(work.problem.dims, work.shape, strict=True))}


# Broken kernels -------------------------------------------------------------------------------------------------------


@cache
def simulator_of(bug: Bug, text: str) -> Simulated:
    """The kernel of this text, launched as the bug's source is. Raises CompileFailed."""
    match bug.launch:
        case CudaLaunch(grid, block):
            return simulated_cuda(text, grid, block)
        case CuteLaunch(host, dynamic, divisible):
            function = launched(text, bug.name, host)
            return simulated_cute(function, bug.problem, dynamic, divisible, bug.needs.target)
        case CutileLaunch(kernel, grid, constants):
            return simulated_cutile(launched(text, bug.name, kernel), bug.problem, grid, constants)


def launched(text: str, file: str, name: str) -> Any:
    """The text's host function or kernel of this name. file: how messages call it. Raises CompileFailed."""
    found = getattr(module_from(text, file), name, None)
    if found is None:
        raise CompileFailed(f"the source no longer has {name}, the function that is launched")
    return found
