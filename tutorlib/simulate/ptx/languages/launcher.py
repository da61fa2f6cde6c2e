"""The base of the three languages' simulated launchers."""

from typing import Protocol

from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Call, Work
from tutorlib.simulate.ptx.report import Report


class SimulatedLauncher(Protocol):
    """A launcher (`problems.work.Launcher`) for tensors in ordinary memory. reports: of the last call's launches.

    traced: whether its reports say what the first block did, step by step.
    """

    reports: list[Report]
    traced: bool

    def on(self, work: Work) -> Call:
        """A call of the kernel on these tensors. What compiles, compiles here.

        Raises CompileFailed; the call raises NotSimulated and CannotLaunch.
        """
        ...

    def ptx(self, shape: Shape) -> str:
        """The kernel compiled for a shape that it was called `on`."""
        ...
