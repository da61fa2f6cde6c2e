"""Notebook 06: the bound on a softmax, and kernels that are right in another way or wrong without looking so."""

from itertools import pairwise

import cuda.tile as ct
import pytest
import torch

from tutorlib import device
from tutorlib.check import check
from tutorlib.draw.tilespace import array_grid, space_grid
from tutorlib.exercises import find
from tutorlib.exercises.n06_cutile_tiles import softmax
from tutorlib.tile import TileExercise
from tutorlib.tile_widgets import Cut, explore_tile_space, scene

Const = ct.Constant


def test_a_picture_of_tile_space():
    array, space = array_grid((10, 20), (4, 8)), space_grid((10, 20), (4, 8))
    assert (array.rows, array.columns) == (12, 24)
    assert (space.rows, space.columns) == (3, 3)
    assert array.colours[9][19] == space.colours[2][2]
    assert array.colours[10][19] is None
    colours = [colour for row in space.colours for colour in row]
    assert all(a != b for a, b in pairwise(colours))


@pytest.mark.parametrize(
    ("click", "says"),
    [
        ((0, (9, 17)), "element (9, 17) is (1, 1) of tile (2, 2)"),
        ((0, (10, 0)), "(10, 0) is outside: a load pads it, a store drops it"),
        ((1, (2, 2)), "ct.load(x, (2, 2), (4, 8)): 8 of its 32 elements exist"),
    ],
)
def test_what_the_explorer_says(click, says):
    grids, said = scene(Cut((10, 20), (4, 8)), click)
    assert says in said
    assert len(grids[0].outlined) == 32


def test_the_explorer_takes_any_size():
    explorer = explore_tile_space((10, 20), (4, 8))
    explorer.clicked(explorer.grids, {"grid": 1, "row": 2, "column": 0}, [])
    explorer.inputs[0].value = 1
    assert [(grid.rows, grid.columns) for grid in explorer.drawn] == [(4, 24), (1, 3)]
    assert not explorer.grids.problem


without_gpu = pytest.mark.skipif(device.gpu() is not None, reason="what a machine without a GPU says")


@ct.kernel
def persistent_add(a, b, c, tile: Const[int]):
    """Right: every block goes through the tiles in steps of the grid."""
    for i in range(ct.bid(0), ct.num_tiles(a, 0, (tile,)), ct.num_blocks(0)):
        ct.store(c, (i,), ct.load(a, (i,), (tile,)) + ct.load(b, (i,), (tile,)))


@ct.kernel
def gathering_add(a, b, c, tile: Const[int]):
    """Right: by index and without tile space."""
    place = ct.bid(0) * tile + ct.arange(tile, dtype=ct.int32)
    ct.scatter(c, place, ct.gather(a, place) + ct.gather(b, place))


@ct.kernel
def two_pass_softmax(x, y, tile: Const[int]):
    """Right: masks the padding by hand."""
    row = ct.load(x, (ct.bid(0), 0), (1, tile), padding_mode=ct.PaddingMode.ZERO)
    there = ct.arange(tile, dtype=ct.int32)[None, :] < x.shape[1]
    top = ct.max(ct.where(there, row, -float("inf")))
    e = ct.where(there, ct.exp(row - top), 0.0)
    ct.store(y, (ct.bid(0), 0), e / ct.sum(e))


@pytest.mark.parametrize(
    ("id", "answer"), [("06.1", persistent_add), ("06.1", gathering_add), ("06.5", two_pass_softmax)]
)
def test_right_in_another_way(id, answer, capsys):
    check(id, answer)
    assert capsys.readouterr().out == find(id).passed_line + "\n"


@ct.kernel
def unwritten(a, b, c, tile: Const[int]):
    raise ct.static_exception(NotImplementedError("Exercise 06.1"))


@ct.kernel
def with_a_tile_of_100(a, b, c, tile: Const[int]):
    ct.store(c, (ct.bid(0),), ct.load(a, (ct.bid(0),), (100,)))


@ct.kernel
def rounds_towards_zero(a, b, c, tile: Const[int]):
    i = (ct.bid(0),)
    ct.store(c, i, ct.add(ct.load(a, i, (tile,)), ct.load(b, i, (tile,)), rounding_mode=ct.RoundingMode.RZ))


@ct.kernel
def last_block_wins(a, b, c, tile: Const[int]):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (tile,)) + ct.load(b, (i,), (tile,)))
    if i == 0:
        ct.store(c, (1,), ct.load(a, (0,), (tile,)))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (unwritten, "✗ 06.1 add: not written yet"),
        (with_a_tile_of_100, "Dimension #0 of shape (100,) is not a power of two"),
        (rounds_towards_zero, "rounding_mode=RoundingMode.RZ is not simulated"),
        (last_block_wins, "right by luck: block 1 stores c[128:256], where block 0 stored other values"),
        (print, "print is not a @ct.kernel function"),
    ],
)
def test_what_is_said(answer, says):
    outcome = find("06.1").grade(answer)
    assert outcome.status in ("failed", "partial")
    assert says in outcome.message


@without_gpu
def test_speed_that_cannot_be_measured_is_not_run():
    add = find("06.1")
    timed = TileExercise(**{**vars(add), "tiers": (0.9,), "bench_shape": (2**20,)})
    outcome = timed.grade(persistent_add)
    assert outcome.status == "not_run"
    assert outcome.points == add.points - 1
    assert "speed not run" in outcome.message


@pytest.mark.parametrize("n", [1, 100, 1000])
def test_the_bound_takes_an_fp32_softmax_and_no_fp16_one(n):
    problem, shape = softmax("fp32"), (16, n)
    (x,) = problem.random(shape, torch.Generator().manual_seed(n))
    x = x * 20
    want, allowed = problem.expected((x,), shape)
    assert ((x.softmax(-1).double() - want).abs() <= allowed).all()
    if n > 1:
        assert ((x.half().softmax(-1).double() - want).abs() > allowed).any()
