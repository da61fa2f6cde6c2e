"""Exercises about compiled functions, of which a GPU also times a launch."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tutorlib.checking.exercise import Verdict, not_run, wrong
from tutorlib.checking.served import Served
from tutorlib.checking.values import ValueExercise
from tutorlib.machine import device


@dataclass(frozen=True, kw_only=True)
class LaunchExercise(ValueExercise):
    """The cases share the points that need no GPU.

    launch_costs: on a GPU, µs of the host's time for the answer's launch and for torch's, or what is wrong with it.
    tiers: for a point each, torch's time over the answer's that must be reached.
    """

    launch_costs: Callable[[Served], tuple[float, float] | str]
    tiers: tuple[float, ...]

    @property
    def points_anywhere(self) -> float:
        return self.points - len(self.tiers)

    def judge(self, served: Served) -> Verdict:
        verdict = super().judge(served)
        if verdict.points < self.points:
            return replace(verdict, points=verdict.points * self.points_anywhere / self.points)
        if self.needs and (reason := device.why_not(self.needs)):
            return not_run(f"right on the CPU; a kernel's launch not timed: {reason}", self.points_anywhere)
        costs = self.launch_costs(served)
        return wrong(costs) if isinstance(costs, str) else self.by_cost(*costs)

    def by_cost(self, ours: float, torchs: float) -> Verdict:
        """The verdict on a right answer, by the µs that `launch_costs` gave."""
        missed = [tier for tier in self.tiers if torchs / ours < tier]
        measured = f"A launch costs the host {ours:.1f} µs, torch.add's {torchs:.1f} µs."
        if not missed:
            return Verdict(self.points, (measured,))
        more = f"The next point needs {torchs / min(missed):.1f} µs."
        return Verdict(self.points - len(missed), (f"right. {measured}", more))
