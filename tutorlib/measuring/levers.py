"""What a sweep over levers found, configuration by configuration, and what each lever gained."""

from dataclasses import dataclass, replace

from tutorlib.measuring.results import SweepResults
from tutorlib.problems.problem import Shape


@dataclass(frozen=True)
class Stack:
    """A kernel with some levers pulled; levers: None where it is another kind of kernel.

    added, on: the lever that it has beyond a row above it, and that one's name; "" where there is no such row.
    depth: how many rows it stands on.
    ratios: shape → speed as a fraction of the baseline's; spreads: of each. cycles: of a K tile, where that was traced.
    """

    name: str
    levers: frozenset[str] | None
    ratios: dict[Shape, float]
    spreads: dict[Shape, float]
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
    """A lever pulled on a kernel that has some already.

    gains: shape → how much faster it makes it: 0.02 is 2 %. spreads: the larger one of the two ratios' spreads.
    """

    lever: str
    on: str
    gains: dict[Shape, float]
    spreads: dict[Shape, float]

    def shown(self, shape: Shape) -> str:
        """ "+1.0%"; with a ~ where the spread is larger than the gain."""
        gained = self.gains[shape]
        return f"{gained:+.1%}{'~' if abs(gained) < self.spreads[shape] else ''}"


def stacks_of(swept: SweepResults) -> list[Stack]:
    """The kernels of hopper_levers in the order in which they were measured."""
    stacks: list[Stack] = []
    for name in swept.names:
        points = swept.of_kernel(name)
        levers = points[0].facts.get("levers")
        ratios = {point.measurement.shape: point.measurement.ratio for point in points}
        spreads = {point.measurement.shape: point.measurement.spread for point in points}
        cycles = [point.facts["cycles"]["per K tile"] for point in points if "cycles" in point.facts]
        stack = Stack(
            name, None if levers is None else frozenset(levers), ratios, spreads, cycles[0] if cycles else None
        )
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
            {shape: above.ratios[shape] / below.ratios[shape] - 1 for shape in shapes},
            {shape: max(below.spreads[shape], above.spreads[shape]) for shape in shapes},
        )
        for below in stacks
        for above in stacks
        if (lever := lever_between(below, above))
        for shapes in [[shape for shape in below.ratios if shape in above.ratios]]
    ]
