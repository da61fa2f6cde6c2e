"""Exercise 05.8 where no GPU can run it: what is said of a copy by TMA that is wrong."""

import pytest

from tests.pages.n05_copy_kernels.copies_by_tma import TMA
from tests.pages.n05_copy_kernels.wrong import WRONG_WHEN_RUN
from tutorlib.exercises import find
from tutorlib.machine import device
from tutorlib.machine.features import TMA as HAS_TMA

pytestmark = pytest.mark.skipif(device.why_not(HAS_TMA) is None, reason="a GPU runs it here")

SAYS = {
    "expects_half": ("8,192 bytes are announced", "may be over before all of them have arrived", "tile_bytes // 2"),
    "expects_twice": ("waits forever", "lacks 16,384 of 32,768 bytes", "mbarrier_wait(barrier, 0)"),
    "announces_nothing": ("its mbarrier has not been waited for", "cute.copy(store, from_tile, to_dst)"),
    "waits_for_the_other_phase": ("its mbarrier has not been waited for", "cute.copy(store, from_tile, to_dst)"),
    "does_not_wait_for_the_tile": ("its mbarrier has not been waited for", "cute.copy(store, from_tile, to_dst)"),
    "made_for_two": ("waits forever", "lacks 1 of 2 arrivals", "mbarrier_wait(barrier, 0)"),
    "never_made": ("which was never initialized", "mbarrier_arrive_and_expect_tx"),
    "waits_before_it_is_made": ("waits for the mbarrier", "makes at line", "with no barrier between"),
    "stores_in_no_group": ("ends while a TMA store may still be reading", "it is in no group"),
    "leaves_before_it_is_stored": ("ends while a TMA store may still be reading", "no thread waits for it to finish"),
    "leaves_the_tile_inside": ("never wrote it",),
    "all_threads_announce": ("more threads arrive on the mbarrier", "than the 1 that it was made for"),
}


TOLD = [answer for answer in WRONG_WHEN_RUN["05.8"] if answer.__name__ in SAYS]


def test_each_is_there():
    assert {answer.__name__ for answer in TOLD} == set(SAYS)


def test_the_solution_is_right():
    outcome = find("05.8").grade(TMA)
    assert outcome.points == 3
    assert "right, simulated; speed not run: " in outcome.message


@pytest.mark.parametrize("answer", TOLD, ids=lambda answer: answer.__name__)
def test_what_is_wrong_is_said(answer):
    message = find("05.8").grade(answer).message
    for words in SAYS[answer.__name__]:
        assert words in message, message
