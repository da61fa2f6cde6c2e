"""The picture of an mbarrier's state; the model behind it has tests of its own."""

import pytest

from tutorlib.draw.mbarrier import show_mbarrier, state
from tutorlib.models.mbarrier import fresh


def test_a_column_says_what_is_pending_and_which_waits_return():
    barrier = fresh(1)
    assert state(barrier) == ["1", "0", "0", "wait", "go"]
    assert state(barrier.arrive(2048)) == ["0", "2", "0", "wait", "go"]
    assert state(barrier.arrive(2048).deliver(2048)) == ["1", "0", "1", "go", "wait"]


def test_an_event_of_another_name_is_refused():
    with pytest.raises(ValueError, match="not \\('leave', 1\\)"):
        show_mbarrier(1, [("leave", 1)])
