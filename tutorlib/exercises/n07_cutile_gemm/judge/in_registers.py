"""Looks whether the accumulators of a kernel fit into a thread's registers: the compilers' reports tell."""

import re
from dataclasses import dataclass

from tutorlib.checking.cutile import Look
from tutorlib.compiling.ptxas import serialized
from tutorlib.failure import Fail, Flaw
from tutorlib.measuring.launchers import CutileLauncher
from tutorlib.problems.problem import Problem, Shape


@dataclass(frozen=True, kw_only=True)
class InRegisters(Look):
    """Compiled for this architecture at this size, the kernel may not spill, issue one wgmma at a time, or store by
    TMA.
    """

    problem: Problem
    shape: Shape
    arch: str

    def waste(self, kernel: CutileLauncher) -> str:
        compiled = kernel.compiled(self.problem, self.shape, self.arch)
        if compiled.stack_bytes:
            what = f"each thread keeps {compiled.stack_bytes:,} bytes of its accumulators on the stack."
            return Flaw(f"compiled for {self.arch} at full size, {what}", Fail.SPILLS)
        if reason := serialized(compiled.ptx):
            what = f"each wgmma waits for the one before it. ptxas gives the reason: {reason}."
            return Flaw(f"compiled for {self.arch} at full size, {what}", Fail.NO_OVERLAP)
        if re.search(r"cp\.async\.bulk\.tensor\S*\.global\.shared", compiled.ptx):
            what = "a store goes by TMA: it takes shared memory for a whole tile from the loop's stages."
            return Flaw(f"compiled for {self.arch} at full size, {what}", Fail.USES(instruction="TMA"))
        return ""
