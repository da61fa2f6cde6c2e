"""An mbarrier as PTX defines it: a phase completes when all expected arrivals and bytes have come."""

from dataclasses import dataclass, field
from typing import Any

from tutorlib.checking.rehearsing.call_site import CallSite
from tutorlib.problems.wrong import count


@dataclass
class Phase:
    """A phase's arrivals and bytes. arrivals: by warps. expected, landed: bytes. line: of the last arrival."""

    arrivals: dict[str, int] = field(default_factory=dict)
    expected: int = 0
    landed: int = 0
    line: CallSite | None = None


@dataclass(eq=False)
class MBarrier:
    """awaited: arrivals in each phase. kind: "full", "empty" and so on; at: which of these; block: whose.

    pending: arrivals that the current phase lacks. bytes: its tx-count, below zero if bytes landed before they were
    expected. phases: all so far, the current one last. gathered: what its arriving threads know; published: what
    a thread knows after it has seen the earlier phases complete.
    """

    name: str
    awaited: int
    kind: str = ""
    at: int = 0
    block: int = 0
    pending: int = field(init=False)
    bytes: int = 0
    phases: list[Phase] = field(default_factory=lambda: [Phase()])
    gathered: set[Any] = field(default_factory=set)
    published: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.pending = self.awaited

    @property
    def complete(self) -> int:
        """The number of complete phases."""
        return len(self.phases) - 1

    def passes(self, parity: int) -> bool:
        """Whether a wait for this parity is over: only the current phase's parity holds it up."""
        return self.complete % 2 != parity

    def expect(self, number: int) -> None:
        self.phases[-1].expected += number
        self.bytes += number

    def arrive(self, who: str, number: int, knows: set[Any], line: CallSite) -> None:
        """`number` is at most what is pending."""
        phase = self.phases[-1]
        phase.arrivals[who] = phase.arrivals.get(who, 0) + number
        phase.line = line
        self.pending -= number
        self.gathered |= knows
        self.settle()

    def land(self, number: int, event: Any) -> None:
        """Bytes land one after the other: a phase that awaits fewer completes with the last of those."""
        if self.pending == 0 and 0 < self.bytes < number:
            first = self.bytes
            self.land_whole(first)
            number -= first
        self.gathered.add(event)
        self.land_whole(number)

    def land_whole(self, number: int) -> None:
        self.phases[-1].landed += number
        self.bytes -= number
        self.settle()

    def settle(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.published |= self.gathered
            self.gathered = set()
            self.pending = self.awaited
            self.phases.append(Phase())

    def lacks(self) -> str:
        """What the current phase still lacks, and its arrivals and bytes so far."""
        phase, parts = self.phases[-1], list[str]()
        if self.pending:
            if phase.arrivals:
                parts.append(f"{self.pending} of {count(self.awaited, 'arrival')} (it has {self.came(-1)})")
            else:
                parts.append("its arrival" if self.awaited == 1 else f"all {self.awaited} arrivals")
        if self.bytes > 0:
            parts.append(f"{self.bytes:,} bytes ({phase.expected:,} are expected, {phase.landed:,} have landed)")
        if self.bytes < 0:
            parts.append(f"an expect_tx of the {-self.bytes:,} bytes that have landed")
        return " and ".join(parts)

    def came(self, number: int) -> str:
        """The arrivals in a phase: "3 of warpgroup 0, 4 of warpgroup 1"."""
        return ", ".join(f"{number} of {who}" for who, number in self.phases[number].arrivals.items())
