"""Pictures of attention: a block's softmax and tensor cores over time, an SM's tiles of queries, causal scores."""

from collections.abc import Iterable
from dataclasses import replace

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, category
from tutorlib.draw.timeline import TimeBar, bars_grid, over_time
from tutorlib.models.attention import AttentionCartoon, Blocks, Schedule, SmCartoon


def show_attention(*schedules: Schedule) -> Picture:
    """Time from left to right; several schedules below each other.

    A color is a block of keys; its number marks its first tick. Hatched: the tensor cores are idle.
    """
    return over_time([AttentionCartoon(one) for one in schedules], attention_grid)


def show_tiles(*blocks: Blocks) -> Picture:
    """Time from left to right on one SM; a color is a tile of queries.

    Q: its loads, until the first data are there. O: a warpgroup's epilogue. Hatched: the tensor cores are idle.
    """
    return over_time([SmCartoon(one) for one in blocks], tiles_grid)


def attention_grid(cartoon: AttentionCartoon, ticks: int) -> CellGrid:
    bars = [
        (span.group, str(span.number), span) if span.kind == "softmax" else (2, f"{span.kind}{span.number}", span)
        for span in cartoon.spans
    ]
    timeline = [(row, label, category(span.number), span.begin, span.end) for row, label, span in bars]
    return cartoon_grid(cartoon.schedule, ("wg 0", "wg 1", "mma"), timeline, cartoon.total, ticks)


def tiles_grid(cartoon: SmCartoon, ticks: int) -> CellGrid:
    labels, timeline = {"load": "Q", "store": "O"}, list[TimeBar]()
    for span in cartoon.spans:
        row, color = 0 if span.kind == "load" else 1 + span.group, category(span.number)
        timeline.append((row, labels.get(span.kind, str(span.number)), color, span.begin, span.end))
        if span.kind == "steps":
            timeline.append((3, "", color, span.begin, span.end))
    return cartoon_grid(cartoon.blocks, ("loads", "wg 0", "wg 1", "mma"), timeline, cartoon.total, ticks)


def cartoon_grid(name: str, rows: tuple[str, ...], timeline: Iterable[TimeBar], total: int, ticks: int) -> CellGrid:
    """The title counts the ticks without a bar in the last row."""
    grid = bars_grid("", rows, timeline, total, ticks, {len(rows) - 1: 2.0})
    idle = grid.colors[-1].count(None)
    return replace(grid, title=f"{name}: {total} ticks, the tensor cores idle in {idle} of them")


def show_key_tiles(queries: int, keys: int, tm: int, tn: int) -> Picture:
    """The tiles (tm, tn) of a head's scores: blocks of queries down, tiles of keys across. Query i sees keys 0 … i."""
    return figure([key_grid(queries, keys, tm, tn)])


def key_grid(queries: int, keys: int, tm: int, tn: int) -> CellGrid:
    rows, columns = -(-queries // tm), -(-keys // tn)

    def kind(m: int, n: int) -> str:
        if n * tn >= min((m + 1) * tm, keys):
            return ""
        return "whole" if (n + 1) * tn <= min(m * tm + 1, keys) else "mask"

    kinds = [[kind(m, n) for n in range(columns)] for m in range(rows)]
    colors = {"whole": category(0), "mask": category(1), "": EMPTY}
    return CellGrid(
        f"{queries} queries in tiles of {tm}, {keys} keys in tiles of {tn}",
        kinds,
        [[colors[one] for one in row] for row in kinds],
        down=[str(m) for m in range(rows)],
        across=[str(n) for n in range(columns)],
    )
