"""Exercises whose answer is a host function that launches cuTile kernels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tutorlib.checking.cutile import ARCH
from tutorlib.checking.evidence import HostEvidence, HostRequest, used
from tutorlib.checking.exercise import Verdict
from tutorlib.checking.interpreting import calls_of, judged
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.launch_plan import Planned
from tutorlib.compiling.errors import CompileFailed
from tutorlib.machine import device
from tutorlib.measuring.launchers import tensor_specs
from tutorlib.problems.differences import BY_LUCK, Wrong
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Launcher

if TYPE_CHECKING:
    from tutorlib.checking.launching import SimulatedHostEvidence

GPUS = (3, 5)  # SMs, few, so that small matrices have more tiles; an answer that knows one number is wrong on the other


@dataclass(frozen=True, kw_only=True)
class HostExercise(KernelExercise):
    """An exercise whose answer takes the problem's tensors, the output last, and calls ct.launch itself.

    Every machine interprets what it launches, with a GPU of a few SMs in torch's place; one with a GPU then carries the
    launches out there, others simulate them.

    unlike: takes a shape, the launches, and the number of the GPU's SMs; gives a sentence about a launch that is not as
        the exercise asks, or None.
    planned: sizes at which only that is looked at, and nothing runs.
    """

    patterned: bool = False  # it is interpreted on identity and ramp
    unlike: "Callable[[Shape, Sequence[Planned], int], str | None]" = field(default=lambda shape, launched, sms: None)
    planned: tuple[Shape, ...] = ()

    def request(self, simulated: tuple[Shape, ...], run: tuple[Shape, ...]) -> HostRequest:
        gpu = {(shape, device.tile_target(), device.need_gpu().sms) for shape in run}
        shapes = {*self.shapes, *self.planned, *simulated}
        plans = gpu | {(shape, ARCH, sms) for shape in shapes for sms in GPUS}
        return HostRequest(
            **self.for_request(run),
            specs={shape: tuple(tensor_specs(self.problem, shape)) for shape, *_ in plans},
            plans=tuple(sorted(plans)),
            calls={(self.problem.name, shape): calls_of(self.problem, shape) for shape in self.shapes},
        )

    def seen(self, request: HostRequest, found: Any) -> HostEvidence:
        return replace(used(found, HostEvidence), calls=request.calls)

    def simulator(self, evidence: HostEvidence) -> "SimulatedHostEvidence":
        from tutorlib.checking.launching import SimulatedHostEvidence

        return SimulatedHostEvidence(evidence, self.problem, GPUS[0])

    def judge_evidence(self, evidence: HostEvidence) -> Verdict:
        """The judge also compares the launches for each of the GPUS with those that the exercise asks for."""
        found = super().judge_evidence(evidence)
        if found.points < self.correctness_points:
            return found
        shapes = (*self.shapes, *self.planned)
        wrongs = {shape: Wrong(what) for shape in shapes if (what := self.not_as_asked(evidence, shape))}
        return self.wrong_at(wrongs, shapes) if wrongs else found

    def not_as_asked(self, evidence: HostEvidence, shape: Shape) -> str:
        """A sentence about the launches at this size for one of the GPUS, or ""."""
        from tutorlib.checking.launching import plan_at

        try:
            planned = {sms: plan_at(evidence, self.problem, shape, ARCH, sms).launches for sms in GPUS}
        except CompileFailed as failed:
            return str(failed)
        if not all(planned.values()):
            return "it launches nothing."
        unlike = filter(None, (self.unlike(shape, launches, sms) for sms, launches in planned.items()))
        return next((f"{what}." for what in unlike), "")

    def look(self, evidence: HostEvidence) -> Verdict | None:
        found = {shape: self.fault(evidence, shape) for shape in self.shapes}
        wrongs = {shape: wrong for shape, wrong in found.items() if wrong}
        return self.wrong_at(wrongs, self.shapes) if wrongs else None

    def fault(self, evidence: HostEvidence, shape: Shape) -> Wrong | None:
        """What is wrong with the calls that were interpreted at this size. Raises CompileFailed and NotSimulated."""
        at = self.problem.name, shape
        found = judged(self.problem, shape, evidence.calls[at], evidence.interpreted.get(at), self.mistakes(shape))
        if found.wrong:
            return found.wrong if found.reports else Wrong(found.wrong.what, "It launched nothing.")
        if not found.last.stored:
            name = self.problem.output.name
            return Wrong(
                f"it launches no kernel that stores to {name}, or torch changes {name} afterwards: call ct.launch."
            )
        if not found.last.current:
            return Wrong(
                BY_LUCK + "it launches on the default stream, where it does not wait for torch's kernels.",
                "They run in order in torch.cuda.current_stream(), which may be another.",
            )
        return None

    def launcher(self, evidence: HostEvidence) -> Launcher:
        from tutorlib.checking.launching import LaunchedHostEvidence

        return LaunchedHostEvidence(evidence)

    def unrun(self, why: str) -> Verdict:
        return Verdict(self.points)
