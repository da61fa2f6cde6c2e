"""A broken kernel of notebook 18, or an edited copy of its source, ready to be launched or simulated."""

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.dsls import module_from
from tutorlib.compiling.errors import CompileFailed
from tutorlib.kernels.bugs.bug import Bug, CudaLaunch, CuteLaunch, CutileLaunch
from tutorlib.measuring.launchers import CudaLauncher, CuteLauncher, CutileLauncher

if TYPE_CHECKING:
    from tutorlib.measuring.simulated_launchers import SimulatedLauncher

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
