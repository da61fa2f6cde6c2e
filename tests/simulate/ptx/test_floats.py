"""Floating-point arithmetic, and numbers from one type to another, against NumPy and torch."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example
from hypothesis import strategies as st

from tests.simulate.ptx.snippets import execute, given
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.types import numpy_type

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
@example([2.0**-126] * 8, [2.0**-126, -(2.0**-126)] * 4, [0.0] * 8)  # the product underflows, in fp32, too
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


def bf16(values):
    return torch.tensor(np.asarray(values, np.float32)).bfloat16().view(torch.int16).numpy().view(np.uint16)


def from_bf16(bits):
    return torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16).float().numpy()


@given(floats(32), floats(32))
def test_two_floats_to_a_pair_of_bf16(a, b):
    """The first operand goes to the upper half."""
    got = execute("cvt.rn.bf16x2.f32", [("f32", np.array(a, np.float32)), ("f32", np.array(b, np.float32))], "b32")
    assert got.tolist() == packed(bf16(b), bf16(a)).tolist()


@given(floats(32), floats(32))
def test_two_floats_to_a_pair_of_halves(a, b):
    a, b = np.array(a, np.float32), np.array(b, np.float32)
    got = execute("cvt.rn.f16x2.f32", [("f32", a), ("f32", b)], "b32")
    with np.errstate(over="ignore"):
        assert got.tolist() == packed(b.astype(np.float16), a.astype(np.float16)).tolist()


@given(floats(32))
def test_rounding_to_shorter_floats(a):
    values = np.array(a, np.float32)
    exact = [Fraction(float(x)) for x in values]
    for kind, opcode, towards_zero in [("bf16", "cvt.rn.bf16.f32", False), ("bf16", "cvt.rz.bf16.f32", True)]:
        got = from_bf16(execute(opcode, [("f32", values)], "b16"))
        want = [rounded(x, kind, towards_zero) for x in exact]
        assert [g for g, w in zip(got.tolist(), want, strict=True) if math.isfinite(w)] == [
            w for w in want if math.isfinite(w)
        ]
    half = execute("cvt.rn.f16.f32", [("f32", values)], "f16")
    assert half.astype(float).tolist() == [rounded(x, "f16") for x in exact]


@given(floats(32))
def test_tf32_rounds_ties_away_from_zero(a):
    values = np.array(a, np.float32)
    values = values[np.abs(values) < 1e30]
    values = values[np.abs(values) > 1e-30]
    ties = np.array([1 + 2.0**-11, -1 - 2.0**-11, 1 + 3 * 2.0**-11], np.float32)
    values = np.concatenate([values, ties])
    got = execute("cvt.rna.tf32.f32", [("f32", values)], "b32").view(np.float32)

    def away(value):
        step = Fraction(2) ** (math.frexp(abs(value))[1] - 11)
        count = abs(value) / step
        return math.copysign(float(math.floor(count + Fraction(1, 2)) * step), value)

    assert got.tolist() == [away(Fraction(float(x))) for x in values]
    even = execute("cvt.rn.tf32.f32", [("f32", values)], "b32").view(np.float32)
    assert even.tolist() == [rounded(Fraction(float(x)), "tf32") for x in values]


def test_nan_becomes_the_nan_of_the_type():
    nan = np.array([np.nan], np.float32)
    assert execute("cvt.rn.bf16.f32", [("f32", nan)], "b16").tolist() == [0x7FFF]
    assert execute("cvt.rni.s32.f32", [("f32", nan)], "s32").tolist() == [0]


@pytest.mark.parametrize("kind", ["s32", "u32", "s16", "u16", "s64", "u64"])
@given(values=floats(32))
def test_to_integers_with_clamping(kind, values):
    given_values = np.array(values, np.float32)
    low, high = np.iinfo(numpy_type(kind)).min, np.iinfo(numpy_type(kind)).max
    rounding = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    for name, function in rounding.items():
        got = execute(f"cvt.{name}.{kind}.f32", [("f32", given_values)], kind)
        want = [min(max(function(Fraction(float(x))), int(low)), int(high)) for x in given_values]
        assert [int(x) for x in got] == want


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=8, max_size=8))
def test_from_integers(values):
    wide = np.array(values, np.int64)
    got = execute("cvt.rn.f32.s64", [("s64", wide)], "f32")
    assert got.astype(float).tolist() == [rounded(Fraction(int(x)), "f32") for x in wide]
    narrow = wide.astype(np.int32)
    got = execute("cvt.rn.f64.s32", [("s32", narrow)], "f64")
    assert got.tolist() == narrow.astype(float).tolist()


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=8, max_size=8))
def test_between_integers(values):
    a = np.array(values, np.int32)
    assert execute("cvt.s64.s32", [("s32", a)], "s64").tolist() == a.tolist()
    assert execute("cvt.u64.u32", [("u32", a.view(np.uint32))], "u64").tolist() == a.view(np.uint32).tolist()
    assert execute("cvt.s32.s8", [("s32", a)], "s32").tolist() == a.astype(np.int8).tolist()
    assert execute("cvt.sat.u8.s32", [("s32", a)], "u32").tolist() == np.clip(a, 0, 255).tolist()
    assert execute("cvt.u16.u32", [("u32", a.view(np.uint32))], "u16").tolist() == a.astype(np.uint16).tolist()


@given(floats(32), floats(32))
def test_fp8_is_torchs(a, b):
    low, high = (np.clip(np.array(v, np.float32), -400, 400) for v in (a, b))
    for kind, dtype in (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)):
        got = execute(f"cvt.rn.satfinite.{kind}x2.f32", [("f32", high), ("f32", low)], "b16")
        halves = [torch.tensor(v).to(dtype).view(torch.uint8).numpy() for v in (low, high)]
        want = halves[0].astype(np.uint16) | halves[1].astype(np.uint16) << 8
        assert got.tolist() == want.tolist()
        back = execute(f"cvt.rn.f16x2.{kind}x2", [("b16", got)], "b32")
        floats_back = [torch.from_numpy(h).view(dtype).to(torch.float16).numpy() for h in halves]
        assert back.tolist() == packed(*floats_back).tolist()


# Floats of at most 6 bits, whose patterns are a torch type's without a few bits: bits, that type, shift, factor.
SMALL = {
    "e2m3": (6, torch.float8_e4m3fn, 0, 2.0**6),
    "e3m2": (6, torch.float8_e5m2, 0, 2.0**12),
    "e2m1": (4, torch.float8_e4m3fn, 2, 2.0**6),
}


def values_of(kind):
    """Of the patterns without a sign."""
    bits, like, shift, factor = SMALL[kind]
    return (torch.arange(1 << bits - 1, dtype=torch.uint8) << shift).view(like).float().numpy() * factor


@pytest.mark.parametrize("kind", SMALL)
@given(values=floats(32))
def test_rounding_to_at_most_6_bits(kind, values):
    """To the nearest number, ties to the even pattern, clamped to the largest; the first operand to the upper half."""
    exact, bits = values_of(kind), SMALL[kind][0]
    ties = (exact[1:] + exact[:-1]) / 2
    high = np.concatenate([np.array(values, np.float32), -exact, ties, [np.nan]]).astype(np.float32)
    low = high[::-1].copy()
    got = execute(f"cvt.rn.satfinite.{kind}x2.f32", [("f32", high), ("f32", low)], "b8" if bits == 4 else "b16")

    def pattern(value):
        size = min(abs(float(value)), float(exact[-1])) if value == value else float(exact[-1])
        nearest = min(range(len(exact)), key=lambda n: (abs(exact[n] - size), n % 2))
        return nearest | (value == value and math.copysign(1, value) < 0) << bits - 1

    half = 4 if bits == 4 else 8
    assert got.tolist() == [pattern(one) << half | pattern(other) for one, other in zip(high, low, strict=True)]
    back = execute(f"cvt.rn.f16x2.{kind}x2", [("b8" if half == 4 else "b16", got)], "b32")
    signed = np.concatenate([exact, -exact]).astype(np.float16)
    assert back.tolist() == packed(*(signed[got >> shift & (1 << bits) - 1] for shift in (0, half))).tolist()


def test_scales_of_eight_bits_of_exponent():
    """ue8m0, up or towards zero, and torch's float8_e8m0fnu back."""
    exponents = np.arange(-126, 127)
    values = np.ldexp(1 + np.linspace(0, 0.99, len(exponents)), exponents).astype(np.float32)
    for mode, away in (("rp", np.ceil), ("rz", np.floor)):
        got = execute(f"cvt.{mode}.satfinite.ue8m0x2.f32", [("f32", values), ("f32", values)], "b16")
        want = away(np.log2(values.astype(np.float64))).astype(int) + 127
        assert got.tolist() == (want << 8 | want).tolist()
    patterns = np.arange(256, dtype=np.uint16)
    back = execute("cvt.rn.bf16x2.ue8m0x2", [("b16", patterns << 8 | patterns)], "b32")
    want = torch.from_numpy(patterns.astype(np.uint8)).view(torch.float8_e8m0fnu).bfloat16().view(torch.int16)
    bits = want.numpy().view(np.uint16).astype(np.uint32)
    known = patterns < 255
    assert (back[known] == (bits << 16 | bits)[known]).all()
    assert np.isnan(from_bf16((back[255:] & 0xFFFF).astype(np.uint16))).all()
