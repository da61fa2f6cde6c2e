"""cvt against exact rounding, NumPy and torch."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from tests.simulate.ptx.snippets import execute, given
from tests.simulate.ptx.test_floats import floats, packed, rounded
from tutorlib.simulate.ptx.types import numpy_type


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
