"""The state of an mbarrier."""

from dataclasses import dataclass, replace

KIB = 1024


@dataclass(frozen=True)
class Mbarrier:
    """A counter in shared memory. A phase is complete when no arrival and no announced byte is missing.

    count: the arrivals that each phase needs. missing: of this phase. pending: bytes announced and not yet there; below
    0 where they came unannounced. phase: how many are over; a wait asks for its parity.
    """

    count: int
    missing: int
    pending: int = 0
    phase: int = 0

    def arrive(self, announced: int = 0) -> "Mbarrier":
        """One arrival, with bytes to expect. Raises ValueError where the phase has had all of its arrivals."""
        if not self.missing:
            raise ValueError("an arrival too many")
        return replace(self, missing=self.missing - 1, pending=self.pending + announced).turned()

    def deliver(self, size: int) -> "Mbarrier":
        """TMA has written this number of bytes."""
        return replace(self, pending=self.pending - size).turned()

    def turned(self) -> "Mbarrier":
        """In its next phase, if this one is over."""
        return self if self.missing or self.pending else Mbarrier(self.count, self.count, 0, self.phase + 1)

    def lets_pass(self, parity: int) -> bool:
        """Whether a wait for the phase of this parity returns: it is over, and this is the one after it."""
        return self.phase % 2 != parity


def fresh(count: int) -> Mbarrier:
    """As mbarrier_init leaves it."""
    return Mbarrier(count, count)
