"""Exercises whose answer is a cuTile kernel: the same answer is launched on a GPU and interpreted without one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer, Verdict, WrongKind, not_run, wrong
from tutorlib.checking.interpreting import Interpretation, interpret
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.served import Served
from tutorlib.checking.simulating import find_simulated_fault
from tutorlib.compiling.compiled import Compiled
from tutorlib.failure import Fail, Fault, Flaw
from tutorlib.machine import device
from tutorlib.measuring.launchers import CutileLauncher
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Launcher
from tutorlib.problems.wrong import Wrong, by

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.checking.artifact import CutileArtifact
    from tutorlib.measuring.simulated_launchers import SimulatedLauncher
    from tutorlib.simulate.cutile import Accepted, TileReport


@dataclass(frozen=True)
class Look:
    """An inspection of a kernel in the answer's process, which receives it as plain data."""

    def fault(self, kernel: CutileLauncher) -> Wrong | None:
        """What is wrong in a kernel that is right for the exercise's own problem, or None."""
        return None

    def waste(self, kernel: CutileLauncher) -> str:
        """Needless work of a right kernel, as a sentence, or ""."""
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
    besides: Look = field(default_factory=Look)

    def accept(self, answer: Answer) -> CutileLauncher:
        import cuda.tile as ct

        if not isinstance(answer, ct.kernel):
            raise WrongKind(f"{getattr(answer, '__name__', repr(answer))} is not a @ct.kernel function.")
        return CutileLauncher(answer, self.grid, self.constants)

    def look_into(self, kernel: CutileLauncher) -> Verdict | None:
        """Interpret it on every shape. A gap of the interpreter's is no fault if a GPU can run the kernel."""
        from tutorlib.simulate.ptx import NotSimulated

        accepted: Accepted = []
        try:
            seen = {shape: self.interpret(kernel.kernel, shape, accepted) for shape in self.shapes}
        except NotSimulated as error:
            return wrong(str(error)) if device.why_not(self.needs) else None
        if wrongs := {shape: one.wrong for shape, one in seen.items() if one.wrong}:
            return self.wrong_at(wrongs, self.shapes)
        if fault := self.besides.fault(kernel):
            return wrong(fault.what, *filter(None, [fault.mistake]))
        needless = (self.needless(shape, one) for shape, one in seen.items())
        wasted = next(filter(None, needless), "") or self.besides.waste(kernel)
        return self.more_than_it_must(wasted) if wasted else None

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

    def artifact(self, served: Served) -> "CutileArtifact":
        from tutorlib.checking.artifact import CutileArtifact

        return CutileArtifact.of(served, self)

    def examine(self, artifact: "CutileArtifact") -> Verdict | None:
        """Its instructions, if the exercise asks for some: compiling takes long."""
        if self.requires or self.forbids:
            lacks = self.lacking(self.compile_for(artifact, self.arch or str(self.needs.since)).instructions)
            return wrong(lacks) if lacks else None
        return None

    def without_gpu(self, artifact: "CutileArtifact", why: str) -> Verdict:
        """A kernel that cannot be simulated is interpreted in the answer's process, on inputs drawn here."""
        from tutorlib.checking.artifact import InterpretedArtifact

        if self.simulated:
            return super().without_gpu(artifact, why)
        launcher, shapes = InterpretedArtifact(artifact), self.sizes_simulated
        found = {shape: find_simulated_fault(self.problem, launcher, shape, self.patterned) for shape in shapes}
        wrongs = {shape: wrong for shape, wrong in found.items() if wrong}
        return self.wrong_at(wrongs, shapes) if wrongs else self.unrun(why)

    def compile_for(self, artifact: "CutileArtifact", arch: str) -> Compiled:
        return artifact.compiled(self.problem, self.inspected or self.sizes[-1], f"sm_{arch}")

    def unrun(self, why: str) -> Verdict:
        if not self.tiers:
            return Verdict(self.points)
        return not_run(f"right, interpreted block by block; speed not run: {why}", self.correctness_points)

    def simulator(self, artifact: "CutileArtifact") -> "SimulatedLauncher":
        from tutorlib.checking.artifact import SimulatedCutileArtifact

        return SimulatedCutileArtifact(artifact, self.grid)

    def launcher(self, artifact: "CutileArtifact") -> Launcher:
        from tutorlib.checking.artifact_launch import LaunchedCutileArtifact

        return LaunchedCutileArtifact(artifact, self.grid)

    def interpret(self, kernel: Any, shape: Shape, accepted: "Accepted") -> Interpretation:
        """Raises CompileFailed, NotSimulated and the placeholder's NotImplementedError."""
        from tutorlib.simulate.cutile import run

        def launches(*tensors: "Tensor", **options: Any) -> "list[TileReport]":
            return [run(kernel, self.grid(shape), (*tensors, *self.constants(shape)), accepted=accepted, **options)]

        found = interpret(self.problem, shape, launches, self.mistakes(shape))
        if not (found.wrong or found.repeated) and self.placed and (misplaced := self.misplaced(shape, found)):
            return Interpretation(Wrong("right, but blocks are not in the order that is asked for.", f"{misplaced}."))
        if not found.wrong and (other := self.of_other_size(shape, found)):
            return Interpretation(Wrong(other, "Use tiles of the size that the kernel is given."))
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
