"""What every part of the simulator that follows a batch's threads needs to see, and how it says what is wrong."""

from collections.abc import Callable
from dataclasses import dataclass

from tutorlib.dsl.failure import Fault, Hazard
from tutorlib.simulate.ptx.clocks import LaneClocks
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.geometry import Geometry


@dataclass(frozen=True)
class Running:
    """A launch that runs. show: a site as "line 12, `…`"."""

    geometry: Geometry
    clocks: LaneClocks
    findings: Findings
    show: Callable[[int], str]


@dataclass
class Unit:
    """Works beside the threads, or follows what they do. Its records are of one batch."""

    running: Running

    def __post_init__(self) -> None:
        self.geometry, self.clocks = self.running.geometry, self.running.clocks
        self.findings, self.show = self.running.findings, self.running.show
        self.restart()

    def restart(self) -> None:
        """Make ready for another batch."""

    def notice(self, fault: Fault | Hazard, site: int, says: str, count: int = 1, apart: object = None) -> None:
        """says: one sentence. count, apart: as in `Findings`."""
        self.findings.notice(fault, site, lambda: says, count, apart)
