"""Exercises whose answer is a cuTile kernel: the same answer is launched on a GPU and interpreted without one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib import device
from tutorlib.bench import Call
from tutorlib.compare import explain
from tutorlib.exercise import Answer, Outcome, Wrong, is_placeholder
from tutorlib.kernel import KernelExercise
from tutorlib.launch import Work
from tutorlib.output import Output
from tutorlib.problem import Shape

if TYPE_CHECKING:
    from torch import Tensor

PADDING = (
    "It is right where the part of a tile outside its array happens to be 0. That part is undetermined "
    "until the load has a padding_mode."
)


@dataclass(frozen=True, kw_only=True)
class TileExercise(KernelExercise):
    """An exercise whose answer is a @ct.kernel.

    The kernel takes the problem's tensors, the output last, then constants such as tile sizes; the exercise knows
    those and the grid, so one answer serves `ct.launch` and the interpreter. Every machine interprets it, which finds
    faults that a GPU hides (simulate.cutile.Finding); a machine with the GPU then launches it too, and times it.

    grid: takes a shape, gives the number of blocks along x, y and z.
    constants: takes a shape, gives the arguments after the tensors.
    shapes: small ones, a few hundred elements along a mode: the interpreter runs them all.
    """

    needs: str = "80"
    grid: Callable[[Shape], tuple[int, ...]]
    constants: Callable[[Shape], tuple[Any, ...]] = lambda shape: ()

    def grade(self, answer: Answer) -> Outcome:
        """Interpret the answer on every shape; where that goes well and a GPU is there, launch and time it."""
        import cuda.tile as ct

        from tutorlib.compile import CompileFailed
        from tutorlib.simulate.cutile import NotSimulated

        if not isinstance(answer, ct.kernel):
            return self.failed(f"{getattr(answer, '__name__', repr(answer))} is not a @ct.kernel function.")
        reason = device.why_not(self.needs)
        try:
            wrongs = {shape: wrong for shape in self.shapes if (wrong := self.interpret(answer, shape))}
            if wrongs:
                return self.wrong(wrongs, self.shapes)
            if lacks := self.lacks(answer):
                return self.failed(lacks)
            return self.interpreted(reason) if reason else self.run(answer)
        except NotImplementedError as error:
            if is_placeholder(error):
                return self.failed("not written yet")
            if isinstance(error, NotSimulated) and not reason:
                return self.run(answer)
            return self.failed(str(error))
        except CompileFailed as error:
            return self.failed("it does not compile.", str(error))

    def lacks(self, answer: Answer) -> str | None:
        """What is wrong with the instructions that it compiles to for `needs`, or None. Raises CompileFailed."""
        from tutorlib.compile import compile_cutile

        if not (self.requires or self.forbids):
            return None
        shape = self.bench_shape or self.shapes[-1]
        arguments = [*self.specs(shape), *self.constants(shape)]
        return self.wrong_instructions(compile_cutile(answer, arguments, f"sm_{self.needs}").instructions)

    def interpreted(self, reason: str) -> Outcome:
        """The outcome of an answer that is right, on a machine that cannot time it."""
        if not self.tiers:
            return self.outcome("passed", self.points, self.passed_line)
        message = f"– {self.id} {self.title}: right, interpreted block by block; speed not run: {reason}"
        return self.outcome("not_run", self.correctness_points, message)

    def interpret(self, answer: Answer, shape: Shape) -> Wrong | None:
        """Two launches, identity and ramp, then random inputs. None where both are right.

        Raises CompileFailed, NotSimulated and the placeholder's NotImplementedError.
        """
        import torch

        generator = torch.Generator()
        generator.seed()
        for inputs in (self.problem.pattern(shape, "cpu"), self.problem.random(shape, generator)):
            if wrong := self.judge_interpreted(answer, shape, inputs):
                return wrong
        return None

    def judge_interpreted(self, answer: Answer, shape: Shape, inputs: "tuple[Tensor, ...]") -> Wrong | None:
        """One launch: the result, the inputs and what the interpreter noticed."""
        operand = self.problem.output
        output = Output(operand, self.problem.shape_of(operand, shape), "cpu")
        kept = [x.clone() for x in inputs]
        try:
            told = self.notices(answer, shape, inputs, output)
        except (AssertionError, IndexError, RuntimeError, TypeError, ValueError) as error:
            if isinstance(error, NotImplementedError):
                raise
            return Wrong(f"while it ran: {type(error).__name__}: {error}")
        for op, before, after in zip(self.problem.inputs, kept, inputs, strict=True):
            if not before.equal(after):
                return Wrong(f"the kernel changed its input {op.name}.")
        expected = self.problem.expected(inputs, shape)
        wrong = explain(operand.name, *output.as_it_is().seen, *expected)
        if wrong is None:
            return Wrong(f"the result is right by luck: {told[0]}.") if told else None
        output.poison()
        self.notices(answer, shape, inputs, output, undetermined=lambda dtype: 0)
        if not explain(operand.name, *output.as_it_is().seen, *expected):
            return Wrong(wrong.what, PADDING)
        return Wrong(wrong.what, f"Noticed while it ran: {told[0]}." if told else wrong.mistake)

    def notices(
        self, answer: Answer, shape: Shape, inputs: "tuple[Tensor, ...]", output: Output, **options: Any
    ) -> list[str]:
        """Interpret one launch and say what was noticed, but for elements left unwritten: those show in the result."""
        import cuda.tile as ct

        from tutorlib.compile import explain as explain_error
        from tutorlib.simulate.cutile import run

        try:
            report = run(answer, self.grid(shape), (*inputs, output.tensor, *self.constants(shape)), **options)
        except ct.TileError as error:
            raise explain_error(error, error.message.strip()) from error
        return [
            finding.message + (f" (line {finding.line})" if finding.line else "")
            for finding in report.findings
            if finding.kind != "unwritten"
        ]

    def launcher(self, answer: Answer) -> "TileLauncher":
        return TileLauncher(answer, self.grid, self.constants)


@dataclass(frozen=True)
class TileLauncher:
    """A cuTile kernel on the GPU at hand; cuTile compiles it when it is first launched on tensors of a kind."""

    answer: Answer
    grid: Callable[[Shape], tuple[int, ...]]
    constants: Callable[[Shape], tuple[Any, ...]]

    def on(self, work: Work) -> Call:
        """A call of the answer on these tensors."""
        import cuda.tile as ct
        import torch

        arguments = (*work.tensors, *self.constants(work.shape))
        grid = self.grid(work.shape)
        return lambda: ct.launch(torch.cuda.current_stream(), grid, self.answer, arguments)
