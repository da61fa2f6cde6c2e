"""Exercises whose answer is a CuTe kernel."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutorlib.checking.exercise import Answer, Verdict, WrongKind, wrong
from tutorlib.checking.kernel import KernelExercise, compiled_not_run
from tutorlib.checking.served import Served
from tutorlib.compiling.compiled import Compiled
from tutorlib.dsl.cute.functions import is_jit
from tutorlib.machine import device
from tutorlib.machine.features import cute_target
from tutorlib.measuring.launchers import CuteLauncher
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.checking.artifact import CuteArtifact
    from tutorlib.simulate.ptx.languages.cute import SimulatedCute
    from tutorlib.simulate.ptx.languages.launcher import SimulatedLauncher


@dataclass(frozen=True, kw_only=True)
class CuteExercise(KernelExercise):
    """An exercise whose answer is a @cute.jit host function: it takes cute.Tensors, the output last, and launches.

    The checker compiles it and calls it. Where this machine cannot run it, it is simulated.

    dynamic: whether the sizes are known at run time only: one compilation then serves all shapes.
    divisible: what divides the contiguous mode's size; dynamic layouts carry it, so that 128-bit accesses compile.
    archs: the compute capabilities that it is compiled for where it cannot run; (): the oldest that has what it needs.
    spills: whether the kernel may use local memory, where registers go that a thread has no room for.
    """

    dynamic: bool = False
    divisible: int = 1
    archs: tuple[str, ...] = ()
    spills: bool = True

    def accept(self, answer: Answer) -> CuteLauncher:
        require_jit(answer)
        return CuteLauncher(answer, self.problem, self.dynamic, self.divisible)

    @property
    def inspected(self) -> tuple[str, ...]:
        """The compute capabilities whose instructions are looked at: of the GPU that runs it, else `archs`."""
        if not device.why_not(self.needs):
            return (device.need_gpu().arch,)
        return self.archs or (str(self.needs.since),)

    def tracer(self, kernel: CuteLauncher) -> "SimulatedCute":
        """The accepted kernel, compiled for the simulator where the answer lives."""
        from tutorlib.simulate.ptx.languages.cute import SimulatedCute

        return SimulatedCute(kernel.host, self.problem, self.dynamic, self.divisible, self.needs.target)

    def artifact(self, served: Served) -> "CuteArtifact":
        from tutorlib.checking.artifact import CuteArtifact

        return CuteArtifact.of(served, self)

    def examine(self, artifact: "CuteArtifact") -> Verdict | None:
        for arch in self.inspected:
            if lacks := self.lacking(self.compile_for(artifact, arch).instructions):
                return wrong(lacks)
        if not self.spills and (spilled := self.compile_for(artifact, self.inspected[0]).spill_bytes):
            return wrong(f"it spills {spilled} bytes of registers in each thread.")
        return None

    def compile_for(self, artifact: "CuteArtifact", arch: str) -> Compiled:
        return artifact.compiled(self.sizes[-1], arch)

    def unrun(self, why: str) -> Verdict:
        return compiled_not_run(tuple(map(cute_target, self.inspected)), why)

    def simulator(self, artifact: "CuteArtifact") -> "SimulatedLauncher":
        from tutorlib.checking.artifact import SimulatedCuteArtifact

        return SimulatedCuteArtifact(artifact)

    def launcher(self, artifact: "CuteArtifact") -> Launcher:
        from tutorlib.checking.artifact_launch import LaunchedCuteArtifact

        return LaunchedCuteArtifact(artifact)


def require_jit(answer: Answer) -> None:
    """Raises WrongKind where the answer is not a @cute.jit function."""
    if not is_jit(answer):
        raise WrongKind(f"{getattr(answer, '__name__', repr(answer))} is not a @cute.jit function.")
