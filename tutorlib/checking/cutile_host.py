"""Exercises whose answer is a host function that launches cuTile kernels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer, Verdict, WrongKind
from tutorlib.checking.interpreting import interpret
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.part import need_callable
from tutorlib.checking.served import Served
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.errors import CompileFailed
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Launcher
from tutorlib.problems.wrong import BY_LUCK, Wrong
from tutorlib.problems.wrong_result import WrongResult

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.checking.cutile_launches import Launched
    from tutorlib.checking.host_artifact import HostArtifact, Planned, SimulatedHostArtifact
    from tutorlib.simulate.cutile import Accepted, TileReport

GPUS = (3, 5)  # SMs, few, so that small matrices have more tiles; an answer that knows one number is wrong on the other


@dataclass(frozen=True, kw_only=True)
class HostExercise(KernelExercise):
    """An exercise whose answer takes the problem's tensors, the output last, and calls ct.launch itself.

    Every machine interprets what it launches, with a GPU of a few SMs in torch's place; one with a GPU then
    calls it there, too.

    unlike: takes a shape, the launches, and the number of the GPU's SMs; gives a sentence about a launch that is not as
        the exercise asks, or None.
    planned: sizes at which only that is looked at, and nothing runs.
    """

    patterned: bool = False  # it is interpreted on identity and ramp
    unlike: "Callable[[Shape, Sequence[Planned], int], str | None]" = field(default=lambda shape, launched, sms: None)
    planned: tuple[Shape, ...] = ()
    mistakes: Callable[[Shape], tuple[WrongResult, ...]] = lambda shape: ()

    @property
    def simulated(self) -> bool:
        """Interpreting is all that a machine without a GPU does."""
        return False

    def accept(self, answer: Answer) -> Answer:
        import cuda.tile as ct

        if isinstance(answer, ct.kernel):
            raise WrongKind("that is the kernel; the exercise asks for the Python function that launches it.")
        return need_callable(answer)

    def artifact(self, served: Served) -> "HostArtifact":
        from tutorlib.checking.host_artifact import HostArtifact

        return HostArtifact.of(served, self)

    def simulator(self, artifact: "HostArtifact") -> "SimulatedHostArtifact":
        from tutorlib.checking.host_artifact import SimulatedHostArtifact

        return SimulatedHostArtifact(artifact)

    def judge_artifact(self, artifact: "HostArtifact") -> Verdict:
        """The judge also compares the launches for each of the GPUS with those that the exercise asks for."""
        found = super().judge_artifact(artifact)
        if found.points < self.correctness_points:
            return found
        shapes = (*self.shapes, *self.planned)
        wrongs = {shape: Wrong(what) for shape in shapes if (what := self.not_as_asked(artifact, shape))}
        return self.wrong_at(wrongs, shapes) if wrongs else found

    def not_as_asked(self, artifact: "HostArtifact", shape: Shape) -> str:
        """A sentence about the launches at this size for one of the GPUS, or ""."""
        launcher = self.simulator(artifact)
        try:
            planned = {sms: launcher.plan(shape, sms).launches for sms in GPUS}
        except CompileFailed as failed:
            return str(failed)
        if not all(planned.values()):
            return "it launches nothing."
        unlike = filter(None, (self.unlike(shape, launches, sms) for sms, launches in planned.items()))
        return next((f"{what}." for what in unlike), "")

    def look_into(self, kernel: Answer) -> Verdict | None:
        accepted: Accepted = []
        wrongs = {shape: found for shape in self.shapes if (found := self.interpret(kernel, shape, accepted))}
        return self.wrong_at(wrongs, self.shapes) if wrongs else None

    def interpret(self, host: Answer, shape: Shape, accepted: "Accepted") -> Wrong | None:
        """Raises CompileFailed, NotSimulated and the placeholder's NotImplementedError."""
        from tutorlib.checking.cutile_launches import launches_interpreted, stores_to

        last: list[Launched] = []
        stored = False

        def launches(*tensors: "Tensor", **options: Any) -> "list[TileReport]":
            nonlocal stored
            with launches_interpreted(accepted=accepted, **options) as launched:
                host(*tensors)
            last[:] = launched
            stored = stores_to(launched, tensors[-1])
            return [one.report for one in launched]

        found = interpret(self.problem, shape, launches, self.mistakes(shape)).wrong
        if not found and not stored:
            name = self.problem.output.name
            return Wrong(
                f"it launches no kernel that stores to {name}, or torch changes {name} afterwards: call ct.launch."
            )
        if not found and not all(one.current for one in last):
            return Wrong(
                BY_LUCK + "it launches on the default stream, where it does not wait for torch's kernels.",
                "They run in order in torch.cuda.current_stream(), which may be another.",
            )
        if found and not last:
            return Wrong(found.what, "It launched nothing.")
        return found

    def launcher(self, artifact: "HostArtifact") -> Launcher:
        from tutorlib.checking.host_artifact import LaunchedHostArtifact

        return LaunchedHostArtifact(artifact)

    def compile_for(self, artifact: "HostArtifact", arch: str) -> Compiled:
        raise TypeError(f"{self.id} is about launches, not about a kernel")

    def unrun(self, why: str) -> Verdict:
        return Verdict(self.points)
