"""Exercises whose answer is a CuTe kernel, and the launchers of its evidence: simulated, or on the GPU at hand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

from tutorlib.checking.evidence import APART, FIRST, CuteCode, CuteEvidence, CuteRequest, RecordedLaunch
from tutorlib.checking.exercise import Verdict
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.part import Part
from tutorlib.compiling.compiled import Compiled, inspect_kernel, instructions_in
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.programs import machine_code, resources
from tutorlib.failure import Fail, Flaw
from tutorlib.machine import device
from tutorlib.measuring.driver import load_function, prepare
from tutorlib.measuring.launchers import tensor_specs
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Call, Launcher, Work

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.measuring.simulated_launchers import SimulatedLauncher
    from tutorlib.simulate.ptx.report import Issued, Report
    from tutorlib.simulate.ptx.simulation import Launch


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

    def in_vain(self, reports: "Sequence[Report]") -> str | None:
        wasted = (self.vain(report.issued) for report in reports)
        return super().in_vain(reports) or next(filter(None, wasted), None)

    def simulator(self, evidence: CuteEvidence) -> "SimulatedLauncher":
        return SimulatedCuteEvidence(evidence, {self.size_counted: self.budget})

    def launcher(self, evidence: CuteEvidence) -> Launcher:
        return LaunchedCuteEvidence(evidence)


# What the evidence has, compiled and launched. Inputs, outputs, references, stream and clock are the judge's own ------


def launches_of(code: CuteCode) -> "list[Launch]":
    """The host function's launches, at made-up addresses. Raises CompileFailed where the parameters are not its
    kernel's, of which the driver would read too many.
    """
    from tutorlib.simulate.ptx.languages.cute import finder_of
    from tutorlib.simulate.ptx.parse import parse_ptx
    from tutorlib.simulate.ptx.simulation import Launch

    module, launches = parse_ptx(code.ptx), []
    find = finder_of(module, dict(enumerate(code.places, 1)).get)
    for one in code.launches:
        kernel = module.kernels[one.kernel]
        if len(one.parameters) != kernel.parameter_bytes:
            raise CompileFailed("its launches cannot be read")
        rest = {name: getattr(one, name) for name in RecordedLaunch.__annotations__ if name != "kernel"}
        launches.append(Launch(module, kernel, find=find, **rest))
    return launches


def parameters_for(launch: "Launch", tensors: "Sequence[Tensor]") -> bytes:
    """A recorded launch's parameters for these tensors.

    A word that points into a made-up tensor is a pointer: a parameter, a member of a struct, or the first word of a TMA
    descriptor. Raises CompileFailed where one leads out of its tensor.
    """
    raw = bytearray(launch.parameters)
    for at in range(0, len(raw) - 7, 8):
        n, offset = divmod(int.from_bytes(raw[at : at + 8], "little") - FIRST, APART)
        if 0 <= n < len(tensors):
            if offset >= tensors[n].nbytes:
                raise CompileFailed("a pointer of its launch leads out of its tensors")
            raw[at : at + 8] = (tensors[n].data_ptr() + offset).to_bytes(8, "little")
    return bytes(raw)


@dataclass
class SimulatedCuteEvidence:
    """Simulates. reports: of the last call's launches. budgets: the most instructions of each, by size."""

    evidence: CuteEvidence
    budgets: Mapping[Shape, float] = field(default_factory=dict)
    reports: "list[Report]" = field(default_factory=list)

    def on(self, work: Work) -> Call:
        from tutorlib.simulate.ptx.languages.cute import simulate_launches

        recorded, budget = launches_of(self.evidence.at(work.shape)), self.budgets.get(work.shape, inf)

        def call() -> None:
            launches = [replace(one, parameters=parameters_for(one, work.tensors)) for one in recorded]
            self.reports = simulate_launches(work.named, launches, budget)

        return call


@dataclass
class LaunchedCuteEvidence:
    """Launches all that the host function launched, in order."""

    evidence: CuteEvidence
    _loaded: dict[Shape, list[tuple[Any, Any]]] = field(default_factory=dict)

    def on(self, work: Work) -> Call:
        if work.shape not in self._loaded:
            self._loaded[work.shape] = self.load(work.shape)
        launches = [
            prepare(function, one.config, parameters_for(one, work.tensors), [p.offset for p in one.kernel.parameters])
            for function, one in self._loaded[work.shape]
        ]

        def call() -> None:
            for launch in launches:
                launch()

        return call

    def load(self, shape: Shape) -> list[tuple[Any, Any]]:
        """Each launch, and its function on the GPU at hand. Raises CompileFailed."""
        code = self.evidence.at(shape, device.need_gpu().arch)
        launches, cubin = launches_of(code), machine_code(code.ptx)
        functions = {name: load_function(cubin, name) for name in {one.kernel.name for one in launches}}
        return [(functions[one.kernel.name], one) for one in launches]
