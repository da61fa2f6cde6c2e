"""Integer opcodes against Python's own integers."""

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from tests.simulate.ptx.snippets import execute, given, kernel, launch
from tutorlib.simulate.ptx.types import bits_of, numpy_type

KINDS = ["u32", "s32", "u64", "s64", "u16", "s16"]


def range_of(kind):
    info = np.iinfo(numpy_type(kind))
    return int(info.min), int(info.max)


def numbers(kind, count=8):
    low, high = range_of(kind)
    edges = st.sampled_from([low, low + 1, -1 % (high + 1) if low == 0 else -1, 0, 1, 2, high - 1, high])
    return st.lists(st.one_of(st.integers(low, high), edges), min_size=count, max_size=count)


def cut(value, kind):
    """An integer modulo the type's range."""
    low, high = range_of(kind)
    return (value - low) % (high - low + 1) + low


def check(opcode, inputs, output, reference, constants=""):
    arrays = [(kind, np.array(values, numpy_type(kind))) for kind, values in inputs]
    got = execute(opcode, arrays, output, constants)
    want = [reference(*row) for row in zip(*(values for _, values in inputs), strict=True)]
    assert [int(x) for x in got] == want


BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_arithmetic_is_modular(name, kind, data):
    a, b = data.draw(numbers(kind)), data.draw(numbers(kind))
    check(f"{name}.{kind}", [(kind, a), (kind, b)], kind, lambda x, y: cut(BINARY[name](x, y), kind))


@given(numbers("s32"), numbers("s32"))
def test_the_extreme_and_zero(a, b):
    check("min.relu.s32", [("s32", a), ("s32", b)], "s32", lambda x, y: max(min(x, y), 0))
    check("max.relu.s32", [("s32", a), ("s32", b)], "s32", lambda x, y: max(x, y, 0))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_high_half_of_a_product(kind, data):
    a, b = data.draw(numbers(kind)), data.draw(numbers(kind))
    check(f"mul.hi.{kind}", [(kind, a), (kind, b)], kind, lambda x, y: cut((x * y) >> bits_of(kind), kind))


@pytest.mark.parametrize("kind", ["u32", "s32", "u16", "s16"])
@given(data=st.data())
def test_wide_products_and_sums(kind, data):
    wide = f"{kind[0]}{2 * bits_of(kind)}"
    a, b, c = data.draw(numbers(kind)), data.draw(numbers(kind)), data.draw(numbers(wide))
    check(f"mul.wide.{kind}", [(kind, a), (kind, b)], wide, lambda x, y: x * y)
    check(f"mad.wide.{kind}", [(kind, a), (kind, b), (wide, c)], wide, lambda x, y, z: cut(x * y + z, wide))
    d = data.draw(numbers(kind))
    check(f"mad.lo.{kind}", [(kind, a), (kind, b), (kind, d)], kind, lambda x, y, z: cut(x * y + z, kind))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_high_half_and_a_sum(kind, data):
    a, b, c = (data.draw(numbers(kind)) for _ in range(3))
    check(
        f"mad.hi.{kind}",
        [(kind, a), (kind, b), (kind, c)],
        kind,
        lambda x, y, z: cut((x * y >> bits_of(kind)) + z, kind),
    )


@given(numbers("u64"), numbers("u64"), numbers("s32"))
def test_selection_by_a_sign(a, b, c):
    check("slct.u64.s32", [("u64", a), ("u64", b), ("s32", c)], "u64", lambda x, y, z: x if z >= 0 else y)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_division_goes_towards_zero(kind, data):
    a, b = data.draw(numbers(kind)), data.draw(numbers(kind))
    b = [y or 1 for y in b]

    def quotient(x, y):
        return abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)

    check(f"div.{kind}", [(kind, a), (kind, b)], kind, lambda x, y: cut(quotient(x, y), kind))
    check(f"rem.{kind}", [(kind, a), (kind, b)], kind, lambda x, y: cut(x - quotient(x, y) * y, kind))


@pytest.mark.parametrize("kind", ["b16", "b32", "b64"])
@given(data=st.data())
def test_logic(kind, data):
    a, b = data.draw(numbers("u" + kind[1:])), data.draw(numbers("u" + kind[1:]))
    unsigned = "u" + kind[1:]
    for name, reference in {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}.items():
        check(f"{name}.{kind}", [(unsigned, a), (unsigned, b)], unsigned, reference)
    check(f"not.{kind}", [(unsigned, a)], unsigned, lambda x: cut(~x, unsigned))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), count=st.lists(st.integers(0, 80), min_size=8, max_size=8))
def test_shifts_beyond_the_width(kind, data, count):
    a = data.draw(numbers(kind))
    bits = bits_of(kind)
    check(f"shr.{kind}", [(kind, a), ("u32", count)], kind, lambda x, n: x >> min(n, bits))
    check(f"shl.b{bits}", [(kind, a), ("u32", count)], kind, lambda x, n: cut(x << n, kind) if n < bits else 0)


LOW = 0xFFFFFFFF


@given(numbers("u32"), numbers("u32"), st.lists(st.integers(0, 70), min_size=8, max_size=8))
def test_funnel_shifts(a, b, count):
    for mode, limit in (("wrap", lambda n: n & 31), ("clamp", lambda n: min(n, 32))):
        inputs = [("u32", a), ("u32", b), ("u32", count)]
        check(f"shf.r.{mode}.b32", inputs, "u32", lambda x, y, n, limit=limit: (y << 32 | x) >> limit(n) & LOW)
        check(f"shf.l.{mode}.b32", inputs, "u32", lambda x, y, n, limit=limit: (y << 32 | x) << limit(n) >> 32 & LOW)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
@given(data=st.data())
def test_bit_fields(kind, data):
    a = data.draw(numbers(kind))
    start = data.draw(st.lists(st.integers(0, 70), min_size=8, max_size=8))
    length = data.draw(st.lists(st.integers(0, 70), min_size=8, max_size=8))
    bits = bits_of(kind)

    def field(x, p, n):
        """PTX ISA, 9.7.1.19"""
        sign = 0 if kind[0] == "u" or n == 0 else x >> min(p + n - 1, bits - 1) & 1
        value = sum(((x >> (p + i) & 1) if i < n and p + i < bits else sign) << i for i in range(bits))
        return cut(value, kind)

    check(f"bfe.{kind}", [(kind, a), ("u32", start), ("u32", length)], kind, field)


@given(numbers("u32"), numbers("u32"), *(st.lists(st.integers(0, 40), min_size=8, max_size=8) for _ in range(2)))
def test_bit_field_insertion(a, b, start, length):
    def insert(x, y, p, n):
        """PTX ISA, 9.7.1.20"""
        for i in range(n):
            if p + i < 32:
                bit = x >> i & 1 if i < 32 else 0
                y = y & ~(1 << p + i) | bit << p + i
        return y

    check("bfi.b32", [("u32", a), ("u32", b), ("u32", start), ("u32", length)], "u32", insert)


@given(numbers("u32"), numbers("s32"))
def test_counting_bits(a, signed):
    check("popc.b32", [("u32", a)], "u32", lambda x: x.bit_count())
    check("clz.b32", [("u32", a)], "u32", lambda x: 32 - x.bit_length())
    check("brev.b32", [("u32", a)], "u32", lambda x: int(f"{x:032b}"[::-1], 2))
    check("bfind.u32", [("u32", a)], "u32", lambda x: (x.bit_length() - 1) % 2**32)
    check("bfind.s32", [("s32", signed)], "u32", lambda x: ((~x if x < 0 else x).bit_length() - 1) % 2**32)


PLACES = st.lists(st.integers(0, 40), min_size=32, max_size=32).map(lambda values: np.array(values, np.uint32))


@given(PLACES, PLACES)
def test_masks(start, length):
    def ones(start, length):
        return sum(1 << i for i in range(32) if start <= i < start + length)

    check("bmsk.clamp.b32", [("u32", start), ("u32", length)], "u32", ones)
    check("bmsk.wrap.b32", [("u32", start), ("u32", length)], "u32", lambda s, n: ones(s % 32, n % 32))


@given(numbers("u32"), numbers("u32"), numbers("u32"))
def test_bytes_are_permuted_as_the_selector_says(a, b, selector):
    def permute(x, y, s):
        source = [x >> 8 * i & 255 for i in range(4)] + [y >> 8 * i & 255 for i in range(4)]
        result = 0
        for place in range(4):
            nibble = s >> 4 * place & 15
            byte = source[nibble & 7]
            if nibble & 8:
                byte = 255 if byte & 128 else 0
            result |= byte << 8 * place
        return result

    check("prmt.b32", [("u32", a), ("u32", b), ("u32", selector)], "u32", permute)


@given(numbers("u32"), numbers("u32"), numbers("u32"), st.integers(0, 255))
def test_any_function_of_three_bits(a, b, c, table):
    def function(x, y, z):
        return sum((table >> ((x >> i & 1) << 2 | (y >> i & 1) << 1 | z >> i & 1) & 1) << i for i in range(32))

    check("lop3.b32", [("u32", a), ("u32", b), ("u32", c)], "u32", function, str(table))


@given(numbers("s32"), numbers("s32"))
def test_saturation(a, b):
    clamp = lambda x: max(min(x, 2**31 - 1), -(2**31))  # noqa: E731
    check("add.sat.s32", [("s32", a), ("s32", b)], "s32", lambda x, y: clamp(x + y))
    check("sub.sat.s32", [("s32", a), ("s32", b)], "s32", lambda x, y: clamp(x - y))


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
@given(data=st.data())
def test_comparisons_and_selection(kind, data):
    a, b = data.draw(numbers(kind)), data.draw(numbers(kind))
    compare = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}
    for name, method in compare.items():
        check(f"setp.{name}.{kind}", [(kind, a), (kind, b)], "pred", lambda x, y, m=method: int(getattr(x, m)(y)))
    check(f"abs.{kind}" if kind[0] == "s" else f"cnot.b{kind[1:]}", [(kind, a)], kind,
          (lambda x: cut(abs(x), kind)) if kind[0] == "s" else (lambda x: int(x == 0)))  # fmt: skip


@given(numbers("u32"), numbers("u32"), numbers("s32"))
def test_dot_products_of_bytes(a, b, c):
    def dot(x, y, z):
        signed = lambda n: (n + 128) % 256 - 128  # noqa: E731
        return cut(z + sum(signed(x >> 8 * i & 255) * (y >> 8 * i & 255) for i in range(4)), "s32")

    check("dp4a.s32.u32", [("u32", a), ("u32", b), ("s32", c)], "s32", dot)


def test_a_vector_of_registers_in_inline_assembly():
    """As QuACK declares one."""
    body = """{ .reg .v4 .s32 abcd; mov.s32 abcd.x, {%tid_x}; mov.s32 abcd.y, 1; mov.s32 abcd.z, 2; mov.s32 abcd.w, 3;
    mul.wide.u32 %rd0, %tid_x, 16; add.s64 %rd0, %rd_out, %rd0; st.global.v4.s32 [%rd0], abcd; }"""
    out = torch.zeros(32, 4, dtype=torch.int32)
    launch(kernel(body, ["out"]), {"out": out})
    assert out.tolist() == [[lane, 1, 2, 3] for lane in range(32)]
