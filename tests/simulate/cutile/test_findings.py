"""Programs that the interpreter must refuse, faults that it must notice, and results that depend on padding."""

import math
from dataclasses import dataclass

import cuda.tile as ct
import pytest
import torch

from tests.simulate.cutile.test_memory import gemm, grid_for
from tutorlib.simulate.cutile import arrays, run
from tutorlib.simulate.cutile.arrays import distinct
from tutorlib.simulate.ptx import NotSimulated
from tutorlib.simulate.stand_in.gpu import StandInGpu

Const = ct.Constant


def found(kernel, grid, args):
    return {finding.kind: finding for finding in run(kernel, grid, args).findings}


@ct.kernel
def double(x, z, tile: Const[int]):
    ct.store(z, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) * 2)


def test_a_right_kernel_has_no_findings():
    x, z = torch.randn(100), torch.zeros(100)
    report = run(double, (7,), (x, z, 16))
    assert report.blocks == 7
    assert not report.findings


def test_what_is_loaded_whole_or_in_single_elements():
    @ct.kernel
    def gathering(x, z):
        at = ct.arange(16, dtype=ct.int32)
        ct.scatter(z, at, ct.gather(x, at))

    for kernel, args, scattered in ((gathering, (), {"x", "z"}), (double, (16,), set())):
        report = run(kernel, (1,), (torch.randn(10), torch.zeros(10), *args))
        assert (report.loaded, report.largest, report.scattered) == ({"x": 10}, {"x": 16}, scattered)


def test_a_grid_too_large_reaches_outside():
    report = run(double, (8,), (torch.randn(100), torch.zeros(100), 16))
    assert [finding.place.text[:8] for finding in report.findings] == ["ct.store"] * 2
    finding = report.findings[0]
    assert finding.kind == "outside"
    assert finding.message == "block 7 loads x[112:128], which lies outside x of shape (100,)"
    assert finding.place.line == double._pyfunc.__code__.co_firstlineno + 2


def test_blocks_that_store_to_one_place():
    @ct.kernel
    def kernel(x, z):
        ct.store(z, (ct.bid(0) // 2, 0), ct.load(x, (ct.bid(0), ct.bid(1)), (4, 4)))

    finding = found(kernel, (2, 2), (torch.randn(8, 8), torch.zeros(4, 4)))["overlap"]
    assert finding.message == "block (1, 0) stores z[0:4, 0:4], where block (0, 0) stored other values: either may win"


def test_what_is_stored_twice_is_told_apart_from_faults():
    @ct.kernel
    def kernel(x, z):
        for _ in range(2):
            ct.store(z, (ct.bid(0) // 2,), ct.load(x, (ct.bid(0) // 2,), (4,)))

    report = run(kernel, (2,), (torch.randn(4), torch.zeros(4)))
    assert not report.findings
    (repeat,) = report.repeats
    assert repeat.message == "block 0 stores z[0:4], where it has stored before"


def test_the_same_values_twice_are_no_fault():
    @ct.kernel
    def kernel(x, z):
        ct.store(z, (0,), ct.load(x, (0,), (4,)))

    assert not found(kernel, (3,), (torch.tensor([1, math.nan, 2, 3]), torch.zeros(4)))


def test_a_block_that_loads_what_another_stores():
    @ct.kernel
    def kernel(z):
        here = ct.load(z, (ct.bid(0),), (4,))
        ct.store(z, (ct.bid(0) + 1,), here + 1)

    finding = found(kernel, (2,), (torch.zeros(12),))["race"]
    assert finding.message == "block 1 loads z[4:8], which block 0 stores in the same launch: before or after?"


def test_unchecked_accesses_must_stay_inside():
    @ct.kernel
    def kernel(x, z):
        ct.store(z, (0,), ct.load(x, (1,), (4,), check_bounds=False))

    assert "check_bounds=False" in found(kernel, (1,), (torch.randn(6), torch.zeros(4)))["outside"].message


def test_a_gather_without_checks_must_stay_inside():
    @ct.kernel
    def kernel(x, z):
        ct.store(z, (0,), ct.gather(x, ct.arange(4, dtype=ct.int32) + 3, check_bounds=False))

    assert "outside" in found(kernel, (1,), (torch.randn(6), torch.zeros(4)))


def a_tile_of_48_rows(x):
    return ct.load(x, (0, 0), (48, 4))


def shapes_that_do_not_broadcast(x):
    return ct.zeros((32, 4, 64), ct.float32) + ct.zeros((64, 2), ct.float32)


def a_reshape_that_loses_elements(x):
    return ct.load(x, (0, 0), (4, 4)).reshape((2, 4))


def an_mma_of_two_dtypes(x):
    return ct.mma(ct.zeros((4, 4), ct.float16), ct.zeros((4, 4), ct.float32), ct.zeros((4, 4), ct.float32))


def a_sum_of_fp16_and_bf16(x):
    return ct.zeros((4,), ct.float16) + ct.zeros((4,), ct.bfloat16)


def a_store_that_narrows(x):
    ct.store(x, (0, 0), ct.zeros((4, 4), ct.float64))


def an_index_too_short(x):
    return ct.load(x, (0,), (4,))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (a_tile_of_48_rows, "not a power of two"),
        (shapes_that_do_not_broadcast, "not broadcastable"),
        (a_reshape_that_loses_elements, "Cannot reshape"),
        (an_mma_of_two_dtypes, "must have the same dtype"),
        (a_sum_of_fp16_and_bf16, "float16 and bfloat16"),
        (a_store_that_narrows, "cannot implicitly cast"),
        (an_index_too_short, "rank"),
    ],
)
def test_what_the_compiler_refuses_does_not_run(broken, message):
    @ct.kernel
    def kernel(x):
        broken(x)

    with pytest.raises(ct.TileError, match=message):
        run(kernel, (1,), (torch.zeros(8, 8),))


def test_a_plain_python_function_is_no_kernel():
    with pytest.raises(TypeError, match=r"not a @ct\.kernel"):
        run(lambda x: None, (1,), (torch.zeros(8),))


def test_what_is_lacking_is_named_and_what_was_found_before_it_is_kept():
    @ct.kernel
    def kernel(x):
        ct.sqrt(ct.load(x, (2,), (4,)), rounding_mode=ct.RoundingMode.RZ)

    reports = []
    with pytest.raises(NotSimulated, match=r"RoundingMode\.RZ is not simulated"):
        StandInGpu("90a", reports.append).take("kernel", lambda: run(kernel, (1,), (torch.zeros(8),)))
    assert [finding.kind for finding in reports[0].findings] == ["outside"]
    assert reports[0].stopped.startswith("rounding_mode=RoundingMode.RZ is not simulated")


def test_a_dtype_that_is_lacking_is_named():
    @ct.kernel
    def kernel(x, z):
        ct.store(z, (0,), ct.load(x, (0,), (8,)).astype(ct.float8_e5m3fnu).astype(ct.uint8))

    with pytest.raises(NotSimulated, match="float8_e5m3fnu is not simulated"):
        run(kernel, (1,), (torch.zeros(8), torch.zeros(8, dtype=torch.uint8)), arch="sm_107")


@dataclass(frozen=True)
class Scaled:
    factor: int

    def of(self, tile):
        return ct.mul(tile, self.factor)


def test_methods_that_call_cutile_are_named_too():
    @ct.kernel
    def kernel(x):
        ct.store(x, (0,), Scaled(2).of(ct.load(x, (0,), (4,))))

    with pytest.raises(NotSimulated, match="class whose methods call"):
        run(kernel, (1,), (torch.zeros(8),))


def test_an_assertion_of_the_kernel():
    @ct.kernel
    def kernel(x):
        ct.assert_(ct.load(x, (0,), (4,)) > 0, "x must be positive")  # noqa: PT009

    with pytest.raises(AssertionError, match="x must be positive"):
        run(kernel, (1,), (torch.zeros(8),))


def test_the_placeholder_of_an_answer_comes_out():
    @ct.kernel
    def kernel(x):
        raise ct.static_exception(NotImplementedError("Exercise 06.1"))

    with pytest.raises((ct.TileError, ct.StaticException, NotImplementedError), match=r"Exercise 06\.1"):
        run(kernel, (1,), (torch.zeros(8),))


def test_a_load_and_a_store_look_at_their_own_tile_alone(monkeypatch):
    """At who was there before: a walk over the array for each tile would make a GEMM take minutes."""
    looked = []

    def looking(numbers):
        looked.append(numbers.numel())
        return distinct(numbers)

    monkeypatch.setattr(arrays, "distinct", looking)
    a, b, c = torch.randn(300, 200).bfloat16(), torch.randn(260, 200).bfloat16(), torch.zeros(300, 260)
    run(gemm, (5, 5), (a, b, c, 64, 64, 64))
    assert len(looked) == 25 * (4 * 2 + 1)  # two loads in each of four steps along K, and a store
    assert max(looked) == 64 * 64


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
        ct.print("once", end="")
        ct.store(z, (0,), ct.sum(ct.load(x, (0,), (4,))))

    assert run(kernel, (1,), (torch.randn(3), torch.zeros(1))).findings
    assert capsys.readouterr().out == "once"
