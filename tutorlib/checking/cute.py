"""Exercises whose answer is a CuTe kernel."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tutorlib.checking.evidence import CuteCode, CuteEvidence, CuteRequest
from tutorlib.checking.exercise import Verdict
from tutorlib.checking.facts import Rule
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.launching import Launches, OnGpu, simulated
from tutorlib.checking.part import Part
from tutorlib.compiling.compiled import Compiled, inspect_kernel, instructions_in
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.programs import machine_code, resources
from tutorlib.failure import Fail, Flaw
from tutorlib.machine import device
from tutorlib.measuring.launchers import tensor_specs
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.measuring.simulated_launchers import Simulated


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
    """

    dynamic: bool = False
    divisible: int = 1
    arch: str = ""
    spills: bool = True
    part: Part = field(default_factory=Part)
    faults: tuple[Callable[[Compiled], str], ...] = ()

    @property
    def sizes_simulated(self) -> tuple[Shape, ...]:
        return tuple(self.part.small) or self.simulated_shapes or self.shapes

    @property
    def inspected(self) -> str:
        """The compute capability whose code is looked at: of the GPU that runs it, else `arch`."""
        return self.arch or str(self.needs.since) if device.why_not(self.needs) else device.need_gpu().arch

    @property
    def size_compiled(self) -> Shape:
        """The largest; a small one where the answer has a loop that it may have unrolled, which takes minutes."""
        return self.sizes[0 if any(isinstance(rule, Rule) and rule.fact.grows for rule in self.rules) else -1]

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

    def look(self, evidence: CuteEvidence) -> Verdict | None:
        return Verdict(*evidence.looked) if evidence.looked else None

    def wrong_code(self, evidence: CuteEvidence) -> str | None:
        """The instructions, spills and other faults. No machine code is made where PTX tells all of these."""
        lacks = self.lacking(instructions_in(evidence.at(self.size_compiled, self.inspected).ptx))
        if lacks or (self.spills and not self.faults):
            return lacks
        compiled = self.compile_for(evidence, self.inspected)
        if not self.spills and compiled.spill_bytes:
            return Flaw(f"it spills {compiled.spill_bytes} bytes of registers in each thread.", Fail.SPILLS)
        return next(filter(None, (fault(compiled) for fault in self.faults)), None)

    def compile_for(self, evidence: CuteEvidence, arch: str) -> Compiled:
        """The kernel at the size that is compiled, for a compute capability ("90"). Raises CompileFailed."""
        code = evidence.at(self.size_compiled, arch)
        cubin = machine_code(code.ptx)
        dynamic_smem = max(code.smem_bytes - resources(cubin)[2], 0)
        return inspect_kernel(arch, code.ptx, cubin, dynamic_smem, by_ptxas=True)

    def simulator(self, evidence: CuteEvidence) -> "Simulated":
        return simulated(
            lambda shape: launches_of(evidence.at(shape)),
            lambda shape: {"budget": self.budget} if shape == self.size_counted else {},
        )

    def launcher(self, evidence: CuteEvidence) -> Launcher:
        def at(shape: Shape) -> Launches:
            code = evidence.at(shape, device.need_gpu().arch)
            found = launches_of(code)
            return replace(found, cubins=[machine_code(code.ptx)] * len(found.launches))

        return OnGpu(at)


def launches_of(code: CuteCode) -> Launches:
    """The host function's launches. Raises CompileFailed where the parameters are not its kernel's, of which the driver
    would read too many.
    """
    from tutorlib.simulate.ptx.languages.cute import finder_of
    from tutorlib.simulate.ptx.parse import parse_ptx
    from tutorlib.simulate.ptx.simulation import Launch

    module = parse_ptx(code.ptx)
    find = finder_of(module, dict(enumerate(code.places, 1)).get)
    launches = [
        Launch(module, module.kernels[one.kernel], parameters=one.parameters, find=find, **vars(one.config))
        for one in code.launches
    ]
    if any(len(one.parameters) != one.kernel.parameter_bytes for one in launches):
        raise CompileFailed("its launches cannot be read")
    return Launches(launches)
