"""Exercises whose answer is a CuTe kernel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tutorlib.checking.evidence import CuteEvidence, CuteRequest, used
from tutorlib.checking.exercise import Verdict, wrong
from tutorlib.checking.kernel import KernelExercise, compiled_not_run
from tutorlib.checking.part import Part
from tutorlib.compiling.compiled import Compiled, instructions_in
from tutorlib.failure import Fail, Flaw
from tutorlib.machine import device
from tutorlib.machine.features import cute_target
from tutorlib.measuring.launchers import tensor_specs
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.measuring.simulated_launchers import SimulatedLauncher
    from tutorlib.simulate.ptx import Report
    from tutorlib.simulate.ptx.report import Issued


@dataclass(frozen=True, kw_only=True)
class CuteExercise(KernelExercise):
    """An exercise whose answer is a @cute.jit host function: it takes cute.Tensors, the output last, and launches.

    The checker compiles it and calls it. Where this machine cannot run it, it is simulated.

    dynamic: whether the sizes are known at run time only: one compilation then serves all shapes.
    divisible: what divides the contiguous mode's size; dynamic layouts carry it, so that 128-bit accesses compile.
    arch: the compute capability that it is compiled for where it cannot run; "": the oldest that has what it needs.
    spills: whether the kernel may use local memory, where registers go that a thread has no room for.
    part: the answer's place in the kernel.
    faults: take the compiled kernel; each returns a fault that is not one of its instructions, as a sentence, or "".
    vain: takes a launch's instructions in the order of the program, where work is counted; returns what a right kernel
        does in vain, as a sentence, or None.
    """

    dynamic: bool = False
    divisible: int = 1
    arch: str = ""
    spills: bool = True
    part: Part = field(default_factory=Part)
    faults: tuple[Callable[[Compiled], str], ...] = ()
    vain: "Callable[[Sequence[Issued]], str | None]" = lambda issued: None

    @property
    def sizes_simulated(self) -> tuple[Shape, ...]:
        return self.part.sizes_simulated or self.simulated_shapes or self.shapes

    @property
    def inspected(self) -> str:
        """The compute capability whose code is looked at: of the GPU that runs it, else `arch`."""
        return self.arch or str(self.needs.since) if device.why_not(self.needs) else device.need_gpu().arch

    @property
    def size_compiled(self) -> Shape:
        """The largest; a small one where the answer has a loop that it may have unrolled, which takes minutes."""
        return self.sizes[0 if any(rule.fact.grows for rule in self.rules) else -1]

    def request(self, simulated: tuple[Shape, ...], run: tuple[Shape, ...]) -> CuteRequest:
        return CuteRequest(
            **self.for_request(run),
            part=self.part,
            points=self.correctness_points,
            specs={
                shape: tuple(tensor_specs(self.problem, shape, self.dynamic, self.divisible))
                for shape in {*simulated, *run, self.size_compiled}
            },
            dynamic=self.dynamic,
            examined=(self.size_compiled, self.inspected),
            simulated=simulated,
            run=run,
            target=self.needs.target,
        )

    def seen(self, request: Any, found: Any) -> CuteEvidence:
        return used(found, CuteEvidence)

    def look(self, evidence: CuteEvidence) -> Verdict | None:
        if evidence.looked is None:
            return None
        points, lines = evidence.looked
        return Verdict(float(points), tuple(lines))

    def examine(self, evidence: CuteEvidence) -> Verdict | None:
        """The instructions, spills and other faults. No machine code is made where PTX tells all of these."""
        code = evidence.compiled_at(self.size_compiled, self.inspected)
        if lacks := self.lacking(instructions_in(code.ptx)):
            return wrong(lacks)
        if self.spills and not self.faults:
            return None
        compiled = self.compile_for(evidence, self.inspected)
        if not self.spills and compiled.spill_bytes:
            lacks = Flaw(f"it spills {compiled.spill_bytes} bytes of registers in each thread.", Fail.SPILLS)
        lacks = lacks or next(filter(None, (fault(compiled) for fault in self.faults)), "")
        return wrong(lacks) if lacks else None

    def compile_for(self, evidence: CuteEvidence, arch: str) -> Compiled:
        """The kernel at the size that is compiled, for a compute capability ("90"). Raises CompileFailed."""
        from tutorlib.checking.launching import compiled_cute

        return compiled_cute(evidence.compiled_at(self.size_compiled, arch), arch)

    def in_vain(self, reports: "Sequence[Report]") -> str | None:
        wasted = (self.vain(report.issued) for report in reports)
        return super().in_vain(reports) or next(filter(None, wasted), None)

    def unrun(self, why: str) -> Verdict:
        return compiled_not_run(cute_target(self.inspected), why)

    def simulator(self, evidence: CuteEvidence) -> "SimulatedLauncher":
        from tutorlib.checking.launching import SimulatedCuteEvidence

        return SimulatedCuteEvidence(evidence, self.budget)

    def launcher(self, evidence: CuteEvidence) -> Launcher:
        from tutorlib.checking.launching import LaunchedCuteEvidence

        return LaunchedCuteEvidence(evidence)
