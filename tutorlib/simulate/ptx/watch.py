"""Everything that looks on while a batch runs."""

from dataclasses import dataclass, field

from tutorlib.simulate.ptx.access_log import AccessLog
from tutorlib.simulate.ptx.clocks import LaneClocks
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.global_shadow import GlobalShadow
from tutorlib.simulate.ptx.listener import Listener
from tutorlib.simulate.ptx.shared_shadow import SharedShadow
from tutorlib.simulate.ptx.undefined import Undefined


@dataclass
class Watch:
    """zeros: TMA's loads of boxes that have nothing of their tensor."""

    findings: Findings
    log: AccessLog
    clocks: LaneClocks
    races: SharedShadow
    undefined: Undefined
    overlaps: GlobalShadow
    listener: Listener
    zeros: Findings = field(default_factory=Findings)
