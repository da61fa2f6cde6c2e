"""The picture of a pipeline in time."""

from hypothesis import given

from tests.draw.test_palette import contrast
from tests.models.test_pipeline import timelines
from tutorlib.draw import show_timeline
from tutorlib.draw.palette import INK
from tutorlib.draw.timeline import ARRIVING, ISSUED, color_of, timeline_grid
from tutorlib.models.pipeline import Timeline


@given(timelines)
def test_the_picture_shows_every_tick_of_every_tile(timeline):
    grid = timeline_grid(timeline)
    assert (grid.rows, grid.columns) == (timeline.stages + 1, timeline.total)
    for tile, step in enumerate(timeline.steps):
        buffer = grid.labels[tile % timeline.stages]
        assert set(buffer[step.issued : step.flows]) <= {"·"}
        assert set(buffer[step.flows : step.done]) == {str(tile)}
        shades = grid.colors[tile % timeline.stages]
        phases = [shades[step.issued : step.flows], shades[step.flows : step.arrived]]
        phases += [shades[step.arrived : step.started], shades[step.started : step.done]]
        assert all(len(set(phase)) <= 1 for phase in phases)
        assert len({phase[0] for phase in phases if phase}) == sum(map(bool, phases))
    assert sum(label != "" for label in grid.labels[-1]) == timeline.tiles * timeline.compute
    assert grid.colors[-1].count(None) == timeline.total - timeline.tiles * timeline.compute


def test_nine_tiles_have_nine_colors_and_every_shade_carries_dark_text():
    assert len({color_of(tile) for tile in range(9)}) == 9
    assert all(contrast(color, INK) >= 4.5 for color in (*map(color_of, range(12)), ISSUED, ARRIVING))


def test_several_stand_on_one_scale_in_a_small_picture():
    picture = show_timeline(*(Timeline(stages, 4, 2, 3, tiles=6) for stages in (1, 2, 3)))
    assert len(picture.axes) == 3
    assert len({axes.get_xlim() for axes in picture.axes}) == 1
    assert len(picture._repr_png_()) < 60_000
