"""The results of a sweep over levers, by configuration, and the gain of each lever."""

from dataclasses import dataclass, replace

from tutorlib.measuring.results import SweepResults
from tutorlib.problems.problem import Shape


@dataclass(frozen=True)
class Stack:
    """A kernel with some levers pulled; levers: None for another kind of kernel.

    added, on: the lever that it has beyond a row above it, and that one's name; "" where there is no such row.
    depth: how many rows it stands on.
    ratios: shape → speed as a fraction of the baseline's. cycles: of a K tile, where that was traced.
    """

    name: str
    levers: frozenset[str] | None
    ratios: dict[Shape, float]
    cycles: int | None = None
    added: str = ""
    on: str = ""
    depth: int = 0

    @property
    def label(self) -> str:
        """As a row of a tree."""
        return f"{'    ' * (self.depth - 1)}+ {self.added}" if self.added else self.name


@dataclass(frozen=True)
class Gain:
    """A lever pulled on a kernel that has some already. gains: shape → its speedup: 0.02 is 2 %."""

    lever: str
    on: str
    gains: dict[Shape, float]


def stacks_of(swept: SweepResults) -> list[Stack]:
    """The kernels of hopper_levers in the order in which they were measured."""
    stacks: list[Stack] = []
    for name in swept.names:
        points = swept.of_kernel(name)
        levers = points[0].facts.get("levers")
        ratios = {point.measurement.shape: point.measurement.ratio for point in points}
        cycles = [point.facts["cycles"]["per K tile"] for point in points if "cycles" in point.facts]
        stack = Stack(name, None if levers is None else frozenset(levers), ratios, cycles[0] if cycles else None)
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

    By the ratios to the baseline, since a kernel's and its baseline's times are of the same seconds.
    """
    stacks = stacks_of(swept)
    return [
        Gain(
            lever,
            below.name,
            {shape: above.ratios[shape] / ratio - 1 for shape, ratio in below.ratios.items() if shape in above.ratios},
        )
        for below in stacks
        for above in stacks
        if (lever := lever_between(below, above))
    ]
