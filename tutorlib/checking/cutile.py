"""Exercises whose answer is a cuTile kernel: the same answer is launched on a GPU and interpreted without one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer, Verdict, WrongKind, not_run, wrong
from tutorlib.checking.kernel import KernelExercise
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.cutile import compile_cutile
from tutorlib.compiling.errors import compile_failure
from tutorlib.machine import device
from tutorlib.measuring.launchers import CutileLauncher, tensor_specs
from tutorlib.problems.differences import find_difference
from tutorlib.problems.output import Output
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Launcher
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.simulate.cutile import Report
    from tutorlib.simulate.ptx.languages.launcher import SimulatedLauncher

PADDING = (
    "It is right where the part of a tile outside its array happens to be 0. That part is undetermined "
    "until the load has a padding_mode."
)


@dataclass(frozen=True, kw_only=True)
class CutileExercise(KernelExercise):
    """An exercise whose answer is a @ct.kernel.

    The kernel takes the problem's tensors, the output last, then constants such as tile sizes; the exercise knows
    those and the grid, so one answer serves `ct.launch` and the interpreter. Every machine interprets it, which finds
    faults that a GPU hides (simulate.cutile.Finding). A machine with the GPU then launches it too, and times it; others
    simulate what it is compiled to.

    grid: takes a shape, gives the number of blocks along x, y and z.
    constants: takes a shape, gives the arguments after the tensors.
    order: takes a shape and, for each block, where the tiles of the output begin that it stored, in its order; what is
        wrong with that order, or "". A GPU tells by the time alone which block computes what.
    arch: the compute capability whose instructions are looked at; "": the oldest that has what it needs.
    shapes: small ones, a few hundred elements along a mode: the interpreter runs them all.
    """

    grid: Callable[[Shape], tuple[int, ...]]
    constants: Callable[[Shape], tuple[Any, ...]] = lambda shape: ()
    patterned: bool = False  # it is interpreted on identity and ramp
    order: Callable[[Shape, list[list[Shape]]], str] | None = None
    arch: str = ""

    def accept(self, answer: Answer) -> Answer:
        import cuda.tile as ct

        if not isinstance(answer, ct.kernel):
            raise WrongKind(f"{getattr(answer, '__name__', repr(answer))} is not a @ct.kernel function.")
        return answer

    def examine(self, kernel: Any) -> Verdict | None:
        """Interpret it on every shape; then look at the instructions, where the exercise asks for some.

        What the interpreter lacks is no fault where a GPU can run the kernel.
        """
        from tutorlib.simulate.cutile import NotSimulated

        try:
            wrongs = {shape: found for shape in self.shapes if (found := self.interpret(kernel, shape))}
        except NotSimulated as error:
            return wrong(str(error)) if device.why_not(self.needs) else None
        if wrongs:
            return self.wrong_at(wrongs, self.shapes)
        if self.requires or self.forbids:
            lacks = self.lacking(self.compile_for(kernel, self.arch or str(self.needs.since)).instructions)
            return wrong(lacks) if lacks else None
        return None

    def compile_for(self, kernel: Any, arch: str) -> Compiled:
        shape = self.sizes[-1]
        return compile_cutile(kernel, [*tensor_specs(self.problem, shape), *self.constants(shape)], f"sm_{arch}")

    def unrun(self, why: str) -> Verdict:
        if not self.tiers:
            return Verdict(self.points)
        return not_run(f"right, interpreted block by block; speed not run: {why}", self.correctness_points)

    def simulator(self, kernel: Any) -> "SimulatedLauncher":
        from tutorlib.simulate.ptx.languages.cutile import SimulatedCutile

        return SimulatedCutile(kernel, self.grid, self.constants)

    def launcher(self, kernel: Any) -> Launcher:
        return CutileLauncher(kernel, self.grid, self.constants)

    def interpret(self, kernel: Any, shape: Shape) -> Wrong | None:
        """Two launches, identity and ramp, then random inputs. None where both are right.

        Raises CompileFailed, NotSimulated and the placeholder's NotImplementedError.
        """
        import torch

        generator = torch.Generator()
        generator.seed()
        for inputs in (self.problem.pattern(shape, "cpu"), self.problem.random(shape, generator)):
            if found := self.interpret_once(kernel, shape, inputs):
                return found
        return None

    def interpret_once(self, kernel: Any, shape: Shape, inputs: "tuple[Tensor, ...]") -> Wrong | None:
        """One launch: the result, the inputs and what the interpreter noticed."""
        operand = self.problem.output
        output = Output(operand, self.problem.shape_of(operand, shape), "cpu")
        kept = [x.clone() for x in inputs]
        try:
            report = self.interpreted(kernel, shape, inputs, output)
        except (AssertionError, IndexError, RuntimeError, TypeError, ValueError) as error:
            if isinstance(error, NotImplementedError):
                raise
            return Wrong(f"while it ran: {type(error).__name__}: {error}")
        for op, before, after in zip(self.problem.inputs, kept, inputs, strict=True):
            if not before.equal(after):
                return Wrong(f"the kernel changed its input {op.name}.")
        noticed = noticed_in(report)
        expected = self.problem.expected(inputs, shape)
        found = find_difference(operand.name, *output.as_it_is().seen, *expected)
        if found is None:
            if noticed:
                return Wrong(f"the result is right by luck: {noticed[0]}.")
            disorder = self.order(shape, stored_by_blocks(report, self.output_of(kernel))) if self.order else ""
            return Wrong(f"the result is right, but {disorder}") if disorder else None
        output.poison()
        self.interpreted(kernel, shape, inputs, output, undetermined=lambda dtype: 0)
        if not find_difference(operand.name, *output.as_it_is().seen, *expected):
            return Wrong(found.what, PADDING)
        return Wrong(found.what, f"Noticed while it ran: {noticed[0]}." if noticed else found.mistake)

    def output_of(self, kernel: Any) -> str:
        """What the kernel calls its output."""
        from tutorlib.simulate.cutile.signature import parameters

        name: str = parameters(kernel)[len(self.problem.inputs)].name
        return name

    def interpreted(
        self, kernel: Any, shape: Shape, inputs: "tuple[Tensor, ...]", output: Output, **options: Any
    ) -> "Report":
        """Interpret one launch. Raises CompileFailed, NotSimulated and what the kernel raises."""
        import cuda.tile as ct

        from tutorlib.simulate.cutile import run

        try:
            return run(kernel, self.grid(shape), (*inputs, output.tensor, *self.constants(shape)), **options)
        except ct.TileError as error:
            raise compile_failure(error, error.message.strip()) from error


def noticed_in(report: "Report") -> list[str]:
    """What was noticed in a launch, but for elements left unwritten: those show in the result."""
    return [
        finding.message + (f" (line {finding.line})" if finding.line else "")
        for finding in report.findings
        if finding.kind != "unwritten"
    ]


def stored_by_blocks(report: "Report", output: str) -> list[list[Shape]]:
    """For each block where the tiles of the output begin that it stored, in its order."""
    found: list[list[Shape]] = [[] for _ in range(report.blocks)]
    for stored in report.stored:
        if stored.array == output:
            found[stored.block].append(stored.start)
    return found
