"""The explorer of the order of blocks."""

import pytest

from tests.explorers.clicks import click
from tutorlib.explorers.block_order import explore_block_order
from tutorlib.models import l2
from tutorlib.models.l2 import grouped, traffic

MB = 2**20


def test_the_numbers_are_the_models():
    explorer = explore_block_order(rows=8, columns=8, in_flight=8, l2_mb=4, k=1024)
    found = traffic((8, 8), grouped, 16, (16384, 16384), 8, 4 * MB)
    assert f"{found.hit_rate:.1%} of the loads hit" in explorer.grids.answer


def test_a_click_shows_the_wave_of_its_tile():
    explorer = explore_block_order(rows=8, columns=8, order="raster", in_flight=8)
    click(explorer, 0, 3, 6)
    assert "raster: wave 5, 8 blocks" in explorer.drawn[0].title
    assert "block 42: 1 of its wave read the same row of A, 8 the same column of B" in explorer.grids.answer


def test_a_click_on_an_operand_or_on_a_tile_that_is_gone_says_nothing():
    explorer = explore_block_order(rows=8, columns=8)
    click(explorer, 0, 0, 3)
    assert explorer.grids.answer.endswith("Click a tile to see its wave.")
    click(explorer, 0, 8, 8)
    explorer.inputs[0].value = 4
    assert explorer.grids.answer.endswith("Click a tile to see its wave.")


@pytest.mark.parametrize(("box", "value"), list(enumerate((32, 32, "raster", 9, 1, 0.5))))
def test_every_input_asks_the_model_once(monkeypatch, box, value):
    asked = []
    monkeypatch.setattr(
        "tutorlib.explorers.block_order.traffic", lambda *args: asked.append(args) or l2.Traffic(2, 1, 1)
    )
    explorer = explore_block_order()
    asked.clear()
    explorer.inputs[box].value = value
    assert len(asked) == 1
