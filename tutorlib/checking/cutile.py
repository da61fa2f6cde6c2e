"""Exercises whose answer is a cuTile kernel: the same answer is launched on a GPU and interpreted without one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer, Verdict, WrongKind, not_run, wrong
from tutorlib.checking.interpreting import Interpretation, interpret
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.served import Served
from tutorlib.checking.simulating import find_simulated_fault
from tutorlib.compiling.compiled import Compiled
from tutorlib.failure import Fail, Flaw
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
        wastes = (waste(shape, one) for waste in self.wastes() for shape, one in seen.items())
        wasted = next(filter(None, wastes), "") or self.besides.waste(kernel)
        return self.more_than_it_must(wasted) if wasted else None

    def wastes(self) -> "tuple[Callable[[Shape, Interpretation], str], ...]":
        """Each takes a size and what was seen there; returns a sentence about needless work, or ""."""
        return (
            lambda shape, found: found.repeated if self.once else "",
            self.stored_to_an_input,
            self.loaded_again,
            self.idle,
            self.element_by_element,
            lambda shape, found: multiplied_in(self.factors, found),
            self.too_wide,
            self.multiplied_again,
            self.masked_in_vain,
        )

    def idle(self, shape: Shape, found: Interpretation) -> str:
        """A sentence about blocks that store nothing, or ""."""
        (report,) = found.reports
        idle = report.blocks - len(set(self.storers(report).flatten().tolist()))
        if not self.all_blocks or idle <= 0:
            return ""
        return Flaw(f"at {by(shape)}, {idle} of {report.blocks} blocks store nothing.", Fail.TOO_FEW_BLOCKS)

    def element_by_element(self, shape: Shape, found: Interpretation) -> str:
        """A sentence about tensors of which it loads or stores single elements, or ""."""
        (report,) = found.reports
        if not self.tiled or not report.scattered:
            return ""
        return Flaw(
            f"it loads or stores single elements of {' and '.join(sorted(report.scattered))}. ct.load and ct.store "
            "move whole tiles, which TMA can carry.",
            Fail.TOO_FEW(instruction="ct.load"),
        )

    def stored_to_an_input(self, shape: Shape, found: Interpretation) -> str:
        """A sentence about an input to which it stores the values that are there, or ""."""
        (report,) = found.reports
        for operand, (name, writer) in zip(self.problem.inputs, report.storers.items(), strict=False):
            if not operand.scratch and (stored := int((writer >= 0).sum())):
                what = f"at {by(shape)} its blocks store {stored:,} elements of {name}, an input: leave it as it is."
                return Flaw(what, Fail.TOO_MANY(instruction="ct.store"))
        return ""

    def loaded_again(self, shape: Shape, found: Interpretation) -> str:
        """A sentence about an operand that its blocks load more often than needed, or ""."""
        (report,) = found.reports
        output = len(self.problem.inputs)
        for number, most in {output: 0, **self.loads(shape)}.items():
            name = list(report.storers)[number]
            if (loaded := report.loaded.get(name, 0)) > most:
                again = "use each tile that is loaded for everything that needs it"
                how = "compute each result in a tile, and store it" if number == output else again
                return Flaw(
                    f"at {by(shape)} its blocks load {loaded:,} elements of {name}; {most:,} are enough: {how}.",
                    Fail.TOO_MANY(instruction="ct.load"),
                )
        return ""

    def multiplied_again(self, shape: Shape, found: Interpretation) -> str:
        """A sentence about products that ct.mma computes more than once, or ""."""
        (report,) = found.reports
        if not self.products or report.products <= (most := self.products(shape)):
            return ""
        return Flaw(
            f"at {by(shape)}, its ct.mma compute {report.products:,} products of elements; {most:,} are enough: "
            "multiply each pair of tiles once.",
            Fail.TOO_MANY(instruction="ct.mma"),
        )

    def too_wide(self, shape: Shape, found: Interpretation) -> str:
        """A sentence about an operand with a tile that is larger than needed, or ""."""
        (report,) = found.reports
        for number, most in self.widest(shape).items():
            name = list(report.storers)[number]
            if (size := report.largest.get(name, 0)) > most:
                what = f"at {by(shape)} it loads tiles of {size:,} elements of {name}; {most:,} are enough."
                return Flaw(what, Fail.TOO_MANY(instruction="tile"))
        return ""

    def masked_in_vain(self, shape: Shape, found: Interpretation) -> str:
        """A sentence about tiles of scores that it masks, and of which every query sees every key, or ""."""
        (report,) = found.reports
        if not self.masked or report.selected <= (most := self.masked(shape)):
            return ""
        return Flaw(
            f"at {by(shape)} its blocks mask {report.selected:,} tiles of scores; only {most:,} have a key that one of "
            "the block's queries does not see.",
            Fail.TOO_MANY(instruction="ct.where"),
        )

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


def multiplied_in(dtype: str, found: Interpretation) -> str:
    """A sentence about factors of ct.mma in another dtype than this, or ""; "" asks for none."""
    others = sorted(set().union(*(report.factors for report in found.reports)) - {dtype}) if dtype else []
    if not others:
        return ""
    return Flaw(
        f"ct.mma multiplies tiles in {others[0]}, where {dtype} is asked for.", Fail.USES(instruction=others[0])
    )
