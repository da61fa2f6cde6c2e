"""The interpreter's reductions and scans against torch."""

import math

import cuda.tile as ct
import pytest
import torch

from tests.simulate.cutile.tensors import out, randn
from tutorlib.simulate.cutile import run


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_reductions(name, axis):
    x = randn(8, 16)
    f, shape = getattr(ct, name), {0: (1, 16), 1: (8, 1), None: (1, 1)}[axis]

    @ct.kernel
    def kernel(x, z):
        ct.store(z, (0, 0), f(ct.load(x, (0, 0), (8, 16)), axis, keepdims=True))

    reference = {"max": torch.amax, "min": torch.amin}.get(name) or getattr(torch, name)
    want = reference(x) if axis is None else reference(x, axis)
    z = torch.zeros(shape, dtype=torch.int32 if name.startswith("arg") else torch.float32)
    run(kernel, (1,), (x, z))
    torch.testing.assert_close(z, want.reshape(shape).to(z.dtype))


def test_the_largest_of_numbers_and_nan_is_a_number():
    x, z = torch.tensor([1.0, math.nan, 3.0, math.nan]), out(2)

    @ct.kernel
    def kernel(x, z):
        tile = ct.load(x, (0,), (4,))
        ct.store(z, (0,), ct.max(tile))
        ct.store(z, (1,), ct.max(tile, propagate_nan=True))

    run(kernel, (1,), (x, z))
    assert z[0] == 3
    assert z[1].isnan()


@pytest.mark.parametrize(
    ("f", "propagate", "want"),
    [
        ("argmax", False, [1, 1, 0, 1]),
        ("argmax", True, [1, 2, 0, 0]),
        ("argmin", False, [0, 3, 0, 1]),
        ("argmin", True, [0, 2, 0, 0]),
    ],
)
def test_the_place_of_the_extreme_value_among_nan(f, propagate, want):
    nan, inf = math.nan, math.inf
    x = torch.tensor([[1.0, inf, 3.0, 2.0], [1.0, inf, nan, -inf], [nan, nan, nan, nan], [nan, -inf, nan, -inf]])
    z, function = torch.zeros(4, dtype=torch.int32), getattr(ct, f)

    @ct.kernel
    def kernel(x, z):
        ct.store(z, (0,), function(ct.load(x, (0, 0), (4, 4)), 1, propagate_nan=propagate))

    run(kernel, (1,), (x, z))
    assert z.tolist() == want


@pytest.mark.parametrize("reverse", [False, True])
def test_scans(reverse):
    x, sums, largest = randn(8, 16), out(8, 16), out(8, 16)

    @ct.kernel
    def kernel(x, sums, largest):
        tile = ct.load(x, (0, 0), (8, 16))
        ct.store(sums, (0, 0), ct.cumsum(tile, 1, reverse=reverse))
        ct.store(largest, (0, 0), ct.scan(tile, 1, lambda a, b: ct.maximum(a, b), -math.inf, reverse=reverse))

    run(kernel, (1,), (x, sums, largest))
    turned = x.flip(1) if reverse else x
    want = turned.cumsum(1), turned.cummax(1).values
    for got, wanted in zip((sums, largest), want, strict=True):
        torch.testing.assert_close(got, wanted.flip(1) if reverse else wanted)


def test_a_reduction_by_the_readers_own_function():
    """Welford's: the pair (sum, sum of squares) of a row in one pass."""
    x, z = randn(8, 16), out(8, 2)

    @ct.kernel
    def kernel(x, z):
        tile = ct.load(x, (0, 0), (8, 16))
        total, squares = ct.reduce((tile, tile * tile), 1, lambda a, b, c, d: (a + c, b + d), (0.0, 0.0))
        ct.store(z, (0, 0), ct.cat((total[:, None], squares[:, None]), 1))

    run(kernel, (1,), (x, z))
    torch.testing.assert_close(z, torch.stack([x.sum(1), (x * x).sum(1)], 1))
