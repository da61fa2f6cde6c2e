"""Exercises whose answer is a CuTe kernel, and the launchers of its evidence: simulated, or on the GPU at hand."""

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

from tutorlib.checking.evidence import (
    MOST_LAUNCHES,
    NO_LAUNCHES,
    OUTSIDE,
    CuteCode,
    CuteEvidence,
    RecordedLaunch,
    are_counts,
    relocated,
    used,
)
from tutorlib.checking.exercise import Verdict, wrong
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.part import Part
from tutorlib.checking.requests import LAUNCH, CuteRequest
from tutorlib.compiling.compiled import Compiled, inspect_kernel, instructions_in
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.programs import machine_code, resources
from tutorlib.compiling.spec import DTYPES
from tutorlib.failure import Fail, Flaw
from tutorlib.machine import device
from tutorlib.measuring.driver import load_function, prepare
from tutorlib.measuring.launchers import tensor_specs
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, Launcher, Work

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.measuring.simulated_launchers import SimulatedLauncher
    from tutorlib.simulate.ptx.findings import Find, SourceLine
    from tutorlib.simulate.ptx.ir import Instruction, Module
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

    def seen(self, request: Any, found: Any) -> CuteEvidence:
        return used(found, CuteEvidence)

    def look(self, evidence: CuteEvidence) -> Verdict | None:
        if evidence.looked is None:
            return None
        points, lines = evidence.looked
        return Verdict(float(points), tuple(lines))

    def examine(self, evidence: CuteEvidence) -> Verdict | None:
        """The instructions, spills and other faults. No machine code is made where PTX tells all of these."""
        code = evidence.at(self.size_compiled, self.inspected)
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
        return compiled_cute(evidence.at(self.size_compiled, arch), arch)

    def in_vain(self, reports: "Sequence[Report]") -> str | None:
        wasted = (self.vain(report.issued) for report in reports)
        return super().in_vain(reports) or next(filter(None, wasted), None)

    def simulator(self, evidence: CuteEvidence) -> "SimulatedLauncher":
        return SimulatedCuteEvidence(evidence, self.budget)

    def launcher(self, evidence: CuteEvidence) -> Launcher:
        return LaunchedCuteEvidence(evidence)


# What the evidence has, compiled and launched. Inputs, outputs, references, stream and clock are the judge's own ------


def compiled_cute(code: CuteCode, arch: str) -> Compiled:
    """The code as machine code, and what it takes. Raises CompileFailed."""
    cubin = machine_code(code.ptx)
    dynamic_smem = max(int(code.smem_bytes) - resources(cubin)[2], 0)
    return inspect_kernel(arch, code.ptx, cubin, dynamic_smem, by_ptxas=True)


def launches_of(code: CuteCode, module: "Module") -> "list[Launch]":
    """The host function's launches, at made-up addresses. Raises CompileFailed where they cannot be launches."""
    try:
        return [launch_of(one, module) for one in code.launches[:MOST_LAUNCHES]]
    except (AttributeError, TypeError, ValueError) as error:
        raise CompileFailed(NO_LAUNCHES) from error


def launch_of(one: RecordedLaunch, module: "Module") -> "Launch":
    """Raises AttributeError, TypeError and ValueError where it cannot be one."""
    from tutorlib.simulate.ptx.launch import three
    from tutorlib.simulate.ptx.simulation import Launch

    kernel = module.kernels.get(one.kernel)
    dims = (one.grid, one.block, one.cluster)
    if (
        kernel is None
        or type(one.parameters) is not bytes
        or len(one.parameters) != kernel.parameter_bytes
        or [len(sizes) for sizes in dims] != [3, 3, 3]
        or not are_counts([*one.grid, *one.block, *one.cluster, one.dynamic_smem])
        or not all(type(flag) is bool for flag in (one.cooperative, one.overlapping))
    ):
        raise ValueError("no launch")
    sizes = dict(zip(("grid", "block", "cluster"), map(three, dims), strict=True))
    return Launch(module, kernel, **{name: getattr(one, name) for name in LAUNCH} | sizes)


def parameters_for(launch: "Launch", tensors: "Sequence[Tensor]", problem: Problem, shape: Shape) -> bytes:
    """A recorded launch's parameters for a problem's tensors. Raises CompileFailed where it has a pointer elsewhere."""

    from tutorlib.simulate.ptx import descriptors

    sizes = [math.prod(problem.shape_of(op, shape)) * DTYPES[op.dtype].bytes for op in problem.operands]
    raw = bytearray(launch.parameters)
    placed = dict(relocated(launch.parameters, [tensor.data_ptr() for tensor in tensors], sizes))
    for parameter in launch.kernel.parameters:
        if parameter.kind == "b8" and parameter.size == descriptors.BYTES and parameter.offset not in placed:
            raise CompileFailed(OUTSIDE)
    for at, address in placed.items():
        struct.pack_into("<Q", raw, at, address)
    return bytes(raw)


def finder_in(module: "Module", code: CuteCode) -> "Find":
    """An instruction's line in the reader's source."""
    from tutorlib.simulate.ptx.findings import SourceLine
    from tutorlib.simulate.ptx.languages.cute import STACKS

    def find(instruction: "Instruction") -> "SourceLine | None":
        at = instruction.location
        if at is None or module.files.get(at.file) != STACKS or not 0 < at.line <= len(code.places):
            return None
        place = code.places[at.line - 1]
        return place if isinstance(place, SourceLine) else None

    return find


@dataclass
class SimulatedCuteEvidence:
    """Simulates. reports: of the last call's launches. budget: the most instructions of each."""

    evidence: CuteEvidence
    budget: float = inf
    reports: "list[Report]" = field(default_factory=list)
    traced: bool = False

    def ptx(self, shape: Shape) -> str:
        return self.evidence.at(shape).ptx

    def on(self, work: Work) -> Call:
        from tutorlib.simulate.ptx.languages.cute import simulate_launches
        from tutorlib.simulate.ptx.parse import parse_ptx

        code = self.evidence.at(work.shape)
        module = parse_ptx(code.ptx)
        find, recorded = finder_in(module, code), launches_of(code, module)

        def call() -> None:
            placed = [parameters_for(one, work.tensors, work.problem, work.shape) for one in recorded]
            launches = [replace(one, parameters=raw) for one, raw in zip(recorded, placed, strict=True)]
            self.reports = simulate_launches(work.named, launches, find, self.traced, self.budget)

        return call


@dataclass
class LaunchedCuteEvidence:
    """Launches all that the host function launched, in order."""

    evidence: CuteEvidence
    _loaded: dict[Shape, list[tuple[Any, Any]]] = field(default_factory=dict)

    def on(self, work: Work) -> Call:
        if work.shape not in self._loaded:
            self._loaded[work.shape] = self.load(work.shape)
        launches = []
        for function, one in self._loaded[work.shape]:
            raw = parameters_for(one, work.tensors, work.problem, work.shape)
            launches.append(prepare(function, one.config, raw, [each.offset for each in one.kernel.parameters]))

        def call() -> None:
            for launch in launches:
                launch()

        return call

    def load(self, shape: Shape) -> list[tuple[Any, Any]]:
        """Each launch, and its function on the GPU at hand. Raises CompileFailed."""
        from tutorlib.simulate.ptx.parse import parse_ptx

        code = self.evidence.at(shape, device.need_gpu().arch)
        launches, cubin = launches_of(code, parse_ptx(code.ptx)), machine_code(code.ptx)
        functions = {name: load_function(cubin, name) for name in {one.kernel.name for one in launches}}
        return [(functions[one.kernel.name], one) for one in launches]
