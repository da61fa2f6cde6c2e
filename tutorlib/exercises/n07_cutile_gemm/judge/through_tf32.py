"""An exercise whose kernel multiplies fp32 matrices in tf32, and others as they are."""

from dataclasses import dataclass

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.exercise import Verdict
from tutorlib.failure import Fail, Flaw
from tutorlib.measuring.launchers import CutileLauncher
from tutorlib.problems.problem import Problem


@dataclass(frozen=True, kw_only=True)
class ThroughTf32(CutileExercise):
    """bf16 matrices are to be multiplied as they are. in_bf16: the same problem on them, at the first of `whole`."""

    in_bf16: Problem

    def look_into(self, kernel: CutileLauncher) -> Verdict | None:
        if found := super().look_into(kernel):
            return found
        if ".tf32" in kernel.compiled(self.in_bf16, self.whole[0], "sm_80").ptx:  # of an instruction: no name has a dot
            what = "matrices in bf16 are multiplied in tf32, too, and not in their own dtype."
            return self.more_than_it_must(Flaw(what, Fail.USES(instruction="tf32")))
        return None
