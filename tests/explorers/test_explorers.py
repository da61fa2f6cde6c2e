"""Each explorer: what a click or an input shows."""

from base64 import b64decode
from io import BytesIO

import pytest
from PIL import Image

from tests.explorers.clicks import EXPLORERS, click, counted
from tutorlib.explorers.explorer import LARGEST, Grids
from tutorlib.explorers.layouts import (
    Cut,
    explore_compose,
    explore_divide,
    explore_layout,
    explore_swizzle,
    explore_tv,
    scene,
)
from tutorlib.explorers.pipelines import explore_block_order, explore_mbarriers, explore_timeline
from tutorlib.models.l2 import grouped, traffic
from tutorlib.models.mbarrier import FAULTS

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


def test_layout_explorer():
    explorer = explore_layout("(4,3):(3,1)")
    click(explorer, 0, 2, 1)
    assert explorer.grids.answer == "coordinate (2,1), index 6 of 12\noffset 2·3 + 1·1 = 7"
    assert len(explorer.grids.grids[0]["outline"]) == 4
    [box] = explorer.inputs
    box.value = "((2,2),3):((1,2),4)"
    assert explorer.grids.answer == "size 12, cosize 12. Click a cell."
    good = explorer.grids.grids
    box.value = "((2,2),3):((1,2),4"
    assert explorer.grids.problem == "The stride ((1,2),4 lacks a )."
    assert explorer.grids.grids == good
    box.value = "(99,99)"
    assert "9,801 elements" in explorer.grids.problem
    box.value = "5:2"
    assert explorer.grids.problem == ""
    click(explorer, 0, 0, 3)
    assert explorer.grids.answer == "coordinate 3, index 3 of 5\noffset 3·2 = 6"


def test_compose_explorer():
    explorer = explore_compose("(6,2):(8,2)", "(4,3):(3,1)")
    click(explorer, 2, 2, 1)
    assert explorer.grids.answer == "b(2,1) = 7, which is a(1,1)\n(a∘b)(2,1) = a(7) = 10"
    assert [sorted(grid.outlined) for grid in explorer.drawn] == [[(2, 1)], [(1, 1)], [(2, 1)]]
    click(explorer, 1, 1, 1)
    assert explorer.grids.answer == "a(1,1) is selected by one cell of b."
    explorer.inputs[1].value = "5:3"
    assert explorer.grids.problem


def test_divide_explorer():
    explorer = explore_divide("(10,6):(6,1)", (4, 2))
    click(explorer, 0, 5, 3)
    assert explorer.grids.answer == "(5,3) is element 5 of tile 4\noffset 33 on both sides"
    assert [sorted(grid.outlined) for grid in explorer.drawn] == [[(5, 3)], [(5, 4)]]
    click(explorer, 1, 5, 4)
    assert explorer.grids.answer == "(5,3) is element 5 of tile 4\noffset 33 on both sides"
    click(explorer, 1, 3, 2)
    assert "outside the matrix" in explorer.grids.answer
    explorer.inputs[1].value = "(4,2,2)"
    assert explorer.grids.problem == "The tiler (4,2,2) has more modes than the shape (10,6)."


def test_swizzle_explorer():
    explorer = explore_swizzle()
    assert "8 wavefronts, 1 would do" in explorer.drawn[0].title
    assert "1 wavefront, the least" in explorer.drawn[1].title
    click(explorer, 1, 3, 2)
    assert explorer.grids.answer.startswith("(3,16): offset 208 → 200, in bits 011010000 → 011001000; bank 4")
    assert explorer.drawn[0].outlined == {(row, 2) for row in range(8)}
    bits = explorer.inputs[1]
    bits.value = 0
    assert "8 wavefronts" in explorer.drawn[1].title
    bits.value = 5
    assert explorer.grids.problem == "S<5,3,3> would mix bits with themselves: S is at least B."


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


@pytest.mark.parametrize(
    ("clicked", "says"),
    [
        ((0, (9, 17)), "element (9, 17) is (1, 1) of tile (2, 2)"),
        ((0, (10, 0)), "(10, 0) is outside: a load pads it, a store drops it"),
        ((1, (2, 2)), "ct.load(x, (2, 2), (4, 8)): 8 of its 32 elements exist"),
    ],
)
def test_what_the_explorer_says(clicked, says):
    grids, said = scene(Cut((10, 20), (4, 8)), clicked)
    assert says in said
    assert len(grids[0].outlined) == 32


def test_a_click_shows_all_that_a_thread_holds():
    explorer = explore_tv()
    click(explorer, 0, 3, 5)
    assert explorer.grids.answer == "(3,5) is value 5 of thread 5, in warp 0; it holds 16 values"
    assert len(explorer.drawn[0].outlined) == 16


def test_it_follows_its_sliders():
    explorer = explore_timeline(stages=1)
    assert "= 9 ticks" in explorer.grids.answer
    explorer.inputs[0].value = 3
    assert "= 3 ticks" in explorer.grids.answer
    assert "computing 100% of the time" in explorer.drawn[0].title


@pytest.mark.parametrize("name", EXPLORERS)
def test_a_click_is_drawn_once(name):
    explorer = EXPLORERS[name]()
    with counted(explorer) as counts:
        click(explorer, 0, 1, 2)
    assert explorer.grids.problem == ""
    assert counts["compute"] == counts["show"] == 1
    assert counts["cells"] <= LARGEST


@pytest.mark.parametrize("name", EXPLORERS)
def test_what_is_drawn_goes_to_the_browser_in_one_message(name, monkeypatch):
    explorer, sent = EXPLORERS[name](), []
    monkeypatch.setattr(Grids, "send_state", lambda grids, key=None: sent.append(key))
    click(explorer, 0, 2, 2)
    assert len(sent) == 1


@pytest.mark.parametrize("name", ["layout", "compose", "divide", "swizzle", "tv"])
def test_a_bad_input_is_not_drawn(name):
    explorer = EXPLORERS[name]()
    before = explorer.grids.grids
    with counted(explorer) as counts:
        explorer.inputs[0].value = "(32,32"
    assert explorer.grids.problem
    assert explorer.grids.grids == before
    assert counts["show"] == 0


@pytest.mark.parametrize("name", EXPLORERS)
def test_a_page_without_a_kernel_has_a_picture_of_it(name):
    bundle = EXPLORERS[name]()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert Image.open(BytesIO(b64decode(bundle["image/png"]))).size[0] > 200
