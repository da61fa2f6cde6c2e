"""Loads, stores, gathers, scatters and atomics of the interpreter, at ragged edges above all."""

import math

import cuda.tile as ct
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutorlib.simulate.cutile import run
from tutorlib.simulate.ptx.findings import NotSimulated

Const = ct.Constant
PAD = ct.PaddingMode


def grid_for(array, tm, tn):
    return -(-array.shape[0] // tm), -(-array.shape[1] // tn)


def ramp(*shape, dtype=torch.float32):
    return torch.arange(1, 1 + math.prod(shape)).reshape(shape).to(dtype)


@ct.kernel
def copy(x, z, tm: Const[int], tn: Const[int]):
    place = (ct.bid(0), ct.bid(1))
    ct.store(z, place, ct.load(x, place, (tm, tn)))


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from([1, 2, 8, 16]), st.sampled_from([1, 4, 32]))
def test_a_copy_of_any_shape_writes_all_and_nothing_else(m, n, tm, tn):
    x, memory = ramp(m, n), torch.full((m + 2, n + 2), math.nan)
    z = memory[1:-1, 1:-1]
    assert not run(copy, grid_for(x, tm, tn), (x, z, tm, tn)).findings
    assert torch.equal(z, x)
    assert memory.isnan().sum() == (m + 2) * (n + 2) - m * n


@ct.kernel
def gemm(a, b, c, tm: Const[int], tn: Const[int], tk: Const[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(a, 1, (tm, tk))):
        x = ct.load(a, (i, k), (tm, tk), padding_mode=PAD.ZERO)
        y = ct.load(b, (k, j), (tk, tn), order=(1, 0), padding_mode=PAD.ZERO, latency=4, allow_tma=False)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@settings(max_examples=15)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(1, 70))
def test_gemm_with_ragged_edges(m, n, k):
    a, b, c = torch.randn(m, k).bfloat16(), torch.randn(n, k).bfloat16(), torch.full((m, n), math.nan)
    report = run(gemm, grid_for(c, 32, 16), (a, b, c, 32, 16, 16))
    torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-4, atol=1e-4)
    assert not report.findings


@pytest.mark.parametrize(
    ("mode", "filled"),
    [(PAD.ZERO, 0.0), (PAD.NEG_INF, -math.inf), (PAD.POS_INF, math.inf), (PAD.NAN, math.nan), (PAD.NEG_ZERO, -0.0)],
)
def test_padding(mode, filled):
    @ct.kernel
    def kernel(x, z):
        ct.store(z, (0,), ct.load(x, (1,), (4,), padding_mode=mode))

    z = torch.zeros(4)
    run(kernel, (1,), (ramp(6), z))
    torch.testing.assert_close(z, torch.tensor([5, 6, filled, filled]), equal_nan=True)
    assert z[3].signbit() == torch.tensor(filled).signbit()


def test_what_is_left_undetermined_shows():
    @ct.kernel
    def kernel(x, z):
        ct.store(z, (0,), ct.sum(ct.load(x, (0,), (4,))))

    z = torch.zeros(1)
    run(kernel, (1,), (ramp(3), z))
    assert z.isnan()


@pytest.mark.parametrize("order", ["F", (1, 0)])
def test_order_transposes(order):
    @ct.kernel
    def kernel(x, z):
        ct.store(z, (ct.bid(0), ct.bid(1)), ct.load(x, (ct.bid(0), ct.bid(1)), (4, 8), order=order))

    x, z = ramp(20, 10), torch.zeros(10, 20)
    run(kernel, (3, 3), (x, z))
    assert torch.equal(z, x.T)


def test_a_store_takes_an_order_too():
    @ct.kernel
    def kernel(x, z):
        ct.store(z, (ct.bid(1), ct.bid(0)), ct.load(x, (ct.bid(0), ct.bid(1)), (4, 8)).transpose(), order=(0, 1))
        ct.store(z, (ct.bid(0), ct.bid(1)), ct.load(x, (ct.bid(0), ct.bid(1)), (4, 8)), order="F")

    x, z = ramp(20, 10), torch.zeros(10, 20)
    run(kernel, (5, 2), (x, z))
    assert torch.equal(z, x.T)


@pytest.mark.parametrize("dtype", [torch.uint32, torch.uint16, torch.float8_e4m3fn, torch.bool, torch.int8], ids=str)
def test_dtypes_in_memory(dtype):
    x = ramp(6, 4).to(dtype)
    z = torch.zeros(6, 4).to(dtype)
    run(copy, (3, 2), (x, z, 2, 2))
    assert torch.equal(z.view(torch.uint8), x.view(torch.uint8))


def test_gather_and_scatter():
    @ct.kernel
    def kernel(x, z):
        row, column = ct.arange(4, dtype=ct.int32)[:, None], ct.arange(8, dtype=ct.int32)[None, :]
        found = ct.gather(x, (row + 1, column - 1), mask=column < 6, padding_value=-1.0)
        ct.scatter(z, (row, column), found * 10, mask=row != 2)

    x, z = ramp(3, 8), torch.zeros(4, 5)
    run(kernel, (1,), (x, z))
    want = torch.full((4, 5), -10.0)
    want[:2, 1:] = x[1:, :4] * 10
    want[2] = 0
    assert torch.equal(z, want)


def test_views():
    @ct.kernel
    def kernel(x, z):
        view = x.tiled_view((2, 4), padding_mode=PAD.ZERO, traversal_steps=(1, 4))
        for step in range(3):
            ct.store(z, (step, 0), ct.sum(view.load((step, 0)), 0, keepdims=True))

    x, z = ramp(4, 4), torch.zeros(3, 4)
    run(kernel, (1,), (x, z))
    assert torch.equal(z, x[:3] + x[1:])


def test_a_list_of_arrays():
    @ct.kernel
    def kernel(xs, z):
        total = ct.zeros((4,), ct.float32)
        for n in range(len(xs)):
            total += ct.load(xs[n], (0,), (4,))
        ct.store(z, (0,), total)

    z = torch.zeros(4)
    run(kernel, (1,), ([ramp(4), ramp(4), ramp(4)], z))
    assert torch.equal(z, 3 * ramp(4))


def test_tuples_of_parameters():
    @ct.kernel
    def kernel(part, shape: Const[tuple[int, int]], z):
        ct.store(z, (0, 0), ct.load(part[0], (0, part[1]), shape))

    @ct.kernel
    def each_annotated(part: tuple[torch.Tensor, Const[int]]):
        pass

    x, z = ramp(4, 16), torch.zeros(4, 4)
    assert not run(kernel, (1,), ((x, 2), (4, 4), z)).findings
    assert torch.equal(z, x[:, 8:12])
    with pytest.raises(NotSimulated, match="the annotation of part"):
        run(each_annotated, (1,), ((x, 2),))


def test_atomics_on_one_element_take_turns():
    @ct.kernel
    def kernel(z, old):
        same = ct.zeros((4,), ct.int32)
        ct.store(old, (ct.bid(0),), ct.atomic_add(z, same, 2))
        ct.atomic_max(z, same + 1, ct.arange(4, dtype=ct.int32))
        ct.atomic_xchg(z, 2, 7)
        ct.atomic_cas(z, 2, 7, 9)

    z, old = torch.zeros(3, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    run(kernel, (2,), (z, old))
    assert z.tolist() == [16, 3, 9]
    assert old.tolist() == list(range(0, 16, 2))


def test_a_compare_and_swap_outside_gives_what_was_expected():
    @ct.kernel
    def kernel(x, old):
        places = ct.arange(4, dtype=ct.int32)
        ct.store(old, (0,), ct.atomic_cas(x, places, 2, 7))

    x, old = ramp(3, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    run(kernel, (1,), (x, old))
    assert old.tolist() == [1, 2, 3, 2]
    assert x.tolist() == [1, 7, 3]


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu], ids=str)
def test_scatter_of_fp8(dtype):
    @ct.kernel
    def kernel(x, z):
        places = ct.arange(4, dtype=ct.int32)
        ct.scatter(z, 3 - places, ct.gather(x, places))

    x, z = torch.tensor([0.5, 1.0, 2.0, 8.0]).to(dtype), torch.ones(4).to(dtype)
    run(kernel, (1,), (x, z), "sm_100")
    assert z.float().tolist() == [8.0, 2.0, 1.0, 0.5]


def test_split_k_by_atomic_add():
    @ct.kernel
    def kernel(x, z):
        part = ct.sum(ct.load(x, (ct.bid(0), 0), (2, 16)), 0)
        ct.atomic_add(z, ct.arange(16, dtype=ct.int32), part)

    x, z = torch.randn(8, 16), torch.zeros(16)
    report = run(kernel, (4,), (x, z))
    torch.testing.assert_close(z, x.sum(0))
    assert not report.findings
