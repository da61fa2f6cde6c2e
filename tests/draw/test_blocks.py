"""The picture of an order of blocks."""

from functools import partial

from tutorlib.draw import show_block_order
from tutorlib.draw.blocks import READ, order_grid
from tutorlib.draw.palette import category
from tutorlib.models.l2 import ORDERS, as_published, grouped, raster


def test_numbers_waves_and_what_the_first_wave_reads():
    grid = order_grid((4, 3), partial(grouped, group=2), 5, "groups of 2")
    assert grid.labels[1:] == [
        ["A", "0", "2", "4"],
        ["A", "1", "3", "5"],
        ["", "6", "8", "10"],
        ["", "7", "9", "11"],
    ]
    assert grid.colors[1][1:] == [category(0)] * 3
    assert grid.colors[2][3] == category(1)
    assert grid.colors[0][1:] == [READ] * 3
    assert grid.title.endswith("5 blocks,\nreads 2 rows of A and 3 columns of B")


def test_a_tile_computed_twice_and_one_forgotten():
    grid = order_grid((9, 9), as_published, 9, "as published")
    holes = sum(color is None for row in grid.colors for color in row)
    assert holes == sum(label.count("\n") for row in grid.labels for label in row) > 0
    assert all("\n" in grid.labels[row][column] for row, column in grid.outlined)


def test_two_orders_beside_each_other():
    assert len(show_block_order((8, 8), {"raster": raster, "groups of 4": ORDERS["groups of 4"]}, 16).axes) == 2
