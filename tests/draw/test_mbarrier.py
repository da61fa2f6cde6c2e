"""An mbarrier's state: arrivals, bytes, phase, and which waits return."""

import pytest

from tutorlib.draw.mbarrier import Mbarrier, show_mbarrier


def test_a_phase_ends_when_neither_arrivals_nor_bytes_are_pending():
    barrier = Mbarrier(2)
    for event, phase in (("arrive", 64), 0), (("bytes", 64), 0), (("arrive", 0), 1), (("arrive", 0), 1):
        barrier.take(event)
        assert barrier.phase == phase
    assert barrier.arrivals == 1


def test_bytes_may_come_before_the_arrival_that_announces_them():
    barrier = Mbarrier(1)
    barrier.take(("bytes", 64))
    assert (barrier.phase, barrier.bytes) == (0, -64)
    barrier.take(("arrive", 64))
    assert barrier.phase == 1


def test_on_a_fresh_barrier_a_wait_for_parity_1_returns():
    barrier = Mbarrier(1)
    assert [barrier.passes(parity) for parity in (0, 1)] == [False, True]
    barrier.take(("arrive", 0))
    assert [barrier.passes(parity) for parity in (0, 1)] == [True, False]


def test_an_event_of_another_name_is_refused():
    with pytest.raises(ValueError, match="not \\('leave', 1\\)"):
        show_mbarrier(1, [("leave", 1)])
