"""The picture of an mbarrier's state: pending arrivals, pending bytes and phase, event by event."""

from collections.abc import Sequence

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import CATEGORIES, EMPTY, RAMP
from tutorlib.models.mbarrier import KIB, Mbarrier, fresh


def show_mbarrier(count: int, events: Sequence[tuple[str, int]]) -> Picture:
    """A column after initialization and after each event; bytes in KiB. Colored: a wait that returns.

    count: arrivals that a phase takes. events: ("arrive", bytes that it announces) or ("bytes", bytes written), in
    order. Raises ValueError for an event of another name, and for an arrival too many.
    """
    barrier, names = fresh(count), ["init"]
    columns = [state(barrier)]
    for name, size in events:
        if name not in ("arrive", "bytes"):
            raise ValueError(f'an event is ("arrive", bytes) or ("bytes", bytes), not {(name, size)!r}')
        barrier = barrier.arrive(size) if name == "arrive" else barrier.deliver(size)
        columns.append(state(barrier))
        names.append("arrive" if name == "arrive" else f"{size // KIB}K in")
    rows = ["arrivals pending", "KiB pending", "phase", "wait(0)", "wait(1)"]
    labels = [list(row) for row in zip(*columns, strict=True)]
    colors: list[list[str | None]] = [
        [RAMP[0] if number < 2 and label != "0" else CATEGORIES[6] if label == "go" else EMPTY for label in row]
        for number, row in enumerate(labels)
    ]
    flips = {n: 2.5 for n in range(1, len(columns)) if columns[n][2] != columns[n - 1][2]}
    title = "an mbarrier after each event; the thick line is the end of a phase"
    return figure([CellGrid(title, labels, colors, rows, names, {3: 2.0}, flips)], largest=64)


def state(barrier: Mbarrier) -> list[str]:
    waits = ["go" if barrier.lets_pass(parity) else "wait" for parity in (0, 1)]
    return [str(barrier.missing), f"{barrier.pending / KIB:g}", str(barrier.phase), *waits]
