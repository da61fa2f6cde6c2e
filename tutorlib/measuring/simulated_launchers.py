"""Launchers that simulate, on any machine, the kernels of each language; and those of notebook 18's broken kernels."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.cpp import ARCH, compile_cpp, compile_cuda
from tutorlib.compiling.dsls import module_from
from tutorlib.compiling.errors import CompileFailed
from tutorlib.kernels.bugs.catalogue import Bug, CudaLaunch, CuteLaunch, CutileLaunch
from tutorlib.measuring.launchers import CudaLauncher, CuteLauncher, CutileLauncher, tensor_specs
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, Work
from tutorlib.simulate.ptx.languages.cpp import simulate_cuda, simulate_tile_cpp
from tutorlib.simulate.ptx.languages.cute import Traced, compile_with_lines, simulate_host
from tutorlib.simulate.ptx.languages.cutile import finder, launch
from tutorlib.simulate.ptx.report import Report

if TYPE_CHECKING:
    from torch import Tensor


class SimulatedLauncher(Protocol):
    """A launcher (`problems.work.Launcher`) for tensors in ordinary memory. reports: of the last call's launches.

    traced: whether its reports say what the first block did, step by step.
    """

    reports: list[Report]
    traced: bool

    def on(self, work: Work) -> Call:
        """A call of the kernel on these tensors. What compiles, compiles here.

        Raises CompileFailed; the call raises NotSimulated and CannotLaunch.
        """
        ...


@dataclass
class SimulatedCute:
    """A launcher (`problems.work.Launcher`) that simulates. reports: of the last call's launches."""

    host: Callable[..., None]
    problem: Problem
    dynamic: bool = False
    divisible: int = 1
    arch: str = "sm_80"
    reports: list[Report] = field(default_factory=list)
    traced: bool = False
    _compiled: dict[Shape, Traced] = field(default_factory=dict)

    def compiled(self, shape: Shape) -> Traced:
        """Raises CompileFailed."""
        key = () if self.dynamic else shape
        if key not in self._compiled:
            specs = tensor_specs(self.problem, shape, self.dynamic, self.divisible)
            self._compiled[key] = compile_with_lines(self.host, specs, self.arch)
        return self._compiled[key]

    def on(self, work: Work) -> Call:
        traced = self.compiled(work.shape)

        def call() -> None:
            self.reports = simulate_host(traced, work.named, dynamic=self.dynamic, traced=self.traced)

        return call


@dataclass
class SimulatedCutile:
    """A launcher (`problems.work.Launcher`) that simulates. reports: of the last call.

    grid: takes a shape, gives the number of blocks along x, y and z. compile: takes a shape and a target.
    """

    kernel: Any
    grid: Callable[[Shape], tuple[int, ...]]
    compile: Callable[[Shape, str], Compiled]
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def on(self, work: Work) -> Call:
        compiled = self.compile(work.shape, ARCH)
        find = finder(self.kernel, compiled)

        def call() -> None:
            self.reports = [launch(compiled, find, self.grid(work.shape), work.named, self.traced)]

        return call


@dataclass
class SimulatedTileCpp:
    """A launcher (`problems.work.Launcher`) that simulates. reports: of the last call.

    source: as `compile_cpp` takes it. grid: takes a shape, gives the number of tile blocks along x, y and z.
    """

    source: str
    grid: Callable[[Shape], tuple[int, ...]]
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def on(self, work: Work) -> Call:
        compiled = compile_cpp(self.source, ARCH)

        def call() -> None:
            self.reports = [simulate_tile_cpp(compiled, self.grid(work.shape), named_arguments(work), self.traced)]

        return call


@dataclass
class SimulatedCuda:
    """A launcher (`problems.work.Launcher`) that simulates. reports: of the last call.

    source: of one __global__ function that takes the problem's tensors, the output last, and then its sizes.
    grid, block: take a shape, give the number of blocks, and of a block's threads, along x, y and z.
    """

    source: str
    grid: Callable[[Shape], tuple[int, ...]]
    block: Callable[[Shape], tuple[int, ...]]
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def on(self, work: Work) -> Call:
        compile_cuda(self.source)

        def call() -> None:
            grid, block = self.grid(work.shape), self.block(work.shape)
            self.reports = [simulate_cuda(self.source, grid, block, named_arguments(work), traced=self.traced)]

        return call


def named_arguments(work: Work) -> "dict[str, Tensor | int | float]":
    """The tensors and the sizes, by their names in the problem."""
    return {**work.named, **dict(zip(work.problem.dims, work.shape, strict=True))}


# Broken kernels -------------------------------------------------------------------------------------------------------

HuntedLauncher = CudaLauncher | CuteLauncher | CutileLauncher


def launcher_of(bug: Bug, text: str) -> HuntedLauncher:
    """For the GPU at hand. text: in the place of the bug's source. Raises CompileFailed."""
    match bug.launch:
        case CudaLaunch(grid, block):
            return CudaLauncher(text, grid, block)
        case CuteLaunch(host, dynamic, divisible):
            return CuteLauncher(launched(text, bug.name, host), bug.problem, dynamic, divisible)
        case CutileLaunch(kernel, grid, constants):
            return CutileLauncher(launched(text, bug.name, kernel), grid, lambda shape: constants)


def simulator_of(bug: Bug, text: str) -> "SimulatedLauncher":
    """As `launcher_of`, for any machine; a text is compiled once."""
    return replace(first_simulator_of(bug, text), reports=[])


@cache
def first_simulator_of(bug: Bug, text: str) -> Any:
    """The dataclass, which caches its compilations."""
    return as_simulated(bug, launcher_of(bug, text))


def as_simulated(bug: Bug, launcher: HuntedLauncher) -> "SimulatedLauncher":
    """The launcher of `launcher_of`, simulated, for any machine."""
    if isinstance(launcher, CudaLauncher):
        from tutorlib.measuring.simulated_launchers import SimulatedCuda

        return SimulatedCuda(launcher.source, launcher.grid, launcher.block)
    if isinstance(launcher, CuteLauncher):
        from tutorlib.measuring.simulated_launchers import SimulatedCute

        return SimulatedCute(launcher.host, bug.problem, launcher.dynamic, launcher.divisible, bug.needs.target)
    from tutorlib.measuring.simulated_launchers import SimulatedCutile

    return SimulatedCutile(launcher.kernel, launcher.grid, partial(launcher.compiled, bug.problem))


def launched(text: str, file: str, name: str) -> Any:
    """The text's host function or kernel of this name. file: how messages call it. Raises CompileFailed."""
    found = getattr(module_from(text, file), name, None)
    if found is None:
        raise CompileFailed(f"the source no longer has {name}, the function that is launched")
    return found
