"""Exercises whose answer is a CUDA Tile C++ kernel, written as a string that a function returns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutorlib.checking.exercise import Answer, Verdict, WrongKind, wrong
from tutorlib.checking.kernel import KernelExercise, compiled_not_run
from tutorlib.checking.served import Served, need_function
from tutorlib.checking.values import attempt
from tutorlib.compiling.cpp import CompiledCpp, compile_cpp, wrong_parameters
from tutorlib.compiling.driver import LaunchGrid
from tutorlib.failure import Fail, Flaw
from tutorlib.measuring.launchers import CppLauncher
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.languages.launcher import SimulatedLauncher

OF_SOURCE = " that returns the source"  # the function asked for
INSPECTED = "sm_90"  # the target whose code every machine inspects


@dataclass(frozen=True, kw_only=True)
class CppExercise(KernelExercise):
    """An exercise whose answer is a function without parameters that returns the source of one tile kernel.

    The kernel takes the problem's tensors, the output last, as pointers, then the problem's sizes as integers.
    Every machine compiles it for Hopper and looks at the code. One with a GPU then runs and times it; others
    simulate it.

    grid: takes a shape, gives the number of tile blocks along x, y and z.
    tma: whether every load and store of a tile must go by TMA.
    spills: whether the code may use local memory, where registers go that a thread has no room for.
    """

    grid: Callable[[Shape], LaunchGrid]
    tma: bool = False
    spills: bool = True

    def judge(self, served: Served) -> Verdict:
        served.ask(need_function, OF_SOURCE)
        return self.judge_returned(served)

    def accept(self, answer: Answer) -> str:
        return source_of(answer)

    def artifact(self, served: Served) -> str:
        return self.accept(served)

    def examine(self, artifact: str) -> Verdict | None:
        lacks = self.wrong_code(compile_cpp(artifact, INSPECTED))
        return wrong(lacks) if lacks else None

    def wrong_code(self, compiled: CompiledCpp) -> str | None:
        """A requirement that the compiled kernel breaks, as a sentence, or None."""
        if misfit := wrong_parameters(compiled, len(self.problem.operands), len(self.problem.dims)):
            return misfit + "."
        if lacks := self.lacking(compiled.instructions):
            return lacks
        if self.tma and any(remark.text.startswith("Failed to select TMA") for remark in compiled.remarks):
            what = (
                f"it compiles, but not every load and store goes by TMA. The compiler's remarks:\n{compiled.remarked}"
            )
            return Flaw(what, Fail.LACKS(instruction="TMA"))
        if compiled.stack_bytes and not self.spills:
            what = f"it compiles, but a thread keeps {compiled.stack_bytes:,} bytes of its tile in local memory."
            return Flaw(what, Fail.SPILLS)
        return None

    def compile_for(self, artifact: str, arch: str) -> CompiledCpp:
        return compile_cpp(artifact, f"sm_{arch}")

    def unrun(self, why: str) -> Verdict:
        return compiled_not_run((INSPECTED,), why)

    def simulator(self, artifact: str) -> "SimulatedLauncher":
        from tutorlib.simulate.ptx.languages.cpp import SimulatedTileCpp

        return SimulatedTileCpp(artifact, self.grid)

    def launcher(self, artifact: str) -> Launcher:
        return CppLauncher(artifact, self.grid)


def source_of(answer: Answer) -> str:
    """The source that the answer returns. Raises WrongKind if it is no string, and Unwritten."""
    source, fault = attempt(answer, ())
    if fault:
        raise WrongKind(fault.what)
    if not isinstance(source, str):
        raise WrongKind(f"it should return the source, a string; it returns {source!r}.")
    return source
