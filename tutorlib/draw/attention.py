"""A picture of an attention block's softmax and tensor cores over time."""

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, category
from tutorlib.models.attention import AttentionCartoon, Schedule


def show_attention(*schedules: Schedule) -> Picture:
    """Time from left to right; several schedules below each other.

    A color is a block of keys; its number marks its first tick. Hatched: the tensor cores are idle.
    """
    cartoons = [AttentionCartoon(one) for one in schedules]
    longest = max(cartoon.total for cartoon in cartoons)
    return figure([attention_grid(cartoon, longest) for cartoon in cartoons], stacked=True)


def attention_grid(cartoon: AttentionCartoon, ticks: int) -> CellGrid:
    rows = ("wg 0", "wg 1", "mma")
    labels = [[""] * ticks for _ in rows]
    colors: list[list[str | None]] = [[EMPTY] * ticks for _ in rows]
    colors[-1] = [None if tick < cartoon.total else EMPTY for tick in range(ticks)]
    for span in cartoon.spans:
        row = span.group if span.kind == "softmax" else 2
        labels[row][span.begin] = str(span.block) if span.kind == "softmax" else f"{span.kind}{span.block}"
        colors[row][span.begin : span.end] = [category(span.block)] * (span.end - span.begin)
    idle = colors[-1].count(None)
    title = f"{cartoon.schedule}: {cartoon.total} ticks, the tensor cores idle in {idle} of them"
    across = [str(tick) if tick % 5 == 0 else "" for tick in range(ticks)]
    return CellGrid(title, labels, colors, rows, across, {2: 2.0})
