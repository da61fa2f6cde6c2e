"""Exercises whose answer is a cuTile kernel: the same answer is launched on a GPU and interpreted without one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tutorlib.checking.evidence import At, CutileEvidence, CutileRequest, Trial, used
from tutorlib.checking.exercise import Verdict, not_run, wrong
from tutorlib.checking.interpreting import Interpretation, calls_of, judged
from tutorlib.checking.kernel import KernelExercise
from tutorlib.compiling.compiled import Compiled
from tutorlib.failure import Fail, Fault, Flaw
from tutorlib.machine import device
from tutorlib.measuring.launchers import tensor_specs
from tutorlib.problems.differences import Wrong, by
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.measuring.simulated_launchers import SimulatedLauncher
    from tutorlib.simulate.cutile import TileReport

ARCH = "sm_80"  # whose code is simulated: `simulate.ptx.languages.cutile.ARCH`, which takes long to import


@dataclass(frozen=True, kw_only=True)
class Look:
    """A look at a kernel that is right for the exercise's own problem: at another one, or at the code for a GPU.

    arch: the target, "sm_90", whose code it wants; "" for none. tried: whether the kernel is interpreted there.
    """

    problem: Problem
    shape: Shape
    arch: str = ""
    tried: bool = False

    @property
    def at(self) -> At:
        return self.problem.name, self.shape

    def fault(self, seen: Interpretation) -> Wrong | None:
        """What is wrong in what was interpreted, or None."""
        return None

    def waste(self, evidence: CutileEvidence, seen: Interpretation | None) -> str:
        """Needless work of a right kernel, as a sentence, or "". Raises CompileFailed."""
        return ""


@dataclass(frozen=True, kw_only=True)
class CutileExercise(KernelExercise):
    """An exercise whose answer is a @ct.kernel.

    The kernel takes the problem's tensors, the output last, then constants such as tile sizes; the exercise knows
    those and the grid, so one answer serves `ct.launch` and the interpreter. Every machine interprets it, which finds
    faults that a GPU hides (simulate.cutile.Finding). A machine with the GPU then launches it too, and times it; others
    simulate what it is compiled to.

    grid: takes a shape, gives the number of blocks along x, y and z.
    constants: takes a shape, gives the arguments after the tensors.
    arch: the compute capability whose instructions are looked at; "": the oldest that has what it needs.
    inspected: the size at which they are; None: the largest, whose tiles may take long to compile.
    shapes: small ones, a few hundred elements along a mode: the interpreter runs them all.
    once: here, whether each element of the output must be stored only once, at any of these sizes.
    placed: takes a shape and, for each element of the output, the number of the block that stored it; returns a
        sentence about a misplaced block, or None. On a GPU only the time shows that.
    loads: takes a shape; gives, by an operand's number, the most elements of it that all blocks together may load. Of
        the output that is none unless it says so, nor may an atomic change them.
    tiles: takes a shape; gives, by an operand's number, the elements of the largest tile that is loaded from it.
    widest: the same, of the largest tile that is needed: a larger one loses a point.
    tiled: whether it must load and store whole tiles, no single elements.
    all_blocks: whether every block of the grid must store a part of the output.
    factors: the dtype in which ct.mma must multiply; "": any.
    products: takes a shape; gives the most products of elements that ct.mma may compute in all blocks; None: any.
    masked: takes a shape; gives the most tiles of scores that all blocks may mask with ct.where; None: any.
    """

    grid: Callable[[Shape], tuple[int, ...]]
    constants: Callable[[Shape], tuple[Any, ...]] = lambda shape: ()
    patterned: bool = False  # it is interpreted on identity and ramp
    arch: str = ""
    inspected: Shape | None = None
    placed: "Callable[[Shape, Tensor], str | None] | None" = None
    loads: Callable[[Shape], Mapping[int, int]] = lambda shape: {}
    tiles: Callable[[Shape], Mapping[int, int]] = lambda shape: {}
    widest: Callable[[Shape], Mapping[int, int]] = lambda shape: {}
    tiled: bool = False
    all_blocks: bool = False
    factors: str = ""
    products: "Callable[[Shape], int] | None" = None
    masked: "Callable[[Shape], int] | None" = None
    besides: Look | None = None

    @property
    def size_inspected(self) -> Shape:
        return self.inspected or self.sizes[-1]

    def request(self, simulated: tuple[Shape, ...], run: tuple[Shape, ...]) -> CutileRequest:
        exported = {(shape, ARCH) for shape in simulated} | {(shape, device.tile_target()) for shape in run}
        if self.requires or self.forbids:
            exported.add((self.size_inspected, f"sm_{self.arch or self.needs.since}"))
        wanted = [(self.problem, shape, arch) for shape, arch in exported]
        tried = [(self.problem, shape) for shape in self.shapes]
        if self.besides and self.besides.arch:
            wanted.append((self.besides.problem, self.besides.shape, self.besides.arch))
        if self.besides and self.besides.tried:
            tried.append((self.besides.problem, self.besides.shape))
        places = {*((problem.name, at) for problem, at, _ in wanted), *((problem.name, at) for problem, at in tried)}
        return CutileRequest(
            **self.for_request(run),
            trials={at: Trial(grid=self.grid(at[1]), constants=self.constants(at[1])) for at in places},
            calls={(problem.name, shape): calls_of(problem, shape) for problem, shape in tried},
            compiled={((problem.name, at), arch): tuple(tensor_specs(problem, at)) for problem, at, arch in wanted},
        )

    def seen(self, request: CutileRequest, found: Any) -> CutileEvidence:
        return replace(used(found, CutileEvidence), calls=request.calls)

    def look(self, evidence: CutileEvidence) -> Verdict | None:
        """What was interpreted, on every shape. A gap of the interpreter's is no fault if a GPU can run the kernel."""
        from tutorlib.simulate.ptx import NotSimulated

        try:
            seen = {shape: self.interpretation(evidence, shape) for shape in self.shapes}
            beside = self.beside(evidence)
        except NotSimulated as error:
            return wrong(str(error)) if device.why_not(self.needs) else None
        if wrongs := {shape: one.wrong for shape, one in seen.items() if one.wrong}:
            return self.wrong_at(wrongs, self.shapes)
        if self.besides and beside and (fault := self.besides.fault(beside)):
            return wrong(fault.what, *filter(None, [fault.mistake]))
        needless = (self.needless(shape, one) for shape, one in seen.items())
        wasted = next(filter(None, needless), "") or (self.besides.waste(evidence, beside) if self.besides else "")
        return self.more_than_it_must(wasted) if wasted else None

    def beside(self, evidence: CutileEvidence) -> Interpretation | None:
        """What was interpreted of the problem besides, where one was."""
        if not (self.besides and self.besides.tried):
            return None
        at = self.besides.at
        return judged(self.besides.problem, self.besides.shape, evidence.calls[at], evidence.interpreted.get(at))

    def needless(self, shape: Shape, found: Interpretation) -> str:
        """Needless work at a size, as a sentence, or ""."""
        if self.once and found.repeated:
            return found.repeated
        (report,) = found.reports
        for has, most, of, kind in self.bounds(shape, report):
            if has > most:
                return Flaw(f"at {by(shape)} there are {has:,} {of}; {most:,} are enough.", kind)
        return ""

    def bounds(self, shape: Shape, report: "TileReport") -> "Iterator[tuple[int, int, str, Fault]]":
        """A count at this size, the most of it that is enough, what is counted, and the kind of failure beyond."""
        names, inputs = list(report.storers), self.problem.inputs
        for operand, (name, writer) in zip(inputs, report.storers.items(), strict=False):
            stored = 0 if operand.scratch else int((writer >= 0).sum())
            yield (
                stored,
                0,
                f"elements of {name}, an input, that its blocks store",
                Fail.TOO_MANY(instruction="ct.store"),
            )
        for number, most in {len(inputs): 0, **self.loads(shape)}.items():
            loaded = report.loaded.get(names[number], 0)
            yield (
                loaded,
                most,
                f"elements of {names[number]} that its blocks load",
                Fail.TOO_MANY(instruction="ct.load"),
            )
        if self.all_blocks:
            idle = report.blocks - len(set(self.storers(report).flatten().tolist()))
            yield idle, 0, "blocks that store nothing", Fail.TOO_FEW_BLOCKS()
        if self.tiled:
            of = "tensors of which it loads or stores single elements, and not tiles"
            yield len(report.scattered), 0, of, Fail.TOO_FEW(instruction="ct.load")
        if self.factors and (others := sorted(set(report.factors) - {self.factors})):
            of = f"other dtypes than {self.factors} in which ct.mma multiplies"
            yield len(others), 0, of, Fail.USES(instruction=others[0])
        for number, most in self.widest(shape).items():
            size = report.largest.get(names[number], 0)
            yield size, most, f"elements in a tile of {names[number]}", Fail.TOO_MANY(instruction="tile")
        if self.products:
            of = "products of elements that ct.mma computes"
            yield report.products, self.products(shape), of, Fail.TOO_MANY(instruction="ct.mma")
        if self.masked:
            of = "tiles of scores that its blocks mask"
            yield report.selected, self.masked(shape), of, Fail.TOO_MANY(instruction="ct.where")

    def examine(self, evidence: CutileEvidence) -> Verdict | None:
        """Its instructions, if the exercise asks for some: compiling takes long."""
        if self.requires or self.forbids:
            lacks = self.lacking(self.compile_for(evidence, self.arch or str(self.needs.since)).instructions)
            return wrong(lacks) if lacks else None
        return None

    def compile_for(self, evidence: CutileEvidence, arch: str) -> Compiled:
        """The kernel at the size that is inspected, for a compute capability ("90"). Raises CompileFailed."""
        from tutorlib.checking.launching import compiled_cutile

        return compiled_cutile(evidence, self.problem, self.size_inspected, f"sm_{arch}")

    def unrun(self, why: str) -> Verdict:
        if not self.tiers:
            return Verdict(self.points)
        return not_run(f"right, interpreted block by block; speed not run: {why}", self.correctness_points)

    def simulator(self, evidence: CutileEvidence) -> "SimulatedLauncher":
        from tutorlib.checking.launching import SimulatedCutileEvidence

        return SimulatedCutileEvidence(evidence, self.problem, self.grid)

    def launcher(self, evidence: CutileEvidence) -> Launcher:
        from tutorlib.checking.launching import LaunchedCutileEvidence

        return LaunchedCutileEvidence(evidence, self.grid)

    def interpretation(self, evidence: CutileEvidence, shape: Shape) -> Interpretation:
        """What was interpreted at this size, and whether blocks and tiles are as asked. Raises as `judged`."""
        at = self.problem.name, shape
        found = judged(self.problem, shape, evidence.calls[at], evidence.interpreted.get(at), self.mistakes(shape))
        if not (found.wrong or found.repeated) and self.placed and (misplaced := self.misplaced(shape, found)):
            out_of_order = Wrong("right, but blocks are not in the order that is asked for.", f"{misplaced}.")
            return replace(found, wrong=out_of_order)
        if not found.wrong and (other := self.of_other_size(shape, found)):
            return replace(found, wrong=Wrong(other, "Use tiles of the size that the kernel is given."))
        return found

    def of_other_size(self, shape: Shape, found: Interpretation) -> str:
        """A sentence about an operand of which the largest tile is not as large as the exercise's, or ""."""
        (report,) = found.reports
        for number, given in self.tiles(shape).items():
            name = list(report.storers)[number]
            if (size := report.largest.get(name, given)) != given:
                what = f"right, but it loads tiles of {size:,} elements of {name}; the given tile has {given:,}."
                return Flaw(what, Fail.TOO_MANY(instruction="tile"))
        return ""

    def misplaced(self, shape: Shape, found: Interpretation) -> str | None:
        """The verdict of `placed` on the last launch."""
        (report,) = found.reports
        return self.placed(shape, self.storers(report)) if self.placed else None

    def storers(self, report: "TileReport") -> "Tensor":
        """For each element of the output, the number of the block that stored it."""
        import torch

        return torch.from_numpy(list(report.storers.values())[len(self.problem.inputs)])
