"""The picture of a reduction in shared memory: who combines which places in each step."""

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, category


def show_reduction(places: int = 8) -> Picture:
    """A row for each step, between two of which stands a barrier; a cell is a place with the values that it combines.

    places: a power of two. The color is the thread that wrote the place in this step; white is left as it was.
    """
    held = [[n] for n in range(places)]
    labels = [[str(n) for n in range(places)]]
    colors: list[list[str | None]] = [[category(n) for n in range(places)]]
    names = ["each thread writes its own"]
    half = places // 2
    while half:
        held = [held[n] + held[n + half] if n < half else held[n] for n in range(places)]
        labels.append([combined(held[n], places) if n < half else "" for n in range(places)])
        colors.append([category(n) if n < half else EMPTY for n in range(places)])
        names.append(f"threads below {half} take in place + {half}")
        half //= 2
    title = "shared memory, step by step; thick lines are barriers"
    return figure(
        [
            CellGrid(
                title,
                labels,
                colors,
                names,
                [str(n) for n in range(places)],
                row_breaks=dict.fromkeys(range(1, len(labels)), 2.5),
            )
        ]
    )


def combined(values: list[int], places: int) -> str:
    """Which values a place combines, two in a line."""
    if len(values) == places:
        return "all"
    named = [str(n) for n in sorted(values)]
    return "\n".join(" ".join(named[n : n + 2]) for n in range(0, len(named), 2))
