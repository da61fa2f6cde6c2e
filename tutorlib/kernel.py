"""Exercises whose answer is a GPU kernel, and how one is graded."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tutorlib import bench, device, targets
from tutorlib.bench import Measurement
from tutorlib.compare import explain
from tutorlib.exercise import Answer, Case, Exercise, Outcome, Wrong, count, is_placeholder
from tutorlib.fault import RESTART, KernelFault, context_broken, fault
from tutorlib.launch import Launcher, Work, call_in_order, call_in_peace, new_generator
from tutorlib.problem import Problem, Shape

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.compile import TensorSpec

ARCH = {"80": "sm_80", "90": "sm_90a", "100": "sm_100a"}  # what a kernel is compiled for where it cannot run
ATTEMPTS = 3  # at a measurement that is not too noisy


class WrongCode(Exception):
    """The answer compiles, but not to the instructions that its exercise is about; the message says what is wrong."""


class WrongWhenTimed(Exception):
    """A call whose time was taken gave a wrong result; the message says what is wrong with it."""


@dataclass(frozen=True, kw_only=True)
class KernelExercise(Exercise):
    """An exercise whose answer is a @cute.jit host function: it takes cute.Tensors, the output last, and launches.

    The checker compiles it and calls it. Points are for right results, shared among all sizes, except one for each
    tier. Where this machine cannot run it, it is compiled for `needs` and its instructions are looked at.

    problem: what it must compute; its tensors come in the order problem.operands.
    shapes: sizes by problem.dims: (M, N) for a copy, (M, N, K) for a GEMM. One has all sizes equal, so that a
        message can tell a kernel that mixes them up; the others differ in every size.
    bench_shape: the size that is timed, or None where speed is not asked for.
    tiers: for one point each, the fraction of the calibrated ratio that must be reached: (0.7, 0.9).
    requires, forbids: instruction names as in Compiled.instructions ("cp.async") that the PTX must or must not have.
    dynamic: whether the sizes are known at run time only: one compilation then serves all shapes.
    divisible: what divides the contiguous mode's size; dynamic layouts carry it, so that 128-bit accesses compile.
    archs: what it is compiled for where it cannot run; (): the family that it needs.
    """

    cases: tuple[Case, ...] = ()
    needs: str = "80"
    problem: Problem
    shapes: tuple[Shape, ...]
    bench_shape: Shape | None = None
    tiers: tuple[float, ...] = ()
    requires: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()
    dynamic: bool = False
    divisible: int = 1
    archs: tuple[str, ...] = ()

    @property
    def correctness_points(self) -> int:
        return self.points - len(self.tiers)

    def grade(self, answer: Answer) -> Outcome:
        """Run the answer on every shape and time it; or compile it, where this machine cannot run it."""
        from tutorlib.compile import CompileFailed

        if getattr(answer, "_decorator_kind", None) != "jit":
            return self.failed(f"{getattr(answer, '__name__', repr(answer))} is not a @cute.jit function.")
        reason = device.why_not(self.needs)
        try:
            return self.compile_only(answer, reason) if reason else self.run(answer)
        except NotImplementedError as error:
            if is_placeholder(error):
                return self.failed("not written yet")
            return self.failed(f"NotImplementedError: {error}")
        except CompileFailed as error:
            return self.failed("it does not compile.", str(error))
        except ModuleNotFoundError as error:
            return self.outcome("not_run", 0, f"– {self.id} {self.title}: not run: the package {error.name} is missing")

    def failed(self, *lines: str) -> Outcome:
        return self.outcome("failed", 0, f"✗ {self.id} {self.title}: " + "\n  ".join(lines))

    def specs(self, shape: Shape) -> "list[TensorSpec]":
        """The tensors' types as the compiler needs them, the output last."""
        from tutorlib.compile import TensorSpec

        return [
            TensorSpec(self.problem.shape_of(op, shape), op.dtype, dynamic=self.dynamic, divisibility=self.divisible)
            for op in self.problem.operands
        ]

    def compile_only(self, answer: Answer, reason: str) -> Outcome:
        """Compile for each of `archs`: "not_run" where that goes well, else "failed"."""
        from tutorlib.compile import compile_cute

        archs = self.archs or (ARCH[self.needs],)
        for arch in archs:
            compiled = compile_cute(answer, self.specs(self.bench_shape or self.shapes[-1]), arch)
            if lacks := self.wrong_instructions(compiled.instructions):
                return self.failed(lacks)
        message = f"– {self.id} {self.title}: compiled for {' and '.join(archs)}; not run: {reason}"
        return self.outcome("not_run", 0, message)

    def wrong_instructions(self, found: frozenset[str]) -> str | None:
        if missing := [name for name in self.requires if name not in found]:
            return f"it compiles, but without {' and '.join(missing)}, which the exercise is about."
        if extra := [name for name in self.forbids if name in found]:
            return f"it compiles, but still uses {' and '.join(extra)}."
        return None

    @property
    def sizes(self) -> tuple[Shape, ...]:
        """Every size at which the answer must be right, the timed one last."""
        return (*self.shapes, self.bench_shape) if self.bench_shape else self.shapes

    def launcher(self, answer: Answer) -> Launcher:
        """The answer, compiled for this GPU; its `on(work)` is a call of it. Raises CompileFailed and WrongCode."""
        launcher = Launcher(answer, {shape: self.specs(shape) for shape in self.sizes}, self.dynamic)
        if lacks := self.wrong_instructions(launcher.compiled(self.sizes[-1]).instructions):
            raise WrongCode(lacks)
        return launcher

    def run(self, answer: Answer) -> Outcome:
        """Every size, then the time. A crash or a hang ends it. Raises CompileFailed and NotImplementedError."""
        if context_broken():
            return self.outcome("error", 0, f"✗ {self.id} {self.title}: {RESTART}")
        try:
            launcher = self.launcher(answer)
            wrongs = {shape: wrong for shape in self.sizes if (wrong := self.judge(launcher, shape))}
            if wrongs:
                return self.wrong(wrongs, self.sizes)
            if self.bench_shape is None:
                return self.outcome("passed", self.points, self.passed_line)
            return self.timed(launcher, self.bench_shape)
        except WrongCode as error:
            return self.failed(str(error))
        except NotImplementedError:
            raise
        except (KernelFault, RuntimeError) as error:  # torch raises the latter: no memory, or a late CUDA error
            told = error if isinstance(error, KernelFault) else fault(error)
            return self.outcome(told.status, 0, f"✗ {self.id} {self.title}: {told}")

    def wrong(self, wrongs: dict[Shape, Wrong], sizes: tuple[Shape, ...]) -> Outcome:
        """The outcome where some of the sizes came out wrong; the message is about the first of them."""
        right = len(sizes) - len(wrongs)
        shape, wrong = next(iter(wrongs.items()))
        mistake = wrong.mistake
        square = [other for other in sizes if len(set(other)) == 1 < len(other) and other not in wrongs]
        if square and not mistake:
            mistake = f"It is right at {by(square[0])}, where all sizes agree: is one size used in another's place?"
        lines = [f"✗ {self.id} {self.title}: {right} of {count(len(sizes), 'size')} right"]
        lines += [f"  {by(shape)}: {wrong.what}"] + ([f"  {mistake}"] if mistake else [])
        points = int(2 * self.correctness_points * right / len(sizes)) / 2
        return self.outcome("partial" if points else "failed", points, "\n".join(lines))

    def judge(self, launcher: Launcher, shape: Shape) -> Wrong | None:
        """Three calls into one output: identity and ramp, then random inputs twice. None where all are right."""
        work = Work(self.problem, shape)
        call = launcher.on(work)
        earlier: tuple[Tensor, Tensor] | None = None
        for fresh in (None, new_generator(), new_generator()):
            if fresh is not None:
                work.refill(fresh)
            if wrong := self.judge_call(call, work, earlier):
                return wrong
            earlier = tuple(x.clone() for x in work.expected())  # a copy's result is its input, soon refilled
        return None

    def judge_call(self, call: bench.Call, work: Work, earlier: "tuple[Tensor, Tensor] | None") -> Wrong | None:
        """One call: nothing but the output is written, and that rightly. `earlier`: what the last call should give."""
        kept = [x.clone() for x in work.inputs]
        left = call_in_order(call, work.output)
        name = self.problem.output.name
        if outside := left.overrun():
            return Wrong(f"the kernel wrote outside {name}: {outside}.")
        for op, before, after in zip(self.problem.inputs, kept, work.inputs, strict=True):
            if not before.equal(after):
                return Wrong(f"the kernel changed its input {op.name}.")
        wrong = explain(name, *left.seen, *work.expected())
        if wrong and left.unwritten.any():
            later = call_in_peace(call, work.output)
            if not explain(name, *later.seen, *work.expected()):
                return Wrong(f"{name} is written, but not on the current stream: launch without a stream of your own.")
        if wrong and earlier and not explain(name, *left.seen, *earlier):
            return replace(wrong, mistake="It is the right result for the inputs of the call before.")
        return wrong

    def timed(self, launcher: Launcher, shape: Shape) -> Outcome:
        """Timed; a noisy measurement is taken again."""
        gpu = device.gpu()
        try:
            for _ in range(ATTEMPTS):
                measured = self.measure(launcher, shape, gpu)
                if not measured.noisy:
                    break
        except WrongWhenTimed as error:
            return self.failed(f"right when checked, wrong while it was timed: {error}")
        target = targets.target(f"sm_{gpu.arch}", self.id)
        outcome = self.verdict(measured, target, gpu)
        shown = f"\n  {measured}" if outcome.status == "passed" else ""
        if shown and self.tiers and target is None:
            shown += f". Not graded: there is no target for sm_{gpu.arch}"
        return replace(outcome, message=outcome.message + shown, measurement=asdict(measured))

    def measure(self, launcher: Launcher, shape: Shape, gpu: device.GPU) -> Measurement:
        """Times beside the baseline's. Raises WrongWhenTimed where a timed call's output is wrong, and KernelFault."""
        try:
            works = [Work(self.problem, shape) for _ in range(bench.buffer_sets(self.problem.bytes(shape), gpu.l2))]
            other_outputs = [work.output.tensor.clone() for work in works]  # the baseline has its own

            sums: list[tuple[int, ...]] = []

            def refresh() -> None:
                for work in works:
                    work.refill(new_generator())
                sums[:] = [work.checksums() for work in works]

            def spoil() -> None:
                for work in works:
                    work.output.poison()

            def verify() -> None:
                for work, before in zip(works, sums, strict=True):
                    if work.checksums() != before:
                        raise WrongWhenTimed("the kernel changed an input.")
                    left = work.output.as_it_is()
                    if wrong := explain(self.problem.output.name, *left.seen, *work.expected()):
                        raise WrongWhenTimed(wrong.what)

            times = bench.paired(
                [launcher.on(work) for work in works],
                [
                    partial(self.problem.baseline, output, *work.inputs)
                    for output, work in zip(other_outputs, works, strict=True)
                ],
                refresh,
                spoil,
                verify,
            )
        except (WrongWhenTimed, KernelFault):
            raise
        except Exception as error:
            raise fault(error) from error
        return bench.summarise(times, self.problem, shape, gpu, device.packages())

    def verdict(self, measured: Measurement, target: float | None, gpu: device.GPU) -> Outcome:
        """The outcome of a right kernel with this measurement.

        target: the calibrated ratio; None where nobody calibrated this architecture: then right is full points.
        """
        head, right = f"{self.id} {self.title}", self.correctness_points
        if reason := bench.impossible(measured, self.problem, gpu.hardware):
            return self.failed(reason)
        if not self.tiers or target is None:
            return self.outcome("passed", self.points, self.passed_line)
        reached = sum(measured.ratio >= tier * target for tier in self.tiers)
        if reached == len(self.tiers):
            return self.outcome("passed", self.points, self.passed_line)
        if measured.noisy:
            message = f"✗ {head}: right; too noisy to grade its speed, run it again: {measured.noisy}."
            return self.outcome("partial", right, message)
        next_ratio = min(tier * target for tier in self.tiers if measured.ratio < tier * target)
        message = (
            f"✗ {head}: {right + reached} of {count(self.points, 'point')}\n"
            f"  Right, at {measured.ratio:.2f} of {measured.baseline}'s speed; the next point needs {next_ratio:.2f}."
        )
        return self.outcome("partial", right + reached, message)


def by(shape: Shape) -> str:
    """(512, 256) as people write it: 512×256."""
    return "×".join(map(str, shape))
