"""Exercises whose answer is a CUDA Tile C++ kernel, written as a string that a function returns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutorlib.checking.evidence import SourceRequest
from tutorlib.checking.kernel import KernelExercise
from tutorlib.compiling.compiled import LaunchGrid
from tutorlib.compiling.cpp import CompiledCpp, compile_cpp
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.measuring.launchers import CppLauncher
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.measuring.simulated_launchers import SimulatedLauncher

INSPECTED = "sm_90"  # every machine compiles an answer for this architecture, to look at the code
ADDRESS = 256  # bytes: cudaMalloc's addresses are multiples of it


class PromiseFlaw(FailureKind):
    FALSE = "false promise"
    INSIDE = "unmasked"  # a promise as well: that every tile is inside the span


@dataclass(frozen=True, kw_only=True)
class CppExercise(KernelExercise):
    """An exercise whose answer is a function without parameters that returns the source of one tile kernel.

    The kernel takes the problem's tensors, the output last, as pointers, then the problem's sizes as integers.
    Every machine compiles it for Hopper and looks at the code. One with a GPU then runs and times it; others
    simulate it.

    grid: takes a shape, gives the number of tile blocks along x, y and z.
    divisible: each size of the exercise's problems is a multiple of this, and of nothing larger; those in
        `free` may be any number.
    tma: whether every load and store of a tile must go by TMA.
    """

    grid: Callable[[Shape], LaunchGrid]
    divisible: int = 1
    free: str = ""
    tma: bool = False

    def request(self, simulated: tuple[Shape, ...], run: tuple[Shape, ...]) -> SourceRequest:
        return SourceRequest(**self.for_request(()))

    def wrong_code(self, evidence: str) -> str | None:
        compiled = compile_cpp(evidence, INSPECTED)
        if misfit := wrong_parameters(compiled, len(self.problem.operands), len(self.problem.dims)):
            return misfit + "."
        if false := self.false_promise(compiled):
            return false
        if compiled.unmasked:
            name = self.problem.operands[compiled.unmasked[0]].name.lower()
            what = f"no load or store of {name} has a mask, which promises that every tile is inside the span. "
            return Flaw(what + "A tile at the edge is not: load_masked, store_masked.", PromiseFlaw.INSIDE)
        if lacks := self.lacking(compiled.instructions):
            return lacks
        if self.tma and any(remark.text.startswith("Failed to select TMA") for remark in compiled.remarks):
            what = "it compiles, but not every load and store goes by TMA. The compiler's remarks:\n"
            return Flaw(what + compiled.remarked, Fail.LACKS(instruction="TMA"))
        return None

    def false_promise(self, compiled: CompiledCpp) -> Flaw | None:
        """The first promise about a parameter that some of the exercise's calls break, as a sentence; None for none."""
        address = f"GPU memory begins at multiples of {ADDRESS} bytes"
        known = [(operand.name, ADDRESS, address) for operand in self.problem.operands]
        for dim in self.problem.dims:
            multiple = 1 if dim in self.free else self.divisible
            truth = f"is a multiple of {multiple} only" if multiple > 1 else "may be any number"
            known.append((dim, multiple, f"{dim.lower()} {truth}"))
        for (name, multiple, truth), divisor in ((known[number], divisor) for number, divisor in compiled.promises):
            if multiple % divisor:
                what = f"it promises that {name.lower()} is a multiple of {divisor}, but {truth}. "
                why = "Nothing checks a promise: where it is false, the kernel may read the wrong data or crash."
                return Flaw(what + why, PromiseFlaw.FALSE)
        return None

    def simulator(self, evidence: str) -> "SimulatedLauncher":
        from tutorlib.measuring.simulated_launchers import simulated_cpp

        return simulated_cpp(evidence, self.grid)

    def launcher(self, evidence: str) -> Launcher:
        return CppLauncher(evidence, self.grid)


def wrong_parameters(compiled: CompiledCpp, pointers: int, integers: int) -> str | None:
    """Why the kernel does not take that many pointers and then that many integers, or None."""
    words = {"ptr": "pointer", "u32": "integer", "u64": "integer"}
    has = [words.get(kind, kind) for kind in compiled.parameters]
    wanted = ["pointer"] * pointers + ["integer"] * integers
    if has == wanted:
        return None
    what = f"the kernel's parameters should be {', '.join(wanted)}; yours are {', '.join(has) or 'none'}"
    return Flaw(what, Fail.PARAMETERS)
