"""The explorer of a software pipeline: stages, latency, transfer, compute."""

from tutorlib.draw.timeline import timeline_grid
from tutorlib.explorers.explorer import Click, Explorer, Scene, wide_slider
from tutorlib.models.pipeline import Timeline

TICKS = 96  # columns that a browser shows without scrolling


def explore_timeline(
    stages: int = 2, latency: int = 4, transfer: int = 2, compute: int = 3, tiles: int = 8
) -> Explorer:
    """A software pipeline: the number of buffers that keeps the arithmetic busy at a given memory latency."""
    sliders = [
        wide_slider("stages", stages, 1, 6),
        wide_slider("latency", latency, 0, 12),
        wide_slider("transfer", transfer, 1, 6),
        wide_slider("compute", compute, 1, 6),
    ]

    def view(stages: int, latency: int, transfer: int, compute: int, _: Click | None) -> Timeline:
        return Timeline(stages, latency, transfer, compute, tiles)

    return Explorer(sliders, view, timeline_scene)


def timeline_scene(view: Timeline, _: Click | None) -> Scene:
    round_trip = view.latency + view.transfer + view.compute
    caption = (
        f"one tile every max(compute {view.compute}, transfer {view.transfer}, "
        f"round trip of a buffer {round_trip} / {view.stages} stages) = {view.period:.3g} ticks"
    )
    return [timeline_grid(view, min(view.total, TICKS))], caption
