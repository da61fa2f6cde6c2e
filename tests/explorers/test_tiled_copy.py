"""The explorer of a TiledCopy."""

from tests.explorers.clicks import click
from tutorlib.explorers.tiled_copy import explore_tv


def test_a_click_shows_all_that_a_thread_holds():
    explorer = explore_tv()
    click(explorer, 0, 3, 5)
    assert explorer.grids.answer == "(3,5) is value 5 of thread 5, in warp 0; it holds 16 values"
    assert len(explorer.drawn[0].outlined) == 16


def test_a_bad_input_leaves_the_picture():
    explorer = explore_tv()
    before = explorer.grids.grids
    for box, bad in ((0, "(2,4):(8,1)"), (1, "(1,4"), (2, "8"), (2, "(8,15)"), (2, "(4096,4096)")):
        good = explorer.inputs[box].value
        explorer.inputs[box].value = bad
        assert explorer.grids.problem
        assert explorer.grids.grids == before
        explorer.inputs[box].value = good
        assert not explorer.grids.problem
