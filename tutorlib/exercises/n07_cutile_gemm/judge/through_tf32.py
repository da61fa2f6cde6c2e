"""Looks at a kernel that multiplies fp32 matrices in tf32: it leaves matrices of other dtypes as they are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.checking.cutile import Look, multiplied_in
from tutorlib.checking.interpreting import Interpretation, interpret
from tutorlib.failure import Flaw
from tutorlib.measuring.launchers import CutileLauncher
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from tutorlib.simulate.cutile import TileReport


@dataclass(frozen=True, kw_only=True)
class InTheirOwn(Look):
    """problem, shape: of matrices in bf16. Their products are exact in fp32, so accumulators that are rounded show."""

    problem: Problem
    shape: Shape

    def fault(self, kernel: CutileLauncher) -> Wrong | None:
        found = self.seen(kernel).wrong
        return found and Wrong(Flaw("given matrices in bf16: ") + found.what, found.mistake)

    def waste(self, kernel: CutileLauncher) -> str:
        found = multiplied_in("bfloat16", self.seen(kernel))
        return found and Flaw("given matrices in bf16, ") + found

    def seen(self, kernel: CutileLauncher) -> Interpretation:
        from tutorlib.simulate.cutile import run

        def launches(*tensors: Any, **options: Any) -> "list[TileReport]":
            arguments = (*tensors, *kernel.constants(self.shape))
            return [run(kernel.kernel, kernel.grid(self.shape), arguments, **options)]

        return interpret(self.problem, self.shape, launches)
