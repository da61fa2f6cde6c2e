"""Looks for tf32 in a kernel that multiplies only fp32 matrices in it."""

from dataclasses import dataclass

from tutorlib.checking.cutile import Look
from tutorlib.failure import Fail, Flaw
from tutorlib.measuring.launchers import CutileLauncher
from tutorlib.problems.problem import Problem, Shape


@dataclass(frozen=True, kw_only=True)
class NoTf32(Look):
    """problem, shape: of matrices that are multiplied in their own dtype."""

    problem: Problem
    shape: Shape

    def waste(self, kernel: CutileLauncher) -> str:
        if ".tf32" in kernel.compiled(self.problem, self.shape, "sm_80").ptx:  # of an instruction: no name has a dot
            what = "matrices in bf16 are multiplied in tf32, too, and not in their own dtype."
            return Flaw(what, Fail.USES(instruction="tf32"))
        return ""
