"""Exercises whose answer fixes a broken kernel's source; the kernel is then checked like any other."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tutorlib.checking.exercise import Answer, Verdict, WrongKind, wrong
from tutorlib.checking.kernel import KernelExercise, compiled_not_run
from tutorlib.checking.served import Served, need_function
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.errors import CompileFailed
from tutorlib.failure import Difference, Fail, Flaw, failures_in
from tutorlib.kernels.bugs.bug import Bug, CudaLaunch, CuteLaunch
from tutorlib.machine.features import cute_target
from tutorlib.measuring.bug_launchers import HuntedLauncher, as_simulated, launcher_of
from tutorlib.measuring.launchers import CudaLauncher
from tutorlib.problems.fault import KernelFault
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.checking.artifact import CuteArtifact, CutileArtifact
    from tutorlib.measuring.simulated_launchers import SimulatedLauncher

    Artifact = CudaLauncher | CuteArtifact | CutileArtifact


BARRIER = re.compile(r"\bbar(rier)?(\.cta)?\.sync\b")
BETWEEN = re.compile(  # a label, a jump, or an access to memory
    r"\s*(\$\S+:|(@\S+\s+)?(bra|call|ret|ldu?|ldmatrix|st|atom|red|cp|wmma|mma|wgmma|mbarrier|fence|membar)\b)"
)


def barriers_in_a_row(ptx: str) -> bool:
    """Whether straight-line code has two barriers of the block and no access to memory between them."""
    waiting = False
    for line in ptx.splitlines():
        if BARRIER.search(line):
            if waiting:
                return True
            waiting = True
        elif BETWEEN.match(line):
            waiting = False
    return False


@dataclass(frozen=True, kw_only=True)
class FixExercise(KernelExercise):
    """The answer takes the broken kernel's source, a string, and returns the fixed one.

    two_stages: bytes that two stages of its pipeline take; with less shared memory the pipeline is gone.
    symptom_told: whether a message says which element is wrong, and how; else the reader has to find that.
    """

    bug: Bug
    two_stages: int = 0
    symptom_told: bool = True

    @property
    def dynamic(self) -> bool:
        """Whether a CuTe kernel's sizes are known at run time only."""
        return isinstance(self.bug.launch, CuteLaunch) and self.bug.launch.dynamic

    def accept(self, answer: Answer) -> HuntedLauncher:
        """Raises CompileFailed where the fixed source cannot be imported."""
        try:
            text = answer(self.bug.source)
        except (NotImplementedError, WrongKind):
            raise
        except Exception as error:
            name = getattr(answer, "__name__", "it")
            raise WrongKind(f"{name}(source) raised {type(error).__name__}: {error}") from error
        if not isinstance(text, str):
            raise WrongKind(f"it should return the fixed source, a string; it returns {text!r}.")
        if isinstance(self.bug.launch, CudaLaunch) and "__global__" not in text:
            raise WrongKind("the source that it returns has no __global__ function: return the whole file.")
        return launcher_of(self.bug, text)

    def judge(self, served: Served) -> Verdict:
        """Sizes at which the broken kernel is right, too, earn nothing.

        Of C++ the source is all that is needed. Python is imported where the answer lives, and there alone.
        """
        served.ask(need_function, " that takes the source and returns it fixed")
        verdict = self.judge_returned(served) if isinstance(self.bug.launch, CudaLaunch) else super().judge(served)
        if not self.symptom_told and verdict.points < self.correctness_points:
            verdict = self.without_symptom(verdict)
        partly = 0 < verdict.points < self.correctness_points
        return replace(verdict, points=0) if partly and verdict.points <= self.unfixed else verdict

    def without_symptom(self, verdict: Verdict) -> Verdict:
        """The same, where a result is wrong, with advice in place of the element."""
        kinds = failures_in(verdict.lines)
        if not {one.kind for one in kinds} & {*Difference}:
            return verdict
        call = f'output_of("{self.bug.name}", shape, x, source=your_fix)'
        advice = Flaw(f"the result is wrong for some inputs: find out for which, with {call}.", *kinds)
        return replace(verdict, lines=(*verdict.lines[:1], advice))

    @cached_property
    def unfixed(self) -> float:
        """What the broken kernel would earn. It is simulated: on a GPU it may hang."""
        try:
            return self.simulate(self.artifact(Served(lambda source: source)), "").points
        except (CompileFailed, KernelFault):
            return 0

    def artifact(self, served: Served) -> "Artifact":
        from tutorlib.checking.artifact import CuteArtifact, CutileArtifact

        if isinstance(self.bug.launch, CudaLaunch):
            source = self.accept(served)
            assert isinstance(source, CudaLauncher)
            return source
        return (CuteArtifact if isinstance(self.bug.launch, CuteLaunch) else CutileArtifact).of(served, self)

    def tracer(self, answer: Answer) -> "SimulatedLauncher":
        return as_simulated(self.bug, self.accept(answer))

    def examine(self, artifact: "Artifact") -> Verdict | None:
        if not (self.requires or self.forbids):
            return None
        compiled = self.compile_for(artifact, str(self.needs.since))
        lacks = self.lacking(compiled.instructions) or self.lost_pipeline(compiled) or self.broken_promise(compiled)
        return wrong(lacks) if lacks else None

    def lost_pipeline(self, compiled: Compiled) -> str | None:
        """What shared memory says of a pipeline whose stages were given up, as a sentence."""
        if compiled.smem_bytes >= self.two_stages:
            return None
        return Flaw(
            f"it compiles, but with {compiled.smem_bytes:,} bytes of shared memory, and two stages take "
            f"{self.two_stages:,}: with one stage, no copy is in flight while the kernel computes. "
            "Keep the pipeline, and fix it.",
            Fail.CONFIG,
        )

    def broken_promise(self, compiled: Compiled) -> str | None:
        """What the compiler was promised of a row's pitch and no size keeps, as a sentence.

        A kernel of CuTe has its tensors' layouts in its name: strides (? {i64 div=8}, 1) are i64div81 there.
        """
        known = self.bug.launch.divisible if isinstance(self.bug.launch, CuteLaunch) else 0
        promised = [int(n) for n in re.findall(r"i64div(\d+)1_", compiled.ptx)]
        broken = [n for n in promised if known and known % n]
        if not broken:
            return None
        columns = next((shape[-1] for shape in self.shapes if shape[-1] % broken[0]), known)
        return Flaw(
            f"it promises the compiler that {broken[0]} divides a row's pitch, and only {known} is known to divide it: "
            f"with {columns} columns the promise is broken, and an access that relied on it would be misaligned.",
            Fail.PARAMETERS,
        )

    def compile_for(self, artifact: "Artifact", arch: str) -> Compiled:
        from tutorlib.checking.artifact import CuteArtifact

        if isinstance(artifact, CudaLauncher):
            return artifact.compiled(arch)
        if isinstance(artifact, CuteArtifact):
            return artifact.compiled(self.sizes[-1], arch)
        return artifact.compiled(self.problem, self.sizes[-1], f"sm_{arch}")

    def judge_artifact(self, artifact: "Artifact") -> Verdict:
        verdict = super().judge_artifact(artifact)
        if verdict.points < self.points or not barriers_in_a_row(self.compile_for(artifact, str(self.needs.since)).ptx):
            return verdict
        what = "two barriers follow each other with no access to memory between them, so the second orders nothing."
        return self.more_than_it_must(Flaw(what, Fail.TOO_MANY(instruction="bar.sync")))

    def unrun(self, why: str) -> Verdict:
        return compiled_not_run((cute_target(str(self.needs.since)),), why)

    def simulator(self, artifact: "Artifact") -> "SimulatedLauncher":
        from tutorlib.checking.artifact import CuteArtifact, SimulatedCuteArtifact, SimulatedCutileArtifact

        if isinstance(artifact, CudaLauncher):
            return as_simulated(self.bug, artifact)
        if isinstance(artifact, CuteArtifact):
            return SimulatedCuteArtifact(artifact)
        return SimulatedCutileArtifact(artifact, self.bug.grid)

    def launcher(self, artifact: "Artifact") -> Launcher:
        from tutorlib.checking.artifact import CuteArtifact
        from tutorlib.checking.artifact_launch import LaunchedCuteArtifact, LaunchedCutileArtifact

        if isinstance(artifact, CudaLauncher):
            return artifact
        if isinstance(artifact, CuteArtifact):
            return LaunchedCuteArtifact(artifact)
        return LaunchedCutileArtifact(artifact, self.bug.grid)
