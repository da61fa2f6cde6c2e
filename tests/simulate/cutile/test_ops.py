"""The interpreter's operations, reductions and functions against torch, and its types against cuTile's own compiler."""

import itertools
import math

import cuda.tile as ct
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gpu.test_cutile import kernels
from tutorlib.simulate.cutile import run
from tutorlib.simulate.cutile.dtypes import dtype_of, round_tf32
from tutorlib.simulate.cutile.ops import astype, full
from tutorlib.simulate.cutile.tile import binary


def randn(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def out(*shape, dtype=torch.float32):
    return torch.full(shape, math.nan).to(dtype)


FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def add(a, b):
    return a + b


def sub(a, b):
    return a - b


def mul(a, b):
    return a * b


def div(a, b):
    return a / b


def floor_div(a, b):
    return a // b


def mod(a, b):
    return a % b


def smaller(a, b):
    return ct.minimum(a, b)


def larger(a, b):
    return max(a, b)


ARITHMETIC = {
    add: torch.add,
    sub: torch.sub,
    mul: torch.mul,
    div: torch.true_divide,
    floor_div: lambda a, b: torch.floor(a / b) if a.is_floating_point() else a // b,
    mod: torch.remainder,
    smaller: torch.minimum,
    larger: torch.maximum,
}


@pytest.mark.parametrize("f", ARITHMETIC, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32], ids=str)
def test_arithmetic(f, dtype):
    x = (randn(8, 16) * 9).to(dtype)
    y = (randn(8, 16).abs() * 9 + 1).to(dtype) * torch.tensor([1, -1] * 8).to(dtype)
    want = ARITHMETIC[f](x, y)
    z = torch.zeros_like(want)
    run(run_of(f), (1,), (x, y, z))
    torch.testing.assert_close(z, want)


def run_of(f, tx=(8, 16), ty=(8, 16), tz=(8, 16)):
    """A kernel that stores f of two tiles."""
    ix, iy, iz = ((0,) * len(shape) for shape in (tx, ty, tz))

    @ct.kernel
    def kernel(x, y, z):
        ct.store(z, iz, f(ct.load(x, ix, tx), ct.load(y, iy, ty)))

    return kernel


powers = st.sampled_from([1, 2, 4])


@settings(max_examples=40)
@given(st.lists(powers, min_size=1, max_size=3), st.lists(powers, min_size=1, max_size=3))
def test_broadcasting_is_torchs(shape_x, shape_y):
    x, y = randn(*shape_x), randn(*shape_y)
    try:
        want = x + y
    except RuntimeError:
        with pytest.raises(ct.TileError, match="not broadcastable"):
            run(run_of(add, tuple(shape_x), tuple(shape_y), (1,)), (1,), (x, y, out(1)))
        return
    z = torch.zeros_like(want)
    run(run_of(add, tuple(shape_x), tuple(shape_y), tuple(want.shape)), (1,), (x, y, z))
    assert torch.equal(z, want)


DTYPES = [getattr(ct, name) for name in ["bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]]
DTYPES += [ct.float16, ct.bfloat16, ct.float32, ct.float64]


@pytest.mark.parametrize(("f", "forces_float"), [(add, False), (div, True)])
def test_promotion_is_the_compilers(f, forces_float):
    """For every pair of dtypes, and a dtype with a constant: the compiler refuses it or types it as we do."""

    accepted = 0
    for x, y in itertools.product(DTYPES, [*DTYPES, 2, 2.5, 2**40]):
        other = full((2,), 1, y) if isinstance(y, ct.DType) else y
        ours = f(full((2,), 0, x), other).dtype
        try:
            run(kernel_that_asserts(f, x, y, ours), (1,), ())
            accepted += 1
        except ct.TileStaticAssertionError as error:
            pytest.fail(f"{x} {f.__name__} {y}: not {ours}: {error}")
        except (ct.TileTypeError, ct.TileValueError):
            pass  # refused: mixed signs, float16 with bfloat16, a constant out of range
    assert accepted > 90


def kernel_that_asserts(f, x, y, dtype):
    """A kernel that compiles when f of a tile of dtype x and of y, a dtype or a constant, has this dtype."""
    y_is_dtype = isinstance(y, ct.DType)

    @ct.kernel
    def kernel():
        result = f(ct.zeros((2,), x), ct.ones((2,), y) if ct.static_eval(y_is_dtype) else y)
        ct.static_assert(result.dtype == dtype)

    return kernel


def unary_kernel(f):
    @ct.kernel
    def kernel(x, z):
        ct.store(z, (0, 0), f(ct.load(x, (0, 0), (8, 16))))

    return kernel


UNARY = ["exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"]
UNARY += ["floor", "ceil", "abs"]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_elementwise_functions(name, dtype):
    f = getattr(ct, name)
    x = (randn(8, 16).abs() + 0.1).to(dtype)
    z = torch.zeros_like(x)
    run(unary_kernel(f), (1,), (x, z))
    torch.testing.assert_close(z, getattr(torch, name)(x))


def test_integers_become_float32_in_float_functions():
    x, z = torch.arange(128, dtype=torch.int32).reshape(8, 16), out(8, 16)
    run(unary_kernel(ct.sqrt), (1,), (x, z))
    torch.testing.assert_close(z, x.sqrt())


def test_shapes():
    x, z = randn(4, 8, 2), out(2, 8, 4)

    @ct.kernel
    def kernel(x, z):
        tile = ct.load(x, (0, 0, 0), (4, 8, 2))
        there = ct.permute(tile, (2, 1, 0)).reshape((16, 4)).transpose().reshape((4, 2, 8))
        ct.store(z, (0, 0, 0), ct.transpose(ct.transpose(there, 0, 1), 1, 2))

    run(kernel, (1,), (x, z))
    assert torch.equal(z, x.permute(2, 1, 0))


def test_extract_broadcast_expand_cat():
    x, z = randn(4, 4), out(4, 4)

    @ct.kernel
    def kernel(x, z):
        tile = ct.load(x, (0, 0), (4, 2))
        corner = ct.extract(tile, (1, 0), (2, 2))
        row = ct.broadcast_to(ct.expand_dims(ct.arange(2, dtype=ct.float32), 0), (2, 2))
        ct.store(z, (0, 0), ct.cat((tile, ct.cat((corner, corner + row), 0)), 1))

    run(kernel, (1,), (x, z))
    corner = x[2:, :2]
    want = torch.cat((x[:, :2], torch.cat((corner, corner + torch.tensor([0.0, 1.0])))), 1)
    assert torch.equal(z, want)


def test_where_and_masks():
    x, z = randn(16), out(16)

    @ct.kernel
    def kernel(x, z):
        tile = ct.load(x, (0,), (16,))
        even = (ct.arange(16, dtype=ct.int32) & 1) == 0
        ct.store(z, (0,), ct.where(even & ~(tile < 0), tile, -1.0))

    run(kernel, (1,), (x, z))
    assert torch.equal(z, torch.where((torch.arange(16) % 2 == 0) & (x >= 0), x, -1.0))


def mma_kernel(dtype, acc_dtype):
    @ct.kernel
    def kernel(a, b, c):
        x, y = ct.load(a, (0, 0), (16, 32)).astype(dtype), ct.load(b, (0, 0), (32, 8)).astype(dtype)
        ct.store(c, (0, 0), ct.mma(x, y, ct.full((16, 8), 1, acc_dtype)))

    return kernel


@pytest.mark.parametrize(
    ("dtype", "rounded"),
    [
        (ct.float16, lambda t: t.half()),
        (ct.bfloat16, lambda t: t.bfloat16()),
        (ct.float32, lambda t: t),
        (ct.tfloat32, round_tf32),
        (ct.float8_e4m3fn, lambda t: t.clamp(-448, 448).to(torch.float8_e4m3fn)),
        (ct.float8_e5m2, lambda t: t.to(torch.float8_e5m2)),
    ],
    ids=lambda p: getattr(p, "name", ""),
)
def test_mma_rounds_its_inputs_and_sums_in_fp32(dtype, rounded):
    a, b, c = randn(16, 32) * 100, randn(32, 8), out(16, 8)
    run(mma_kernel(dtype, ct.float32), (1,), (a, b, c))
    exact = rounded(a).double() @ rounded(b).double() + 1
    torch.testing.assert_close(c.double(), exact, rtol=1e-5, atol=1e-3)


def test_tf32_rounds_to_ten_bits_ties_to_even():
    one = torch.tensor([1 + 2**-10, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-20, -1 - 2**-11, math.inf])
    assert round_tf32(one).tolist() == [1 + 2**-10, 1, 1 + 2**-9, 1 + 2**-10, -1, math.inf]


def test_integers_wrap():
    assert binary(lambda a, b: a + b, astype(127, ct.int8), astype(1, ct.int8)).data.item() == -128
    assert binary(lambda a, b: a - b, astype(0, ct.uint32), astype(1, ct.uint32)).data.item() == 2**32 - 1


def test_dtypes_by_any_name():
    import numpy

    names = ct.float32, torch.float32, numpy.float32
    assert {dtype_of(name) for name in names} == {ct.float32}


def test_dtypes_of_torch_convert_when_called():
    x, z = randn(8), torch.zeros(8, dtype=torch.float16)

    @ct.kernel
    def kernel(x, z):
        third = torch.float16(ct.load(x, (2,), ()) * 3)
        ct.static_assert(third.dtype == ct.float16)
        ct.store(z, (0,), ct.full((8,), third + torch.float16(1.5), torch.float16))

    run(kernel, (1,), (x, z))
    assert torch.equal(z, ((x[2] * 3).half() + 1.5).expand(8))


def test_constants_of_64_bits():
    z = torch.zeros(2, dtype=torch.uint64)

    @ct.kernel
    def kernel(z):
        ct.store(z, (0,), ct.full((2,), 2**63 + 5, ct.uint64))

    run(kernel, (1,), (z,))
    assert z.tolist() == [2**63 + 5] * 2


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
    x, sums = randn(8, 16), out(8, 16)

    @ct.kernel
    def kernel(x, sums):
        ct.store(sums, (0, 0), ct.cumsum(ct.load(x, (0, 0), (8, 16)), 1, reverse=reverse))

    run(kernel, (1,), (x, sums))
    turned = (x.flip(1) if reverse else x).cumsum(1)
    torch.testing.assert_close(sums, turned.flip(1) if reverse else turned)


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
        print(ct.bid(0), "of", ct.num_blocks(0))

    run(kernel, (1,), (torch.tensor([1.0, 0.5]),))
    assert capsys.readouterr().out == "tile [1.0, 0.5] [1.00, 0.50]\n0 of 1\n"


@pytest.mark.parametrize("case", [pytest.param(case, id=case[0]) for case in kernels()])
def test_what_a_gpu_is_compared_with_runs_here(case):
    """The cases of tests/gpu, which only a GPU's owner runs."""
    _, kernel, grid, args = case
    assert not run(kernel, grid, args).findings
