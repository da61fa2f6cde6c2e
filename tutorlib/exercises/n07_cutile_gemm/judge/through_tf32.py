"""Looks at a kernel that multiplies fp32 matrices in tf32: it leaves matrices of other dtypes as they are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.checking.cutile import Look
from tutorlib.checking.interpreting import Interpretation, interpret
from tutorlib.failure import Fail, Flaw
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
        other = min(set().union(*(report.factors for report in self.seen(kernel).reports)) - {"bfloat16"}, default="")
        return other and Flaw(f"given matrices in bf16, ct.mma multiplies in {other}.", Fail.USES(instruction=other))

    def seen(self, kernel: CutileLauncher) -> Interpretation:
        from tutorlib.simulate.cutile import run

        def launches(*tensors: Any, **options: Any) -> "list[TileReport]":
            arguments = (*tensors, *kernel.constants(self.shape))
            return [run(kernel.kernel, kernel.grid(self.shape), arguments, **options)]

        return interpret(self.problem, self.shape, launches)
