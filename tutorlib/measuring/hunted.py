"""A broken kernel of notebook 18, or what somebody made of its source, ready to be launched or simulated."""

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.text import module_from
from tutorlib.kernels.bugs.bug import Bug, CudaLaunch, CuteLaunch, CutileLaunch
from tutorlib.measuring.launchers import CudaLauncher, CuteLauncher, CutileLauncher
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.languages.launcher import SimulatedLauncher


def launcher_of(bug: Bug, text: str) -> Launcher:
    """For the GPU at hand. text: in the place of the bug's source. Raises CompileFailed."""
    match bug.launch:
        case CudaLaunch(grid, block):
            return CudaLauncher(text, grid, block)
        case CuteLaunch(host, dynamic, divisible):
            return CuteLauncher(launched(bug, text, host), bug.problem, dynamic, divisible)
        case CutileLaunch(kernel, grid, constants):
            return CutileLauncher(launched(bug, text, kernel), grid, lambda shape: constants)


def simulator_of(bug: Bug, text: str) -> "SimulatedLauncher":
    """As `launcher_of`, for any machine; what was compiled of a text before is not compiled again."""
    return replace(first_simulator_of(bug, text), reports=[])


@cache
def first_simulator_of(bug: Bug, text: str) -> Any:
    """The dataclass, which keeps what it compiled; nobody calls it."""
    match bug.launch:
        case CudaLaunch(grid, block):
            from tutorlib.simulate.ptx.languages.cpp import SimulatedCuda

            return SimulatedCuda(text, grid, block)
        case CuteLaunch(host, dynamic, divisible):
            from tutorlib.simulate.ptx.languages.cute import SimulatedCute

            return SimulatedCute(launched(bug, text, host), bug.problem, dynamic, divisible, bug.needs.target)
        case CutileLaunch(kernel, grid, constants):
            from tutorlib.simulate.ptx.languages.cutile import SimulatedCutile

            launcher = CutileLauncher(launched(bug, text, kernel), grid, lambda shape: constants)
            return SimulatedCutile(launcher.kernel, grid, partial(launcher.compiled, bug.problem))


def launched(bug: Bug, text: str, name: str) -> Any:
    """The text's host function or kernel of this name. Raises CompileFailed."""
    found = getattr(module_from(text, bug.name), name, None)
    if found is None:
        raise CompileFailed(f"the source has no {name} any more, which is what is launched")
    return found
