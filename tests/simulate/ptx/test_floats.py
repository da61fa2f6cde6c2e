"""Floating-point opcodes against exact rational arithmetic, rounded once, and against NumPy and torch."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from tests.simulate.ptx.snippets import execute, given
from tutorlib.simulate.ptx.findings import NotSimulated

FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "tf32": (11, -126, 127), "f32": (24, -126, 127),
           "f64": (53, -1022, 1023)}  # fmt: skip  # bits of the significand, smallest and largest exponent


def rounded(value, kind, towards_zero=False):
    """A Fraction rounded to a format, to the nearest, ties to even; infinity where it is too large."""
    bits, smallest, largest = FORMATS[kind]
    if value == 0:
        return 0.0
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    exponent = max(exponent if Fraction(2) ** exponent <= abs(value) else exponent - 1, smallest)
    step = Fraction(2) ** (exponent - bits + 1)
    count = value / step
    whole = math.trunc(count) if towards_zero else round(count)  # Python rounds ties to even
    result = Fraction(whole * step)
    limit = (2 - Fraction(2) ** (1 - bits)) * Fraction(2) ** largest
    if abs(result) > limit:
        return math.inf if result > 0 else -math.inf
    return float(result)


def floats(width, count=8):
    """Of a width in bits; subnormal numbers and neighboring exponents among them."""
    if width == 16:  # the finite ones by their bits: the first 0x7C00 patterns, and the same with a sign
        patterns = st.integers(0, 2 * 0x7C00 - 1).map(lambda n: n if n < 0x7C00 else n - 0x7C00 + 0x8000)
        halves = patterns.map(lambda n: float(np.array([n], np.uint16).view(np.float16)[0]))
        return st.lists(halves, min_size=count, max_size=count)
    plain = st.floats(width=width, allow_nan=False, allow_infinity=False)
    near = st.integers(-40, 40).map(lambda n: float(np.ldexp(1.0, n)))
    return st.lists(st.one_of(plain, near, st.floats(-4, 4, width=width)), min_size=count, max_size=count)


DTYPE = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


def check(opcode, kind, values, reference):
    arrays = [(kind, np.array(v, DTYPE[kind])) for v in values]
    got = execute(opcode, arrays, kind)
    want = [reference(*map(Fraction, map(float, row))) for row in zip(*(a for _, a in arrays), strict=True)]
    assert got.astype(float).tolist() == pytest.approx(want, rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize("kind", ["f32", "f64", "f16"])
@given(data=st.data())
def test_sums_products_and_fused_are_rounded_once(kind, data):
    a, b, c = (data.draw(floats(int(kind[1:]))) for _ in range(3))
    check(f"add.rn.{kind}", kind, [a, b], lambda x, y: rounded(x + y, kind))
    check(f"sub.rn.{kind}", kind, [a, b], lambda x, y: rounded(x - y, kind))
    check(f"mul.rn.{kind}", kind, [a, b], lambda x, y: rounded(x * y, kind))
    if kind != "f64":
        check(f"fma.rn.{kind}", kind, [a, b, c], lambda x, y, z: rounded(x * y + z, kind))


@given(data=st.data())
def test_sums_and_products_towards_zero(data):
    a, b = (data.draw(floats(32)) for _ in range(2))
    for name, exact in {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}.items():
        small = [(x, y) for x, y in zip(a, b, strict=True) if abs(exact(Fraction(x), Fraction(y))) < 2**127]
        if small:
            check(f"{name}.rz.f32", "f32", list(zip(*small, strict=True)),
                  lambda x, y, exact=exact: rounded(exact(x, y), "f32", towards_zero=True))  # fmt: skip


@pytest.mark.parametrize(("direction", "choose"), [("rm", min), ("rp", max), ("rz", lambda *x: min(x, key=abs))])
def test_a_fused_sum_rounded_in_one_direction(direction, choose):
    generator = np.random.default_rng(3)
    a, b, c = (generator.standard_normal(64).astype(np.float32) for _ in range(3))
    got = execute(f"fma.{direction}.f32", [("f32", x) for x in (a, b, c)], "f32")
    for result, x, y, z in zip(got, a, b, c, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        near = np.float32(rounded(exact, "f32"))
        other = np.nextafter(near, np.float32(np.inf if Fraction(float(near)) < exact else -np.inf))
        assert result == (near if Fraction(float(near)) == exact else choose(near, other))


def test_a_fused_sum_that_rounds_twice_in_float64():
    """1 + 2^-24 (a tie of fp32) + 2^-70, which float64 loses: rounding twice would give 1."""
    a, b, c = np.float32(2.0**-30), np.float32(2.0**-40), np.float32(1.0)
    tie = execute(
        "fma.rn.f32", [("f32", np.array([x])) for x in (np.float32(1 + 2**-12), np.float32(2.0**-12), c)], "f32"
    )
    assert float(tie[0]) == rounded(Fraction(1 + 2**-12) * Fraction(2.0**-12) + 1, "f32")
    assert float(execute("fma.rn.f32", [("f32", np.array([x])) for x in (a, b, c)], "f32")[0]) == 1.0


@given(floats(32), floats(32))
def test_division_and_roots(a, b):
    b = [y or 1.0 for y in b]
    check("div.rn.f32", "f32", [a, b], lambda x, y: rounded(x / y, "f32"))
    roots = [abs(x) for x in a]
    got = execute("sqrt.rn.f32", [("f32", np.array(roots, np.float32))], "f32")
    assert got.tolist() == np.sqrt(np.array(roots, np.float32)).tolist()


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@given(data=st.data())
def test_pairs_of_halves(name, data):
    low, high = (np.array(data.draw(floats(16)), np.float16) for _ in range(2))
    low_2, high_2 = (np.array(data.draw(floats(16)), np.float16) for _ in range(2))
    got = execute(f"{name}.f16x2", [("b32", packed(low, high)), ("b32", packed(low_2, high_2))], "b32")
    ufunc = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name]
    with np.errstate(all="ignore"):
        want = packed(ufunc(low, low_2), ufunc(high, high_2))
    assert got.tolist() == want.tolist()


def packed(low, high):
    return np.stack([low, high], 1).copy().view(np.uint32)[:, 0]


@pytest.mark.parametrize("name", ["add.f32x2", "sub.rn.f32x2", "mul.f32x2", "fma.rn.f32x2", "fma.rn.ftz.f32x2"])
@given(data=st.data())
def test_pairs_of_floats(name, data):
    count = 3 if name.startswith("fma") else 2
    low, high = ([np.array(data.draw(floats(32)), np.float32) for _ in range(count)] for _ in range(2))
    pairs = [np.stack(each, 1).copy().view(np.uint64)[:, 0] for each in zip(low, high, strict=True)]
    got = execute(name, [("b64", pair) for pair in pairs], "b64").view(np.float32).reshape(-1, 2)
    for values, results in ((low, got[:, 0]), (high, got[:, 1])):
        want = execute(name.replace("x2", ""), [("f32", value) for value in values], "f32")
        assert results.tobytes() == want.tobytes()


@given(floats(16), floats(16), floats(32))
def test_halves_with_floats(a, b, c):
    a, b, c = np.array(a, np.float16), np.array(b, np.float16), np.array(c, np.float32)
    with np.errstate(all="ignore"):
        assert execute("add.rn.f32.f16", [("f16", a), ("f32", c)], "f32").tolist() == (a + c).tolist()
        assert execute("sub.rn.f32.f16", [("f16", a), ("f32", c)], "f32").tolist() == (a - c).tolist()
    fused = [
        rounded(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)), "f32")
        for x, y, z in zip(a, b, c, strict=True)
    ]
    assert execute("fma.rn.f32.f16", [("f16", a), ("f16", b), ("f32", c)], "f32").tolist() == fused


@given(floats(32), floats(32), floats(32))
def test_bf16_arithmetic_is_torchs(a, b, c):
    values = [torch.tensor(v, dtype=torch.float32).bfloat16() for v in (a, b, c)]
    bits = [v.view(torch.int16).numpy().view(np.uint16) for v in values]
    exact = [[Fraction(float(x)) if math.isfinite(x) else None for x in v] for v in values]
    if any(x is None for row in exact for x in row):
        return
    got = execute("fma.rn.bf16", [("b16", x) for x in bits], "b16")
    want = [rounded(x * y + z, "bf16") for x, y, z in zip(*exact, strict=True)]
    assert torch.from_numpy(got.view(np.int16)).view(torch.bfloat16).float().tolist() == want


def test_minimum_and_maximum_of_nan_and_zeros():
    nan = np.float32(np.nan)
    a = np.array([nan, 1, -0.0, 0.0], np.float32)
    b = np.array([2, nan, 0.0, -0.0], np.float32)
    low, high = (execute(f"{name}.f32", [("f32", a), ("f32", b)], "f32") for name in ("min", "max"))
    assert low.tolist()[:2] == [2, 1]
    assert np.signbit(low[2:]).tolist() == [True, True]
    assert np.signbit(high[2:]).tolist() == [False, False]
    assert np.isnan(execute("max.NaN.f32", [("f32", a), ("f32", b)], "f32")[:2]).all()


def test_ordered_and_unordered_comparisons():
    a, b = np.array([1, np.nan, 2], np.float32), np.array([2, 1, 2], np.float32)
    for name, want in {"lt": [1, 0, 0], "ltu": [1, 1, 0], "eq": [0, 0, 1], "neu": [1, 1, 0], "ne": [1, 0, 0],
                       "num": [1, 0, 1], "nan": [0, 1, 0]}.items():  # fmt: skip
        assert execute(f"setp.{name}.f32", [("f32", a), ("f32", b)], "pred").tolist() == want


def test_pairs_compared_to_numbers():
    a, b = np.array([[1, 2], [2, 2], [np.nan, 0]], np.float16), np.array([[2, 1], [2, 3], [1, -0.0]], np.float16)
    for name, ufunc in {"lt": np.less, "eq": np.equal}.items():
        got = execute(f"set.{name}.f16x2.f16x2", [("b32", packed(*x.T)) for x in (a, b)], "b32")
        assert got.view(np.float16).reshape(-1, 2).tolist() == ufunc(a, b).astype(float).tolist()


@pytest.mark.parametrize(("opcode", "to"), [("setp.lt.f16x2", "pred"), ("add.u16x2", "b32"), ("min.s16x2", "b32")])
def test_pairs_that_are_not_simulated(opcode, to):
    ones = np.ones(4, np.uint32)
    with pytest.raises(NotSimulated, match=opcode):
        execute(opcode, [("b32", ones), ("b32", ones)], to)


@given(floats(32))
def test_flushing_subnormal_numbers(a):
    tiny = np.array([x * 2.0**-140 for x in a], np.float32)
    one = np.ones(8, np.float32)
    got = execute("mul.ftz.f32", [("f32", tiny), ("f32", one)], "f32")
    assert not ((got != 0) & (np.abs(got) < 2.0**-126)).any()


@given(floats(32))
def test_approximations_are_near(a):
    x = np.clip(np.array(a, np.float32), -50, 50)
    positive = np.abs(x) + np.float32(1e-3)
    for opcode, argument, reference in [
        ("ex2.approx.f32", x, np.exp2),
        ("lg2.approx.f32", positive, np.log2),
        ("rcp.approx.f32", positive, np.reciprocal),
        ("rsqrt.approx.f32", positive, lambda v: 1 / np.sqrt(v)),
        ("tanh.approx.f32", x, np.tanh),
        ("sin.approx.f32", x, np.sin),
    ]:
        got = execute(opcode, [("f32", argument)], "f32")
        assert np.allclose(got, reference(argument.astype(np.float64)), rtol=1e-6, atol=1e-7)
