"""Exercises whose answer mends a broken kernel's source; the kernel is then checked like any other."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutorlib.checking.exercise import Answer, Verdict, WrongKind, wrong
from tutorlib.checking.kernel import KernelExercise, compiled_not_run
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.cutile import compile_cutile
from tutorlib.kernels.bugs.bug import Bug
from tutorlib.machine.features import cute_target
from tutorlib.measuring.hunted import launcher_of, simulator_of
from tutorlib.measuring.launchers import CudaLauncher, CuteLauncher, CutileLauncher, tensor_specs
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.languages.launcher import SimulatedLauncher


@dataclass(frozen=True, kw_only=True)
class MendExercise(KernelExercise):
    """The answer takes the broken kernel's source, a string, and returns the mended one."""

    bug: Bug

    def accept(self, answer: Answer) -> str:
        if not callable(answer):
            raise WrongKind(f"{answer!r} is not a function that takes the source and returns it mended.")
        try:
            text = answer(self.bug.source)
        except NotImplementedError:
            raise
        except Exception as error:
            name = getattr(answer, "__name__", "it")
            raise WrongKind(f"{name}(source) raised {type(error).__name__}: {error}") from error
        if not isinstance(text, str):
            raise WrongKind(f"it should return the mended source, a string; it returns {text!r}.")
        return text

    def examine(self, kernel: str) -> Verdict | None:
        if not (self.requires or self.forbids):
            return None
        lacks = self.lacking(self.compile_for(kernel, str(self.needs.since)).instructions)
        return wrong(lacks) if lacks else None

    def compile_for(self, kernel: str, arch: str) -> Compiled:
        launcher = launcher_of(self.bug, kernel)
        if isinstance(launcher, CudaLauncher):
            return launcher.compiled(arch)
        if isinstance(launcher, CuteLauncher):
            return launcher.compiled(self.sizes[-1], arch)
        assert isinstance(launcher, CutileLauncher)
        shape = self.sizes[-1]
        specs = tensor_specs(self.problem, shape)
        return compile_cutile(launcher.kernel, [*specs, *launcher.constants(shape)], f"sm_{arch}")

    def unrun(self, why: str) -> Verdict:
        return compiled_not_run((cute_target(str(self.needs.since)),), why)

    def simulator(self, kernel: str) -> "SimulatedLauncher":
        return simulator_of(self.bug, kernel)

    def launcher(self, kernel: str) -> Launcher:
        return launcher_of(self.bug, kernel)
