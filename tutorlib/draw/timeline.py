"""Pictures of a software pipeline: the contents of each buffer, tick by tick, and the arithmetic."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from matplotlib.patches import Patch

from tutorlib.draw.grid import DPI, CellGrid, Picture, figure
from tutorlib.draw.palette import CATEGORIES, EMPTY, FAINT, INK, mixed
from tutorlib.models.pipeline import Timeline

ISSUED, ARRIVING = "#F1F3F5", "#CED4DA"  # a copy is in flight: before its first byte arrives, and after
TILES = (*CATEGORIES[:-1], "#CDB4DB", "#F6CFA8", "#B5E2C8", "#D6CDA4")  # gray marks copies in flight
PALE = 0.62  # share of white in the color of a tile that has arrived and waits
LEGEND = 34  # pixels
TimeBar = tuple[int, str, str, int, int]  # row, label, color, begin, end


def show_timeline(*timelines: Timeline) -> Picture:
    """One row for each buffer and one for the arithmetic, time from left to right; several below each other.

    A number is a tile: on gray it is arriving (· its copy is issued, and no byte has arrived), on a pale color it has
    arrived and waits, on the full color the arithmetic uses it. Hatched: the arithmetic waits.
    """
    example = color_of(1)  # the pale tint of tile 0's is nearly ARRIVING
    shades = {
        "· issued": ISSUED,
        "arriving": ARRIVING,
        "arrived, waiting": mixed(example, EMPTY, PALE),
        "in use": example,
        "the arithmetic waits": None,
    }
    return with_legend(over_time(timelines, timeline_grid), shades)


def over_time(cartoons: Sequence[Any], grid: Callable[[Any, int], CellGrid]) -> Picture:
    """Cartoons below each other on one scale of ticks, the longest one's `total`."""
    longest = max(cartoon.total for cartoon in cartoons)
    return figure([grid(cartoon, longest) for cartoon in cartoons], stacked=True)


def bars_grid(
    title: str, rows: Sequence[str], bars: Iterable[TimeBar], total: int, ticks: int, breaks: Mapping[int, float]
) -> CellGrid:
    """A bar is labeled at its first tick. The last row is hatched where it has none before `total`."""
    labels = [[""] * ticks for _ in rows]
    colors: list[list[str | None]] = [[EMPTY] * ticks for _ in rows]
    colors[-1] = [None if tick < total else EMPTY for tick in range(ticks)]
    for row, label, color, begin, end in bars:
        labels[row][begin] = label
        colors[row][begin:end] = [color] * (end - begin)
    return CellGrid(title, labels, colors, rows, every_fifth(ticks), breaks)


def every_fifth(ticks: int) -> list[str]:
    """The names of ticks."""
    return [str(tick) if tick % 5 == 0 else "" for tick in range(ticks)]


def timeline_grid(timeline: Timeline, ticks: int | None = None) -> CellGrid:
    """The first `ticks` of the pipeline as columns of a grid; by default all."""
    ticks = ticks or timeline.total
    labels = [[""] * ticks for _ in range(timeline.stages + 1)]
    colors: list[list[str | None]] = [[EMPTY] * ticks for _ in range(timeline.stages + 1)]
    colors[-1] = [None if tick < timeline.total else EMPTY for tick in range(ticks)]
    for tile, step in enumerate(timeline.steps):
        buffer, color = tile % timeline.stages, color_of(tile)
        states = (
            (step.issued, step.flows, "·", ISSUED),
            (step.flows, step.arrived, str(tile), ARRIVING),
            (step.arrived, step.started, str(tile), mixed(color, EMPTY, PALE)),
            (step.started, step.done, str(tile), color),
        )
        for start, end, label, shade in states:
            for tick in range(start, min(end, ticks)):
                labels[buffer][tick], colors[buffer][tick] = label, shade
        for tick in range(step.started, min(step.done, ticks)):
            labels[-1][tick], colors[-1][tick] = str(tile), color
    title = (
        f"{timeline.stages} stage{'s' if timeline.stages > 1 else ''}: {timeline.total} ticks for {timeline.tiles} "
        f"tiles; once it runs, one every {timeline.period:.3g}, computing {timeline.busy:.0%} of the time"
    )
    down = [f"buf {n}" for n in range(timeline.stages)] + ["math"]
    return CellGrid(title, labels, colors, down, every_fifth(ticks), {timeline.stages: 2.0})


def color_of(tile: int) -> str:
    """They repeat after eleven tiles."""
    return TILES[tile % len(TILES)]


def with_legend(picture: Picture, shades: Mapping[str, str | None]) -> Picture:
    """The picture with a line below it that says what each shade means. None: hatched."""
    width, height = picture.get_size_inches()
    more = LEGEND / DPI
    boxes = [axes.get_position() for axes in picture.axes]
    picture.set_size_inches(width, height + more)
    for axes, box in zip(picture.axes, boxes, strict=True):
        bottom, tall = (box.y0 * height + more) / (height + more), box.height * height / (height + more)
        axes.set_position((box.x0, bottom, box.width, tall))
    hatched = Patch(facecolor=EMPTY, edgecolor="#C3CAD1", hatch="//////")
    patches = [Patch(facecolor=shade, edgecolor=FAINT) if shade else hatched for shade in shades.values()]
    picture.legend(
        patches, shades.keys(), loc="lower left", ncols=len(shades), frameon=False, fontsize=8, labelcolor=INK,
        handlelength=1.3, handleheight=1.1, columnspacing=1.4,
    )  # fmt: skip
    return picture
