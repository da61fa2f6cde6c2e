"""Sums as tensor cores make them, by the definition, in exact arithmetic."""

from fractions import Fraction
from math import floor, log2

import numpy as np
import pytest

from tutorlib.instruments.h200_sums import KEPT, add_exactly, exact_products, towards_zero
from tutorlib.simulate.ptx.opcodes.matrices import SUMS


def cut(value, unit):
    """A Fraction cut off, towards zero, to multiples of a unit."""
    whole = abs(value) // unit
    return (whole if value > 0 else -whole) * unit


def exponent(x):
    return floor(log2(abs(x)))


def by_definition(a, b, c):
    """One element: the sum of a[k]·b[k] and c."""
    terms = [(Fraction(x) * Fraction(y), exponent(x) + exponent(y)) for x, y in zip(a, b, strict=True) if x and y]
    terms += [(Fraction(c), exponent(c))] if c else []
    if not terms:
        return 0.0
    unit = Fraction(2) ** (max(place for _, place in terms) - KEPT)
    total = sum(cut(value, unit) for value, _ in terms)
    return float(cut(total, Fraction(2) ** (exponent(float(total)) - 23))) if total else 0.0


@pytest.mark.parametrize("span", [(-20, 4), (-70, -50), (40, 60), (-120, 60)])  # fp32 has all products of the first
@pytest.mark.parametrize(("bits", "k"), [(8, 16), (11, 8), (11, 16)])
def test_by_definition(bits, k, span):
    generator = np.random.default_rng(5)

    def draw(*shape, bits=bits):
        values = generator.integers(-(2**bits) + 1, 2**bits, shape) / 2.0**bits
        return np.ldexp(values * (generator.random(shape) < 0.8), generator.integers(*span, shape))

    a, b, c = draw(2, 6, k), draw(2, k, 5), draw(2, 6, 5, bits=24)
    a[0, 0] = c[0, 0] = 0
    got = add_exactly(a, b, c)
    for batch, row, column in np.ndindex(got.shape):
        assert got[batch, row, column] == by_definition(a[batch, row], b[batch, :, column], c[batch, row, column])


def test_the_largest_sum_of_one_instruction():
    most = np.full((1, 16, 16), 2 - 2.0**-10)
    c = np.full((1, 16, 16), 4 - 2.0**-22)
    assert add_exactly(most, most, c)[0, 0, 0] == by_definition(most[0, 0], most[0, 0], c[0, 0, 0])


def test_what_is_far_below_the_largest_is_lost():
    """Where rounding each product would take it along, the sum stays as it is."""
    a = np.full((1, 1, 2), 2.0**-13)
    b = np.full((1, 2, 1), 2.0**-13)
    assert add_exactly(a, b, np.ones((1, 1, 1))) == 1
    assert add_exactly(a, b * 4, -np.ones((1, 1, 1))) == np.float32(-1 + 2.0**-23)


def test_infinities_and_nans_go_through():
    one = np.ones((1, 1, 1))
    with np.errstate(invalid="ignore"):
        assert np.isinf(add_exactly(one * np.inf, one, one))
        assert np.isnan(add_exactly(one * np.inf, one * 0, one))


def test_towards_zero():
    values = np.array([1 + 2.0**-24, -1 - 2.0**-24, 1 + 2.0**-23, 0.0, np.inf])
    assert towards_zero(values).tolist() == [1, -1, 1 + 2.0**-23, 0, np.inf]


def test_sums_are_plain_unless_they_are_to_be_exact():
    """Four products of 2⁻²⁶ are lost beside 1 in the sum of an H200; a plain one, here in float64, has them."""
    a, b, c = np.full((1, 1, 4), 2.0**-13, np.float32), np.full((1, 4, 1), 2.0**-13, np.float32), np.ones((1, 1, 1))
    assert SUMS.get()("bf16", "bf16")(a, b, c) == 1 + 2.0**-24
    with exact_products():
        assert SUMS.get()("bf16", "bf16")(a, b, c) == 1
        assert SUMS.get()("e4m3", "e4m3")(a, b, c) == 1 + 2.0**-24  # of which no outputs were recorded
    assert SUMS.get()("bf16", "bf16")(a, b, c) == 1 + 2.0**-24
