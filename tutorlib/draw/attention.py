"""Pictures over time: an attention block's softmax and tensor cores, and an SM's tiles of queries."""

from collections.abc import Iterable

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, category
from tutorlib.models.attention import AttentionCartoon, Blocks, Schedule, SmCartoon


def show_attention(*schedules: Schedule) -> Picture:
    """Time from left to right; several schedules below each other.

    A color is a block of keys; its number marks its first tick. Hatched: the tensor cores are idle.
    """
    cartoons = [AttentionCartoon(one) for one in schedules]
    longest = max(cartoon.total for cartoon in cartoons)
    return figure([attention_grid(cartoon, longest) for cartoon in cartoons], stacked=True)


def show_tiles(*blocks: Blocks) -> Picture:
    """Time from left to right on one SM; a color is a tile of queries.

    Q: its loads, until the first data are there. O: a warpgroup's epilogue. Hatched: the tensor cores are idle.
    """
    cartoons = [SmCartoon(one) for one in blocks]
    longest = max(cartoon.total for cartoon in cartoons)
    return figure([tiles_grid(cartoon, longest) for cartoon in cartoons], stacked=True)


def attention_grid(cartoon: AttentionCartoon, ticks: int) -> CellGrid:
    bars = [
        (span.group, str(span.block), span) if span.kind == "softmax" else (2, f"{span.kind}{span.block}", span)
        for span in cartoon.spans
    ]
    timeline = [(row, label, span.block, span.begin, span.end) for row, label, span in bars]
    return cartoon_grid(cartoon.schedule, ("wg 0", "wg 1", "mma"), timeline, cartoon.total, ticks)


def tiles_grid(cartoon: SmCartoon, ticks: int) -> CellGrid:
    labels, timeline = {"load": "Q", "store": "O"}, []
    for span in cartoon.spans:
        row = 0 if span.kind == "load" else 1 + span.group
        timeline.append((row, labels.get(span.kind, str(span.tile)), span.tile, span.begin, span.end))
        if span.kind == "steps":
            timeline.append((3, "", span.tile, span.begin, span.end))
    return cartoon_grid(cartoon.blocks, ("loads", "wg 0", "wg 1", "mma"), timeline, cartoon.total, ticks)


def cartoon_grid(
    name: str, rows: tuple[str, ...], timeline: Iterable[tuple[int, str, int, int, int]], total: int, ticks: int
) -> CellGrid:
    """timeline: (row, label, color, begin, end) of each bar. The last row is hatched where it has none."""
    labels = [[""] * ticks for _ in rows]
    colors: list[list[str | None]] = [[EMPTY] * ticks for _ in rows]
    colors[-1] = [None if tick < total else EMPTY for tick in range(ticks)]
    for row, label, color, begin, end in timeline:
        labels[row][begin] = label
        colors[row][begin:end] = [category(color)] * (end - begin)
    idle = colors[-1].count(None)
    title = f"{name}: {total} ticks, the tensor cores idle in {idle} of them"
    across = [str(tick) if tick % 5 == 0 else "" for tick in range(ticks)]
    return CellGrid(title, labels, colors, rows, across, {len(rows) - 1: 2.0})
