"""The explorer of mbarriers: the reader's clicks are the machine's steps."""

from tests.explorers.clicks import click
from tutorlib.explorers.mbarriers import explore_mbarriers
from tutorlib.models.mbarrier import FAULTS

PRODUCER, TMA, CONSUMER = range(3)


def clicks(explorer, *places):
    for row, column in places:
        click(explorer, 0, row, column)
    return explorer.grids.answer


def test_a_k_tile_passes_through_the_ring():
    explorer = explore_mbarriers()
    said = clicks(explorer, *[(PRODUCER, 0)] * 4)
    assert "producer: index 1, phase 1, count 1" in said
    assert [label for label in explorer.drawn[0].labels[TMA] if label] == ["A 0", "B 0"]
    assert "phase 0 of full[0] is not over" in clicks(explorer, (TMA, 1), (CONSUMER, 0))
    assert explorer.drawn[1].labels[0] == ["", "0", "0", "0", "16", "0", "1"]  # B is there, A's 16 KiB are missing
    clicks(explorer, (TMA, 0), *[(CONSUMER, 0)] * 2)
    assert explorer.drawn[1].outlined == {(0, 0), (0, 1)}
    said = clicks(explorer, *[(CONSUMER, 0)] * 3)
    assert "consumer: index 1, phase 0, count 1" in said
    assert "1 tile multiplied" in said
    assert explorer.drawn[1].labels[0][2:] == ["1", "1", "0", "1", "1"]  # both barriers are in their phase 1


def test_what_goes_wrong_is_said():
    explorer = explore_mbarriers(fault=FAULTS[2])
    assert "WRONG: wgmma reads stage 0" in clicks(explorer, (CONSUMER, 0), (CONSUMER, 0))


def test_another_ring_begins_anew():
    explorer = explore_mbarriers()
    clicks(explorer, *[(PRODUCER, 0)] * 4)
    explorer.inputs[0].value = 3
    assert "producer: index 0, phase 1, count 0" in explorer.grids.answer
    assert explorer.drawn[1].rows == 3


def test_a_click_on_the_ring_or_beside_the_transfers_does_nothing():
    explorer = explore_mbarriers()
    before = explorer.grids.answer
    click(explorer, 1, 0, 0)
    assert clicks(explorer, (TMA, 3)) == before
