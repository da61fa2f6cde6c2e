"""Exercises whose answer is a cuTile kernel, or a host function that launches some.

The same answer is launched on a GPU and interpreted without one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tutorlib.checking.cutile_evidence import LaunchPlan, Planned, TileEvidence, TileRequest
from tutorlib.checking.evidence import used
from tutorlib.checking.exercise import Verdict, wrong
from tutorlib.checking.facts import stored_once
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.launching import Launches, OnGpu, simulated
from tutorlib.checking.running import calls_of, find_interpreted_fault
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.dsls import compile_tile_ir, entries_of
from tutorlib.compiling.errors import CompileFailed
from tutorlib.failure import Fail, Fault, Flaw
from tutorlib.machine import device
from tutorlib.measuring.launchers import tensor_specs
from tutorlib.problems.differences import Wrong, by
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.measuring.simulated_launchers import Simulated
    from tutorlib.simulate.cutile import TileReport

ARCH = "sm_80"  # whose code is simulated
GPUS = (3, 5)  # SMs, few, so that small matrices have more tiles; an answer that knows one number is wrong on the other


@dataclass(frozen=True, kw_only=True)
class CutileExercise(KernelExercise):
    """An exercise whose answer is a @ct.kernel, or a host function that calls ct.launch.

    A kernel takes the problem's tensors, the output last, then constants such as tile sizes; the exercise knows those
    and the grid, so one answer serves `ct.launch` and the interpreter. A host function takes the tensors alone. Every
    machine interprets it, with a GPU of a few SMs in torch's place, which finds faults that a GPU hides
    (simulate.cutile.Finding). A machine with the GPU then launches it too, and times it; others simulate what it is
    compiled to.

    grid: takes a shape, gives the number of blocks along x, y and z; None of a host function.
    constants: takes a shape, gives the arguments after the tensors.
    arch: the compute capability whose instructions are looked at; "": the oldest that has what it needs.
    inspected: the size at which they are; None: the largest, whose tiles may take long to compile.
    shapes: small ones, a few hundred elements along a mode: the interpreter runs them all.
    loads: takes a shape; gives, by an operand's number, the most elements of it that all blocks together may load. Of
        the output that is none unless it says so, nor may an atomic change them.
    tiles: the same, the most elements that a tile of it needs.
    tiled: whether it must load and store whole tiles, no single elements.
    all_blocks: whether every block of the grid must store a part of the output.
    factors: the dtype in which ct.mma must multiply; "": any.
    products: takes a shape; gives the most products of elements that ct.mma may compute in all blocks; None: any.
    vain: takes the code that is inspected; returns needless work of a right kernel, as a sentence, or "".
    unlike: of a host function: takes a shape, the launches, and the number of the GPU's SMs; gives a sentence about a
        launch that is not as the exercise asks, or None. planned: sizes at which only that is looked at.
    """

    grid: Callable[[Shape], tuple[int, ...]] | None = None
    constants: Callable[[Shape], tuple[Any, ...]] = lambda shape: ()
    patterned: bool = False  # it is interpreted on identity and ramp
    arch: str = ""
    inspected: Shape | None = None
    loads: Callable[[Shape], Mapping[int, int]] = lambda shape: {}
    tiles: Callable[[Shape], Mapping[int, int]] = lambda shape: {}
    tiled: bool = False
    all_blocks: bool = False
    factors: str = ""
    products: Callable[[Shape], int] | None = None
    vain: Callable[[Compiled], str] | None = None
    unlike: Callable[[Shape, Sequence[Planned], int], str | None] = lambda shape, launched, sms: None
    planned: tuple[Shape, ...] = ()

    @property
    def inspection(self) -> tuple[Shape, str]:
        """The size and the target whose instructions are looked at."""
        return self.inspected or self.sizes[-1], f"sm_{self.arch or self.needs.since}"

    def request(self, simulated: tuple[Shape, ...], run: tuple[Shape, ...]) -> TileRequest:
        plans = [(self.problem, shape, *gpu_here()) for shape in run]
        plans += [(self.problem, shape, ARCH, GPUS[0]) for shape in simulated]
        tried = [(self.problem, shape) for shape in self.shapes]
        if not self.grid:
            plans += [(self.problem, shape, ARCH, sms) for shape in (*self.shapes, *self.planned) for sms in GPUS]
        if self.requires or self.forbids or self.vain:
            plans.append((self.problem, *self.inspection, GPUS[0]))
        places = {(problem.name, shape): problem for problem, shape in (*(plan[:2] for plan in plans), *tried)}
        grid = self.grid
        return TileRequest(
            **self.for_request(run),
            trials={at: (grid(at[1]), self.constants(at[1])) for at in places} if grid else None,
            specs={at: tuple(tensor_specs(problem, at[1])) for at, problem in places.items()},
            plans=tuple({((problem.name, shape), target, sms): None for problem, shape, target, sms in plans}),
            calls={(problem.name, shape): calls_of(problem, shape) for problem, shape in tried},
        )

    def seen(self, request: TileRequest, found: Any) -> TileEvidence:
        return replace(found, calls=request.calls)

    def look(self, evidence: TileEvidence) -> Verdict | None:
        """What was interpreted, on every shape. A gap of the interpreter's is no fault if a GPU can run the kernel."""
        from tutorlib.simulate.ptx import NotSimulated

        shapes = self.shapes
        try:
            wrongs = {shape: found for shape in shapes if (found := self.fault_at(evidence, shape))}
        except NotSimulated as error:
            return wrong(str(error)) if device.why_not(self.needs) else None
        if not wrongs and not self.grid:
            shapes = (*shapes, *self.planned)
            wrongs = {at: Wrong(what) for at in shapes if (what := self.not_as_asked(evidence, at))}
        if wrongs:
            return self.wrong_at(wrongs, shapes)
        needless = (self.needless(shape, evidence.reports(self.problem, shape)) for shape in shapes if self.grid)
        wasted = next(filter(None, needless), "")
        if not wasted and self.vain and (what := self.vain(self.compiled(evidence))):
            shape, target = self.inspection
            wasted = Flaw(f"compiled for {target} at {by(shape)}, ") + what
        return self.more_than_it_must(wasted) if wasted else None

    def fault_at(self, evidence: TileEvidence, shape: Shape) -> Wrong | None:
        """What was wrong when it was interpreted at this size. Raises CompileFailed and NotSimulated."""
        calls, interpreted = evidence.tried(self.problem, shape)
        if not (self.grid or interpreted[-1].reports or interpreted[-1].raised):
            return Wrong("it launches no kernel: call ct.launch.")
        return find_interpreted_fault(self.problem, shape, calls, interpreted)

    def needless(self, shape: Shape, reports: "Sequence[TileReport]") -> str:
        """Needless work of a kernel at a size, as a sentence, or "": each element is stored once."""
        if again := stored_once(reports):
            return again
        for has, most, of, kind in self.bounds(shape, reports[-1]):
            if has > most:
                return Flaw(f"at {by(shape)} there are {has:,} {of}; {most:,} are enough.", kind)
        return ""

    def bounds(self, shape: Shape, report: "TileReport") -> "Iterator[tuple[int, int, str, Fault]]":
        """A count at this size, the most of it that is enough, what is counted, and the kind of failure beyond."""
        names, writers, too_many = list(report.storers), list(report.storers.values()), Fail.TOO_MANY
        output = len(self.problem.inputs)
        for operand, name, writer in zip(self.problem.inputs, names, writers, strict=False):
            stored = 0 if operand.scratch else int((writer >= 0).sum())
            yield stored, 0, f"elements of {name}, an input, that its blocks store", too_many(instruction="ct.store")
        for number, most in {output: 0, **self.loads(shape)}.items():
            loaded, of = report.loaded.get(names[number], 0), f"elements of {names[number]} that its blocks load"
            yield loaded, most, of, too_many(instruction="ct.load")
        for number, most in self.tiles(shape).items():
            size = report.largest.get(names[number], 0)
            yield size, most, f"elements in a tile of {names[number]}", too_many(instruction="tile")
        if self.all_blocks:
            idle = report.blocks - len(set(writers[output].flatten().tolist()))
            yield idle, 0, "blocks that store nothing", Fail.TOO_FEW_BLOCKS()
        if self.tiled:
            of = "tensors of which it loads or stores single elements, and not tiles"
            yield len(report.scattered), 0, of, Fail.TOO_FEW(instruction="ct.load")
        if self.factors and (others := sorted(set(report.factors) - {self.factors})):
            of = f"other dtypes than {self.factors} in which ct.mma multiplies"
            yield len(others), 0, of, Fail.USES(instruction=others[0])
        if self.products:
            of = "products of elements that ct.mma computes"
            yield report.products, self.products(shape), of, too_many(instruction="ct.mma")

    def wrong_code(self, evidence: TileEvidence) -> str | None:
        """Its instructions, if the exercise asks for some: compiling takes long."""
        return self.lacking(self.compiled(evidence).instructions) if self.requires or self.forbids else None

    def compiled(self, evidence: TileEvidence) -> Compiled:
        """The code that is inspected. Raises CompileFailed."""
        shape, target = self.inspection
        return compiled_tiles(plan_at(evidence, self.problem, shape, target), target)[0]

    def not_as_asked(self, evidence: TileEvidence, shape: Shape) -> str:
        """A sentence about a host function's launches at this size for one of the GPUS, or ""."""
        try:
            planned = {sms: plan_at(evidence, self.problem, shape, ARCH, sms).launches for sms in GPUS}
        except CompileFailed as failed:
            return str(failed)
        if not all(planned.values()):
            return "it launches nothing."
        unlike = filter(None, (self.unlike(shape, launches, sms) for sms, launches in planned.items()))
        return next((f"{what}." for what in unlike), "")

    def unrun(self, why: str) -> Verdict:
        return self.right("interpreted block by block", why)

    def simulator(self, evidence: TileEvidence) -> "Simulated":
        # What hangs over an edge stays in registers that were never set, and is masked where it leaves the block.
        return simulated(
            lambda shape: launches_of(evidence, plan_at(evidence, self.problem, shape, ARCH), ARCH, simulated=True),
            lambda shape: {"follow_unset": False},
        )

    def launcher(self, evidence: TileEvidence) -> Launcher:
        target, sms = gpu_here()
        return OnGpu(lambda shape: launches_of(evidence, plan_at(evidence, self.problem, shape, target, sms), target))


def gpu_here() -> tuple[str, int]:
    """The target and the SMs of the GPU at hand."""
    return device.tile_target(), device.need_gpu().sms


def plan_at(evidence: TileEvidence, problem: Problem, shape: Shape, target: str, sms: int = GPUS[0]) -> LaunchPlan:
    """Raises CompileFailed."""
    return used(evidence.plans[(problem.name, shape), target, sms])


def compiled_tiles(plan: LaunchPlan, target: str) -> list[Compiled]:
    """The kernel of each launch. Raises CompileFailed."""
    return [compile_tile_ir(one.tile_ir, target, one.opt_level) for one in plan.launches]


def launches_of(evidence: TileEvidence, plan: LaunchPlan, target: str, simulated: bool = False) -> Launches:
    """The launches of a plan. On a GPU a tile block counts as one thread; the driver reads its needs from the cubin.

    Raises CompileFailed if a kernel takes other parameters than it is given.
    """
    from tutorlib.simulate.ptx.languages.cuda import by_cubin
    from tutorlib.simulate.ptx.launch import pack_parameters, three
    from tutorlib.simulate.ptx.parse import parse_ptx
    from tutorlib.simulate.ptx.simulation import Launch

    launches, kernels = [], compiled_tiles(plan, target)
    for compiled, planned in zip(kernels, plan.launches, strict=True):
        if [kinds for _, kinds in entries_of(compiled.ptx)] != [tuple(kind for kind, _ in planned.taken)]:
            raise CompileFailed("the compiled kernel takes parameters other than its tensors")
        module = parse_ptx(compiled.ptx)
        (kernel,) = module.kernels.values()
        kernel = replace(kernel, parameters=kernel.parameters[: len(planned.taken)])  # without those of the driver's
        block = kernel.threads if simulated and kernel.threads else (1,)
        parameters = pack_parameters(kernel, (value for _, value in planned.taken))
        find = by_cubin(compiled.cubin, evidence.file, [*evidence.lines])
        launches.append(Launch(module, kernel, three(planned.grid), three(block), 0, parameters, find))
    return Launches(launches, [one.cubin for one in kernels], plan.memories)
