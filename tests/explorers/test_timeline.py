"""The explorer of a pipeline."""

from tests.explorers.clicks import counted
from tutorlib.explorers.timeline import TICKS, explore_timeline
from tutorlib.models.pipeline import Timeline


def test_it_follows_its_sliders():
    explorer = explore_timeline(stages=1)
    assert "= 9 ticks" in explorer.grids.answer
    explorer.inputs[0].value = 3
    assert "= 3 ticks" in explorer.grids.answer
    assert "computing 100% of the time" in explorer.drawn[0].title


def test_a_slider_draws_no_more_cells_than_a_browser_shows():
    explorer = explore_timeline()
    with counted(explorer) as counts:
        explorer.inputs[1].value = 12
    assert counts["compute"] == counts["show"] == 1
    assert counts["cells"] <= TICKS * (6 + 1)


def test_a_slow_pipeline_is_shown_as_far_as_a_browser_can():
    explorer = explore_timeline(stages=1, latency=12, transfer=6, compute=6)
    assert explorer.drawn[0].columns == TICKS < Timeline(1, 12, 6, 6, tiles=8).total
