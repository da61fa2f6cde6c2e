"""Launchers that simulate, on any machine, the kernels of each language; and those of notebook 21's broken kernels."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from tutorlib.compiling.compiled import LaunchGrid
from tutorlib.compiling.cpp import ARCH, compile_cpp, compile_cuda
from tutorlib.compiling.dsls import compile_cutile, module_from
from tutorlib.compiling.errors import CompileFailed
from tutorlib.kernels.bugs.catalogue import Bug, CudaLaunch, CuteLaunch, CutileLaunch
from tutorlib.measuring.launchers import tensor_specs
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, Launcher, Work
from tutorlib.simulate.ptx.languages.cuda import simulate_cuda, simulate_cutile
from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host
from tutorlib.simulate.ptx.report import Report


class SimulatedLauncher(Launcher, Protocol):
    """A launcher for tensors in ordinary memory; its calls raise NotSimulated and CannotLaunch.

    reports: of the last call's launches.
    """

    reports: list[Report]


@dataclass
class Simulated:
    """A SimulatedLauncher of a kernel in source code.

    compile: takes a shape; raises CompileFailed. run: takes what it made, and the tensors.
    """

    compile: Callable[[Shape], Any]
    run: Callable[[Any, Work], list[Report]]
    reports: list[Report] = field(default_factory=list)

    def on(self, work: Work) -> Call:
        compiled = self.compile(work.shape)

        def call() -> None:
            self.reports = self.run(compiled, work)

        return call


def simulated_cute(
    host: Callable[..., None], problem: Problem, dynamic: bool = False, divisible: int = 1, arch: str = "sm_80"
) -> Simulated:
    """A @cute.jit host function. dynamic, divisible: as in `tensor_specs`."""
    return Simulated(
        cache(lambda shape: compile_with_lines(host, tensor_specs(problem, shape, dynamic, divisible), arch)),
        lambda made, work: simulate_host(made, work.named, dynamic=dynamic),
    )


def simulated_cutile(
    kernel: Any, problem: Problem, grid: Callable[[Shape], LaunchGrid], constants: tuple[Any, ...]
) -> Simulated:
    """A @ct.kernel. constants: its arguments after the tensors."""
    return Simulated(
        cache(lambda shape: compile_cutile(kernel, [*tensor_specs(problem, shape), *constants], ARCH)),
        lambda made, work: [simulate_cutile(kernel, made, grid(work.shape), work.named)],
    )


def simulated_cpp(
    source: str, grid: Callable[[Shape], LaunchGrid], block: Callable[[Shape], LaunchGrid] | None = None
) -> Simulated:
    """A Tile C++ kernel, or a plain CUDA kernel; grid and block as `measuring.launchers.CppLauncher` has them."""

    def run(made: Any, work: Work) -> list[Report]:
        sizes = grid(work.shape), block(work.shape) if block else ()
        numbers = dict(zip(work.problem.dims, work.shape, strict=True))
        return [simulate_cuda(source, *sizes, work.named | numbers)]

    return Simulated(lambda shape: compile_cuda(source) if block else compile_cpp(source, ARCH), run)


# Broken kernels -------------------------------------------------------------------------------------------------------


@cache
def simulator_of(bug: Bug, text: str) -> Simulated:
    """The kernel of this text, launched as the bug's source is. Raises CompileFailed."""
    match bug.launch:
        case CudaLaunch(grid, block):
            return simulated_cpp(text, grid, block)
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
