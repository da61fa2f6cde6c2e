"""The picture of a reduction in shared memory: the elements that each thread combines in each step."""

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, category


def show_reduction(places: int = 8) -> Picture:
    """A row for each step, with a barrier after each; a cell is an element with the values that it combines.

    places: elements, a power of two. The color is the thread that wrote the element in this step; white: unchanged.
    """
    held = [[n] for n in range(places)]
    labels = [[str(n) for n in range(places)]]
    colors: list[list[str | None]] = [[category(n) for n in range(places)]]
    names = ["each thread writes its element"]
    half = places // 2
    while half:
        held = [held[n] + held[n + half] if n < half else held[n] for n in range(places)]
        labels.append([combined(held[n], places) if n < half else "" for n in range(places)])
        colors.append([category(n) if n < half else EMPTY for n in range(places)])
        names.append(f"threads below {half} read element + {half}")
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
    """The values that an element combines, two in a line."""
    if len(values) == places:
        return "all"
    named = [str(n) for n in sorted(values)]
    return "\n".join(" ".join(named[n : n + 2]) for n in range(0, len(named), 2))
