"""The picture of an mbarrier's state: pending arrivals, pending bytes and phase, event by event."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import CATEGORIES, EMPTY, RAMP

Event = tuple[str, int]  # ("arrive", bytes that it announces) or ("bytes", how many have been written)


@dataclass
class Mbarrier:
    """As PTX ISA 9.7.13.15 has it. count: arrivals that a phase takes. bytes: announced and not yet here."""

    count: int
    phase: int = 0
    arrivals: int = field(init=False)
    bytes: int = 0

    def __post_init__(self) -> None:
        self.arrivals = self.count

    def take(self, event: Event) -> None:
        """Raises ValueError for an event of another name."""
        name, bytes = event
        if name == "arrive":
            self.arrivals, self.bytes = self.arrivals - 1, self.bytes + bytes
        elif name == "bytes":
            self.bytes -= bytes
        else:
            raise ValueError(f'an event is ("arrive", bytes) or ("bytes", bytes), not {event!r}')
        if self.arrivals == self.bytes == 0:
            self.phase, self.arrivals = self.phase + 1, self.count

    def passes(self, parity: int) -> bool:
        """Whether a wait for this parity returns: the phase before the current one has it."""
        return self.phase % 2 != parity


def show_mbarrier(count: int, events: Sequence[Event]) -> Picture:
    """A column after initialization and after each event; bytes in KiB. Colored: a wait that returns.

    count: arrivals that a phase takes. events: in order; see `Event`. Raises ValueError as `Mbarrier.take` does.
    """
    barrier, names = Mbarrier(count), ["init"]
    columns = [state(barrier)]
    for event in events:
        barrier.take(event)
        columns.append(state(barrier))
        names.append("arrive" if event[0] == "arrive" else f"{event[1] // 1024}K in")
    rows = ["arrivals pending", "KiB pending", "phase", "wait(0)", "wait(1)"]
    labels = [list(row) for row in zip(*columns, strict=True)]
    colours: list[list[str | None]] = [
        [RAMP[0] if number < 2 and label != "0" else CATEGORIES[6] if label == "go" else EMPTY for label in row]
        for number, row in enumerate(labels)
    ]
    flips = {n: 2.5 for n in range(1, len(columns)) if columns[n][2] != columns[n - 1][2]}
    title = "an mbarrier after each event; the thick line is the end of a phase"
    return figure([CellGrid(title, labels, colours, rows, names, {3: 2.0}, flips)], largest=64)


def state(barrier: Mbarrier) -> list[str]:
    waits = ["go" if barrier.passes(parity) else "wait" for parity in (0, 1)]
    return [str(barrier.arrivals), f"{barrier.bytes / 1024:g}", str(barrier.phase), *waits]
