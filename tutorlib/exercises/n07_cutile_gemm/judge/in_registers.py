"""An exercise whose accumulators fill a thread's registers: the compilers' reports say whether they fit."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tutorlib.checking.cutile import CutileExercise
from tutorlib.checking.exercise import Verdict
from tutorlib.compiling.ptxas import serialized
from tutorlib.failure import Fail, Flaw

if TYPE_CHECKING:
    from tutorlib.checking.artifact import CutileArtifact


@dataclass(frozen=True, kw_only=True)
class InRegisters(CutileExercise):
    """Compiled for `arch` at the size that is timed, the kernel may neither spill nor issue one wgmma at a time."""

    def judge_artifact(self, artifact: "CutileArtifact") -> Verdict:
        verdict = super().judge_artifact(artifact)
        if not verdict.points or not (lacks := self.no_room(artifact)):
            return verdict
        less = self.more_than_it_must(lacks)
        return replace(less, measurement=verdict.measurement) if less.points <= verdict.points else verdict

    def no_room(self, artifact: "CutileArtifact") -> Flaw | None:
        """How the registers fall short, as a sentence; None where they suffice."""
        made = self.compile_for(artifact, self.arch)
        if made.stack_bytes:
            what = f"each thread keeps {made.stack_bytes:,} bytes of its accumulators on the stack."
            return Flaw(f"compiled for sm_{self.arch} at full size, {what}", Fail.SPILLS)
        if reason := serialized(made.ptx):
            what = f"each wgmma waits for the one before it. ptxas gives the reason: {reason}."
            return Flaw(f"compiled for sm_{self.arch} at full size, {what}", Fail.NO_OVERLAP)
        return None
