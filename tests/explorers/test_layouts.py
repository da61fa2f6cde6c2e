"""The explorers of layouts: what they say of a click, and of an input that is no layout."""

from tests.explorers.clicks import click
from tutorlib.explorers.layouts import explore_compose, explore_divide, explore_layout, explore_swizzle


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
