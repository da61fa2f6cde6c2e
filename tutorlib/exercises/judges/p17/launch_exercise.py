"""Exercises about compiled functions, of which a GPU also times a launch."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Verdict, not_run, wrong
from tutorlib.checking.scenario import record_of
from tutorlib.checking.served import Served
from tutorlib.checking.values import ValueExercise
from tutorlib.machine import device
from tutorlib.measuring.timing import host_us

if TYPE_CHECKING:
    from torch import Tensor

ROUNDS = 7
Timed = tuple[str, float, float]  # what is wrong, or ""; and the host's µs for the answer's launch, and for torch's


@dataclass(frozen=True, kw_only=True)
class LaunchExercise(ValueExercise):
    """The cases share the points that need no GPU.

    timed: a scenario on a GPU. tiers: for a point each, torch's time over the answer's that must be reached.
    """

    timed: Callable[[Served], Timed]
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
        with device.own_turn():
            record, raised = record_of(served, self.timed)
        if raised or record[0]:
            return wrong("on the GPU " + (raised.what if raised else record[0]))
        return self.by_cost(*record[1:])

    def by_cost(self, ours: float, torchs: float) -> Verdict:
        """The verdict on a right answer, by the µs of a launch."""
        missed = [tier for tier in self.tiers if torchs / ours < tier]
        measured = f"A launch costs the host {ours:.1f} µs, torch.add's {torchs:.1f} µs."
        if not missed:
            return Verdict(self.points, (measured,))
        more = f"The next point needs {torchs / min(missed):.1f} µs."
        return Verdict(self.points - len(missed), (f"right. {measured}", more))


def beside_torch(call: Callable[[], Any], x: "Tensor", launches: int = 1) -> tuple[float, float]:
    """The host's µs for each launch of a call, and for torch.add of x: the median pair, by their quotient."""
    import torch

    def add() -> None:
        torch.add(x, x, out=x)

    pairs = [(host_us(call) / launches, host_us(add)) for _ in range(ROUNDS)]
    ours, torchs = sorted(pairs, key=lambda pair: pair[1] / pair[0])[ROUNDS // 2]
    return ours, torchs
