"""Changes: each does one thing to the source, and says so where it does not fit."""

from pathlib import Path

import pytest

from tests.pages.change import DoesNotApply, derive, move_last, swap, without, without_first, without_last
from tutorlib.kernels.ampere.main_loops import single_buffer

LINES = ["load", "wait(0)", "barrier", "fetch", "barrier"]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (swap("wait(0)", "wait(1)"), "load wait(1) barrier fetch barrier"),
        (swap("barrier", "sync", times=2), "load wait(0) sync fetch sync"),
        (without("wait", "fetch"), "load barrier barrier"),
        (without_first("barrier"), "load wait(0) fetch barrier"),
        (without_last("barrier"), "load wait(0) barrier fetch"),
        (move_last("wait", after="fetch"), "load barrier fetch wait(0) barrier"),
    ],
)
def test_a_change(change, left):
    assert " ".join(change(LINES)) == left


@pytest.mark.parametrize(
    "change",
    [
        swap("commit", "wait"),
        swap("barrier", "sync"),
        without("barrier"),
        without("commit"),
        without_first("commit"),
        without_last("commit"),
        move_last("wait", after="commit"),
    ],
)
def test_a_change_that_does_not_fit_is_an_error(change):
    with pytest.raises(DoesNotApply):
        change(LINES)


def test_a_derived_answer_has_a_name_a_reason_and_a_file_of_its_own():
    wrong = derive(single_buffer, "hasty", "Does not wait.", without("wait_group"))
    assert (wrong.__name__, wrong.__doc__) == ("hasty", "Does not wait.")
    file = wrong.__wrapped__.__code__.co_filename
    assert file.endswith("hasty.py")
    assert "wait_group" not in Path(file).read_text().split("def hasty(")[1].split("@cute.jit")[0]


def test_the_right_answer_stays_as_it_is():
    derive(single_buffer, "hasty", "Does not wait.", without("wait_group"))
    assert single_buffer.__name__ == "single_buffer"


def test_a_change_that_the_source_has_outgrown_is_an_error():
    with pytest.raises(DoesNotApply, match="mbarrier"):
        derive(single_buffer, "hasty", "Does not wait.", without("mbarrier"))
