"""Exercises whose answer is a GPU kernel, and how one is graded."""

from dataclasses import dataclass

from tutorlib import device
from tutorlib.exercise import Answer, Case, Exercise, Outcome
from tutorlib.problem import Problem, Shape

ARCH = {"80": "sm_80", "90": "sm_90a", "100": "sm_100a"}  # what a kernel is compiled for where it cannot run


@dataclass(frozen=True, kw_only=True)
class KernelExercise(Exercise):
    """An exercise whose answer is a @cute.jit host function: it takes cute.Tensors, the output last, and launches.

    The checker compiles it and calls it. Points are for right results, shared among `shapes`, except one for each
    tier. Where this machine cannot run it, it is compiled for `needs` and its instructions are looked at.

    problem: what it must compute; its tensors come in the order problem.operands.
    shapes: sizes by problem.dims ((M, N) for a copy, (M, N, K) for a GEMM). The first has all sizes equal, so that
        a message can tell a kernel that mixes them up; the others differ in every size.
    bench_shape: the size that is timed, or None where speed is not asked for.
    tiers: for one point each, the fraction of the calibrated ratio that must be reached: (0.7, 0.9).
    requires, forbids: instruction names as in Compiled.instructions ("cp.async") that the PTX must or must not have.
    dynamic: whether the sizes are known at run time only: one compilation then serves all shapes.
    divisible: what divides the contiguous mode's size; dynamic layouts carry it, so that 128-bit accesses compile.
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

    def grade(self, answer: Answer) -> Outcome:
        if getattr(answer, "_decorator_kind", None) != "jit":
            return self.failed(f"{getattr(answer, '__name__', answer)!s} is not a @cute.jit function.")
        reason = device.why_not(self.needs)
        return self.compile_only(answer, reason) if reason else self.run(answer)

    def failed(self, *lines: str) -> Outcome:
        return self.outcome("failed", 0, f"✗ {self.id} {self.title}: " + "\n  ".join(lines))

    def compile_only(self, answer: Answer, reason: str) -> Outcome:
        """Compile for the family that the exercise needs: "not_run" where that goes well, else "failed"."""
        from tutorlib.compile import CompileFailed, compile_cute

        arch = ARCH[self.needs]
        try:
            compiled = compile_cute(answer, self.specs(self.shapes[0]), arch)
        except NotImplementedError as error:
            if str(error).startswith("Exercise "):
                return self.failed("not written yet")
            raise
        except CompileFailed as error:
            return self.failed("it does not compile.", str(error))
        if lacks := self.wrong_instructions(compiled.instructions):
            return self.failed(lacks)
        message = f"– {self.id} {self.title}: compiled for {arch}; not run: {reason}"
        return self.outcome("not_run", 0, message)

    def specs(self, shape: Shape):
        """The tensors' types as compile_cute takes them, the output last."""
        from tutorlib.compile import TensorSpec

        return [
            TensorSpec(self.problem.shape_of(op, shape), op.dtype, dynamic=self.dynamic) for op in self.problem.operands
        ]

    def wrong_instructions(self, found: tuple[str, ...]) -> str | None:
        if missing := [name for name in self.requires if name not in found]:
            return f"compiled, but without {' and '.join(missing)}, which the exercise is about."
        if extra := [name for name in self.forbids if name in found]:
            return f"compiled, but it still uses {' and '.join(extra)}."
        return None
