"""The results of a sweep over levers, by configuration, and the gain of each lever."""

from dataclasses import dataclass, replace

from tutorlib.measuring.measurement import Measurement, within_noise
from tutorlib.measuring.results import SweepResults
from tutorlib.problems.problem import Shape


@dataclass(frozen=True)
class Stack:
    """A kernel with some levers pulled; levers: None for another kind of kernel.

    added, on: the lever that it has beyond a row above it, and that one's name; "" where there is no such row.
    depth: how many rows it stands on.
    """

    name: str
    levers: frozenset[str] | None
    measured: dict[Shape, Measurement]
    added: str = ""
    on: str = ""
    depth: int = 0

    @property
    def label(self) -> str:
        """As a row of a tree; dots, since HTML strips leading spaces."""
        return f"{'· ' * (self.depth - 1)}+ {self.added}" if self.added else self.name


@dataclass(frozen=True)
class Gain:
    """A lever added to a kernel. gains: shape → gain in speed, 0.02 for 2 %; noise: shapes whose spread is larger."""

    lever: str
    on: str
    gains: dict[Shape, float]
    noise: frozenset[Shape] = frozenset()


def stacks_of(swept: SweepResults) -> list[Stack]:
    """The kernels of hopper_levers in the order in which they were measured."""
    stacks: list[Stack] = []
    for name in swept.names:
        points = swept.of_kernel(name)
        levers = points[0].facts.get("levers")
        measured = {point.measurement.shape: point.measurement for point in points}
        stack = Stack(name, None if levers is None else frozenset(levers), measured)
        for above in reversed(stacks):
            if added := lever_between(above, stack):
                stack = replace(stack, added=added, on=above.name, depth=above.depth + 1)
                break
        stacks.append(stack)
    return stacks


def lever_between(below: Stack, above: Stack) -> str | None:
    """The one lever that the second has and the first has not; None where they differ in anything else."""
    if below.levers is None or above.levers is None or not below.levers < above.levers:
        return None
    new = above.levers - below.levers
    return next(iter(new)) if len(new) == 1 else None


def gains_of(swept: SweepResults) -> list[Gain]:
    """Every lever on every kernel that was measured both without and with it.

    By the ratios to the baseline, whose times are from the same seconds as the kernel's.
    """
    stacks = stacks_of(swept)
    return [
        gain_between(lever, below, above)
        for below in stacks
        for above in stacks
        if (lever := lever_between(below, above))
    ]


def gain_between(lever: str, below: Stack, above: Stack) -> Gain:
    """At the shapes at which both were measured."""
    both = {shape: (one, above.measured[shape]) for shape, one in below.measured.items() if shape in above.measured}
    gains = {shape: after.ratio / before.ratio - 1 for shape, (before, after) in both.items()}
    return Gain(lever, below.name, gains, frozenset(n for n, gain in gains.items() if within_noise(gain, *both[n])))
