"""Pictures of a software pipeline: what each buffer holds, tick by tick, and when the arithmetic runs."""

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, category
from tutorlib.models.pipeline import Timeline

WAITING = "#F1F3F5"  # a copy is under way


def show_timeline(*timelines: Timeline) -> Picture:
    """One row for each buffer and one for the arithmetic, time from left to right; several below each other.

    A number is a tile: on grey its copy is under way (· while no byte has arrived yet), on a colour it is computed
    with. Hatched: the arithmetic waits.
    """
    longest = max(timeline.total for timeline in timelines)
    return figure([timeline_grid(timeline, longest) for timeline in timelines], stacked=True)


def timeline_grid(timeline: Timeline, ticks: int | None = None) -> CellGrid:
    """The first `ticks` of the pipeline as columns of a grid; by default as many as it takes."""
    ticks = ticks or timeline.total
    labels = [[""] * ticks for _ in range(timeline.stages + 1)]
    colours: list[list[str | None]] = [[EMPTY] * ticks for _ in range(timeline.stages + 1)]
    colours[-1] = [None if tick < timeline.total else EMPTY for tick in range(ticks)]
    for tile, step in enumerate(timeline.steps):
        buffer = tile % timeline.stages
        for tick in range(step.issued, min(step.done, ticks)):
            label = str(tile) if tick >= step.flows else "·"
            labels[buffer][tick] = label
            colours[buffer][tick] = category(tile) if tick >= step.started else WAITING
        for tick in range(step.started, min(step.done, ticks)):
            labels[-1][tick], colours[-1][tick] = str(tile), category(tile)
    title = (
        f"{timeline.stages} stage{'s' if timeline.stages > 1 else ''}: {timeline.total} ticks for {timeline.tiles} "
        f"tiles; once it runs, one every {timeline.period:g}, computing {timeline.busy:.0%} of the time"
    )
    down = [f"buf {n}" for n in range(timeline.stages)] + ["math"]
    across = [str(tick) if tick % 5 == 0 else "" for tick in range(ticks)]
    return CellGrid(title, labels, colours, down, across, {timeline.stages: 2.0})
