"""The pipeline's timeline: the rules of the hardware hold, and the period is what it settles to."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutorlib.draw import show_timeline
from tutorlib.draw.timeline import timeline_grid
from tutorlib.kernel_widgets import TICKS, explore_timeline
from tutorlib.pipeline import Timeline

timelines = st.builds(
    Timeline,
    stages=st.integers(1, 6),
    latency=st.integers(0, 12),
    transfer=st.integers(1, 6),
    compute=st.integers(1, 6),
    tiles=st.integers(1, 20),
)


@given(timelines)
def test_memory_arithmetic_and_buffers_do_one_thing_at_a_time(timeline):
    steps = timeline.steps
    for tile, step in enumerate(steps):
        assert step.issued + timeline.latency <= step.flows
        assert step.flows + timeline.transfer == step.arrived <= step.started
        assert step.started + timeline.compute == step.done
        if tile >= timeline.stages:
            assert step.issued >= steps[tile - timeline.stages].done
    for before, after in pairwise(steps):
        assert after.flows >= before.arrived
        assert after.started >= before.done


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(0, 12), st.integers(1, 6), st.integers(1, 6))
def test_the_period_is_what_it_settles_to(stages, latency, transfer, compute):
    long = Timeline(stages, latency, transfer, compute, tiles=60 * stages + 1)
    steps = long.steps
    settled = (steps[-1].done - steps[30 * stages].done) / (30 * stages)
    assert settled == pytest.approx(long.period)


def test_one_stage_stops_and_goes():
    assert Timeline(1, 4, 2, 3, tiles=5).total == 5 * (4 + 2 + 3)


@given(timelines)
def test_the_picture_shows_every_tick_of_every_tile(timeline):
    grid = timeline_grid(timeline)
    assert (grid.rows, grid.columns) == (timeline.stages + 1, timeline.total)
    for tile, step in enumerate(timeline.steps):
        buffer = grid.labels[tile % timeline.stages]
        assert set(buffer[step.issued : step.flows]) <= {"·"}
        assert set(buffer[step.flows : step.done]) == {str(tile)}
    assert sum(label != "" for label in grid.labels[-1]) == timeline.tiles * timeline.compute
    assert grid.colours[-1].count(None) == timeline.total - timeline.tiles * timeline.compute


def test_several_stand_on_one_scale_in_a_small_picture():
    picture = show_timeline(*(Timeline(stages, 4, 2, 3, tiles=6) for stages in (1, 2, 3)))
    assert len(picture.axes) == 3
    assert len({axes.get_xlim() for axes in picture.axes}) == 1
    assert len(picture._repr_png_()) < 60_000


def test_the_explorer_follows_its_sliders_fast():
    explorer = explore_timeline(stages=1)
    assert "= 9 ticks" in explorer.grids.answer
    start = time.perf_counter()
    explorer.inputs[0].value = 3
    assert time.perf_counter() - start < 0.2
    assert "= 3 ticks" in explorer.grids.answer
    assert "computing 100% of the time" in explorer.drawn[0].title


def test_a_slow_pipeline_is_shown_as_far_as_a_browser_can():
    explorer = explore_timeline(stages=1, latency=12, transfer=6, compute=6)
    assert explorer.drawn[0].columns == TICKS < Timeline(1, 12, 6, 6, tiles=8).total
