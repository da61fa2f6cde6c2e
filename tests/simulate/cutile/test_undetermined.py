"""Results that depend on the elements of a tile that lie outside of its array."""

import cuda.tile as ct
import pytest
import torch

from tests.simulate.cutile.test_memory import grid_for
from tutorlib.simulate.cutile import run

Const = ct.Constant
PAD = ct.PaddingMode


def reduction(reduce, mode):
    @ct.kernel
    def kernel(x, z, tile: Const[int]):
        ct.store(z, (ct.bid(0),), reduce(ct.load(x, (ct.bid(0), 0), (1, tile), padding_mode=mode), axis=1))

    return kernel


@pytest.mark.parametrize(
    ("reduce", "right"), [(ct.sum, PAD.ZERO), (ct.max, PAD.NEG_INF), (ct.min, PAD.POS_INF)], ids=["sum", "max", "min"]
)
@pytest.mark.parametrize("columns", [13, 15])
def test_a_reduction_needs_a_padding_mode(reduce, right, columns):
    """Also where NaN loses against a number, so that the interpreter's own result is right."""
    x, z = torch.randn(3, columns), torch.zeros(3)
    assert not run(reduction(reduce, right), (3,), (x, z, 16)).findings
    (finding,) = run(reduction(reduce, PAD.UNDETERMINED), (3,), (x, z, 16)).findings
    assert finding.kind == "unset"
    assert finding.message == (
        f"block 0 loads x[0:1, 0:16], which x of shape (3, {columns}) does not have all of: "
        "the rest is undetermined without a padding_mode, and it changes z"
    )


@ct.kernel
def two_loads(x, y, z, tile: Const[int]):
    left = ct.load(x, (0,), (tile,))
    right = ct.load(y, (0,), (tile,))
    ct.store(z, (0,), ct.sum(left) + right)


def test_the_load_is_named_that_matters():
    x, y, z = torch.randn(6), torch.randn(6), torch.zeros(6)
    (finding,) = run(two_loads, (1,), (x, y, z, 8)).findings
    assert finding.place.line == two_loads._pyfunc.__code__.co_firstlineno + 2


def test_the_result_is_that_of_the_launch():
    """NaN shows, and what the check tries besides leaves no trace."""
    x, y, z = torch.randn(6), torch.randn(6), torch.zeros(6)
    before = x.clone(), y.clone()
    run(two_loads, (1,), (x, y, z, 8))
    assert z.isnan().all()
    assert torch.equal(x, before[0])
    assert torch.equal(y, before[1])


def test_what_is_cut_off_or_masked_need_not_be_determined():
    @ct.kernel
    def kernel(x, z, n: Const[int]):
        tile = ct.load(x, (ct.bid(0),), (16,))
        real = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32) < n
        ct.store(z, (ct.bid(0),), tile + ct.sum(ct.where(real, tile, 0.0)))

    x, z = torch.randn(40), torch.zeros(40)
    assert not run(kernel, (3,), (x, z, 40)).findings
    torch.testing.assert_close(z[32:], x[32:] + x[32:].sum())


def gemm_in_place(mode):
    @ct.kernel
    def kernel(a, b, c):
        i, j = ct.bid(0), ct.bid(1)
        acc = ct.load(c, (i, j), (16, 16))
        for k in range(ct.num_tiles(a, 1, (16, 16))):
            x, y = (ct.load(a, (i, k), (16, 16), padding_mode=mode), ct.load(b, (k, j), (16, 16), padding_mode=mode))
            acc = ct.mma(x, y, acc)
        ct.store(c, (i, j), acc)

    return kernel


def test_a_gemm_in_place_at_ragged_edges():
    """K is padded, rows and columns are cut off; the accumulator comes from C, which the launch changes."""
    a, b, c = torch.randn(20, 24), torch.randn(24, 18), torch.randn(20, 18)
    want = c + a @ b
    assert not run(gemm_in_place(PAD.ZERO), grid_for(c, 16, 16), (a, b, c)).findings
    torch.testing.assert_close(c, want, rtol=1e-4, atol=1e-4)
    found = run(gemm_in_place(PAD.UNDETERMINED), grid_for(c, 16, 16), (a, b, c)).findings
    assert [(one.kind, one.message[:20]) for one in found] == [("unset", f"block (0, 0) loads {n}") for n in "ab"]


def test_an_index_that_is_undetermined():
    @ct.kernel
    def kernel(at, x, z):
        ct.store(z, (0,), ct.gather(x, ct.load(at, (0,), (4,))))

    at, x, z = torch.tensor([3, 1, 0], dtype=torch.int32), torch.randn(5), torch.zeros(4)
    (finding,) = run(kernel, (1,), (at, x, z)).findings
    assert finding.kind == "unset"
    assert "loads at[0:4]" in finding.message


def test_a_kernel_prints_once(capsys):
    @ct.kernel
    def kernel(x, z):
        ct.printf("once")
        ct.store(z, (0,), ct.sum(ct.load(x, (0,), (4,))))

    assert run(kernel, (1,), (torch.randn(3), torch.zeros(1))).findings
    assert capsys.readouterr().out == "once"
