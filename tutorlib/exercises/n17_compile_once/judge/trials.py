"""Exercises about compiled functions: trials share the points, and a GPU may time a launch."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Exercise, Verdict, WrongKind, not_run, wrong
from tutorlib.checking.library_use import Library
from tutorlib.checking.served import Served
from tutorlib.compiling.errors import without_colours
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.machine import device
from tutorlib.problems.wrong import count

if TYPE_CHECKING:
    from torch import Tensor


class TensorsFlaw(FailureKind):
    """What is wrong with how a cache treats the tensors of a call."""

    KEPT = "tensors kept alive"


Trial = tuple[str, Callable[[Served], str]]  # what is tried, and what is wrong with the answer then, or ""


@dataclass(frozen=True, kw_only=True)
class TrialsExercise(Exercise):
    """An exercise whose answer compiles, keeps or loads compiled functions.

    cases: they share the points equally, but one a tier. library: as of a ValueExercise.
    launch_costs: on a GPU, µs of the host's time for the answer's launch and for torch's, or what is wrong with it.
    tiers: for a point each, torch's time over the answer's that must be reached.
    """

    cases: tuple[Trial, ...]
    library: Library
    launch_costs: Callable[[Served], tuple[float, float] | str] | None = None
    tiers: tuple[float, ...] = ()

    @property
    def points_anywhere(self) -> float:
        return self.points - len(self.tiers)

    def judge(self, served: Served) -> Verdict:
        served.refuse(self.library)
        wrongs = [(what, said) for what, trial in self.cases if (said := trial(served))]
        if wrongs:
            what, said = wrongs[0]
            right = len(self.cases) - len(wrongs)
            lines = (f"{right} of {count(len(self.cases), 'case')} right", f"{what}: " + said)
            return Verdict(self.points_anywhere * right / len(self.cases), lines)
        if not self.launch_costs:
            return Verdict(self.points)
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


def first_line(error: Exception) -> str:
    """The error in a line: in the DSL's own reports, the cause is below the headline."""
    lines = [line.strip() for line in without_colours(str(error)).strip().splitlines()]
    causes = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return next(iter(causes or lines), "")


def raised(who: str, error: Exception) -> str:
    """That it raised this error. Raises WrongKind and the placeholder's error again."""
    if isinstance(error, NotImplementedError | WrongKind):
        raise error
    name = type(error).__name__
    return Flaw(f"{who} raised {name}: {first_line(error)}", Fail.RAISED(error=name))


def str_of(said: Any) -> str:
    """What the answer's process tells, which should be a sentence or ""."""
    return said if isinstance(said, str) else "it should return what its function returns."


def same_values(got: Any, want: "Tensor") -> bool:
    return type(got) is type(want) and got.shape == want.shape and bool(got.equal(want))


def vectors_of(*sizes: int) -> "list[tuple[Tensor, Tensor]]":
    import torch

    return [(torch.arange(float(n)), torch.zeros(n)) for n in sizes]


@dataclass(eq=False)
class Local:
    """Stands for a tensor of the answer's process. key: of the function for it."""

    key: str


def told_of_tensors(answer: Served, *more: Any) -> str:
    """What is wrong with the references that a cache keeps to the arguments of past calls; the last ones may stay.

    more: what the answer takes besides compile and key. Raises what the answer does.
    """
    kernels = answer(lambda *tensors: lambda *given: None, lambda *tensors: tensors[0].key, *more)
    made: list[weakref.ref[Local]] = []
    for n in range(8):
        x = Local(f"tensor {n % 4}")
        made.append(weakref.ref(x))
        kernels(x)
    del x
    gc.collect()
    if (alive := sum(one() is not None for one in made)) < 2:
        return ""
    what = f"after {len(made)} calls, each with a tensor of its own, it still refers to {alive} of these, whose memory "
    return Flaw(what + "is not freed. Keep the function, not what it was called with.", TensorsFlaw.KEPT)
