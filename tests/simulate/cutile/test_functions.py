"""What a kernel calls: functions in a table, helpers with loops and conditions, print."""

import cuda.tile as ct
import pytest
import torch

from tests.simulate.cutile.tensors import out, randn
from tutorlib.simulate.cutile import run

Const = ct.Constant


def square(tile):
    return ct.mul(tile, tile)


FUNCTIONS = {"square": [square], "root": [ct.sqrt]}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_in_a_table(name):
    x, z = randn(8).abs(), out(8)

    @ct.kernel
    def kernel(x, z):
        function = ct.static_eval(FUNCTIONS[name][0])
        ct.store(z, (0,), function(ct.load(x, (0,), (8,))))

    run(kernel, (1,), (x, z))
    torch.testing.assert_close(z, x.square() if name == "square" else x.sqrt())


@ct.function
def helper(tile, scale):
    return other_helper(tile) * scale


def other_helper(tile):
    return tile + ct.bid(0)


def test_helpers_loops_and_conditions():
    x, z = randn(4, 16), out(4, 16)

    @ct.kernel
    def kernel(x, z, times, scale: Const[float]):
        row = ct.load(x, (ct.bid(0), 0), (1, 16))
        for step in range(times):
            if step % 2 == 0:
                row = helper(row, scale)
        while times > 3:
            row, times = row - 1, times - 1
        ct.store(z, (ct.bid(0), 0), row)

    run(kernel, (4,), (x, z, 5, 2.0))
    want = x.clone()
    for _ in range(3):
        want = (want + torch.arange(4.0)[:, None]) * 2
    torch.testing.assert_close(z, want - 2)


def test_print(capsys):
    @ct.kernel
    def kernel(x):
        print("tile", ct.load(x, (0,), (2,)), f"{ct.load(x, (0,), (2,)):.2f}")
        ct.printf("%d of %lld\n", ct.bid(0), ct.num_blocks(0))

    run(kernel, (1,), (torch.tensor([1.0, 0.5]),))
    assert capsys.readouterr().out == "tile [1.0, 0.5] [1.00, 0.50]\n0 of 1\n"
