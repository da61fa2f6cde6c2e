"""Exercises whose answer is a CuTe kernel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.kernel import KernelExercise, compiled_not_run
from tutorlib.checking.library_use import refuse_library_use
from tutorlib.checking.part import HostFunction, Part, require_jit
from tutorlib.checking.served import Served
from tutorlib.compiling.compiled import Compiled
from tutorlib.failure import Fail, Flaw
from tutorlib.machine import device
from tutorlib.machine.features import cute_target
from tutorlib.measuring.launchers import CuteLauncher
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.checking.artifact import CuteArtifact
    from tutorlib.measuring.simulated_launchers import SimulatedCute, SimulatedLauncher
    from tutorlib.simulate.ptx import Report
    from tutorlib.simulate.ptx.report import Issued


@dataclass(frozen=True, kw_only=True)
class CuteExercise(KernelExercise):
    """An exercise whose answer is a @cute.jit host function: it takes cute.Tensors, the output last, and launches.

    The checker compiles it and calls it. Where this machine cannot run it, it is simulated.

    dynamic: whether the sizes are known at run time only: one compilation then serves all shapes.
    divisible: what divides the contiguous mode's size; dynamic layouts carry it, so that 128-bit accesses compile.
    archs: the compute capabilities that it is compiled for where it cannot run; (): the oldest that has what it needs.
    spills: whether the kernel may use local memory, where registers go that a thread has no room for.
    part: the answer's place in the kernel.
    faults: take the compiled kernel; each returns a fault that is not one of its instructions, as a sentence, or "".
    vain: takes a launch's instructions in the order of the program, where work is counted; returns what a right kernel
        does in vain, as a sentence, or None.
    """

    dynamic: bool = False
    divisible: int = 1
    archs: tuple[str, ...] = ()
    spills: bool = True
    part: Part = field(default_factory=Part)
    faults: tuple[Callable[[Compiled], str], ...] = ()
    vain: "Callable[[Sequence[Issued]], str | None]" = lambda issued: None

    @property
    def sizes_simulated(self) -> tuple[Shape, ...]:
        return self.part.sizes_simulated or self.simulated_shapes or self.shapes

    def accept(self, answer: Answer) -> CuteLauncher:
        return self.launched(self.part.host(answer))

    def launched(self, host: HostFunction) -> CuteLauncher:
        require_jit(host)
        return CuteLauncher(host, self.problem, self.dynamic, self.divisible)

    def look(self, answer: Answer, kernel: Callable[[], Any]) -> Verdict | None:
        refuse_library_use(answer, self.library)
        found = self.part.look(answer, self.correctness_points)
        return found if found and not found.points else self.look_into(kernel()) or found

    @property
    def inspected(self) -> tuple[str, ...]:
        """The compute capabilities whose instructions are looked at: of the GPU that runs it, else `archs`."""
        if not device.why_not(self.needs):
            return (device.need_gpu().arch,)
        return self.archs or (str(self.needs.since),)

    @property
    def size_compiled(self) -> Shape:
        """The largest; a small one where the answer has a loop that it may have unrolled, which takes minutes."""
        return self.sizes[0 if any(rule.fact.grows for rule in self.rules) else -1]

    def tracer(self, answer: Answer) -> "SimulatedCute":
        """The kernel, compiled for the simulator where the answer lives."""
        from tutorlib.measuring.simulated_launchers import SimulatedCute

        host = self.part.simulated_host(answer)
        return SimulatedCute(host, self.problem, self.dynamic, self.divisible, self.needs.target)

    def artifact(self, served: Served) -> "CuteArtifact":
        from tutorlib.checking.artifact import CuteArtifact

        return CuteArtifact.of(served, self)

    def examine(self, artifact: "CuteArtifact") -> Verdict | None:
        """The instructions for each GPU; spills and other faults for the first one."""
        compiled = self.compile_for(artifact, self.inspected[0])
        others = (artifact.instructions(self.size_compiled, arch) for arch in self.inspected[1:])
        lacks = next(filter(None, map(self.lacking, chain([compiled.instructions], others))), "")
        if not (lacks or self.spills) and compiled.spill_bytes:
            lacks = Flaw(f"it spills {compiled.spill_bytes} bytes of registers in each thread.", Fail.SPILLS)
        lacks = lacks or next(filter(None, (fault(compiled) for fault in self.faults)), "")
        return wrong(lacks) if lacks else None

    def compile_for(self, artifact: "CuteArtifact", arch: str) -> Compiled:
        return artifact.compiled(self.size_compiled, arch)

    def in_vain(self, reports: "Sequence[Report]") -> str | None:
        wasted = (self.vain(report.issued) for report in reports)
        return super().in_vain(reports) or next(filter(None, wasted), None)

    def unrun(self, why: str) -> Verdict:
        return compiled_not_run(tuple(map(cute_target, self.inspected)), why)

    def simulator(self, artifact: "CuteArtifact") -> "SimulatedLauncher":
        from tutorlib.checking.artifact import SimulatedCuteArtifact

        return SimulatedCuteArtifact(artifact, self.budget)

    def launcher(self, artifact: "CuteArtifact") -> Launcher:
        from tutorlib.checking.artifact_launch import LaunchedCuteArtifact

        return LaunchedCuteArtifact(artifact)
