"""What the GPU itself counts of the ladder's kernels: no bank conflicts, accesses of 128 bits, the model's traffic."""

import sys

import pytest

from tutorlib.kernels.ladder import AMPERE_RUNGS
from tutorlib.machine import device
from tutorlib.measuring import counters
from tutorlib.models.l2 import ORDERS, traffic

pytestmark = [pytest.mark.gpu("80"), pytest.mark.ncu]

RUNGS = [rung.title for rung in AMPERE_RUNGS]
NAMES = ["raster", "groups of 4", "groups of 8"]


def count(size, names, *metrics):
    """The metrics of each kernel, by name."""
    command = [sys.executable, "-m", "tests.gpu.ladder", str(size), *names]
    found = counters.count(command, metrics, "gemm_kernel")
    return dict(zip(names, found, strict=True))


@pytest.fixture(scope="module")
def accesses():
    return count(
        2048, [*RUNGS, "unswizzled"],
        counters.LDMATRIX, counters.LDMATRIX_CONFLICTS, counters.CP_ASYNC, counters.CP_ASYNC_CONFLICTS,
        counters.CP_ASYNC_BYTES, counters.STORES, counters.STORE_BYTES,
    )  # fmt: skip


@pytest.mark.parametrize("name", RUNGS)
def test_no_access_to_shared_memory_waits_for_a_bank(accesses, name):
    found = accesses[name]
    assert found[counters.LDMATRIX] > 0
    assert found[counters.LDMATRIX_CONFLICTS] == 0
    assert found[counters.CP_ASYNC_CONFLICTS] == 0


def test_without_the_swizzle_ldmatrix_has_eight_rows_in_the_same_banks(accesses):
    """Each of its four matrices then takes eight wavefronts in place of one."""
    found = accesses["unswizzled"]
    assert found[counters.LDMATRIX_CONFLICTS] == pytest.approx(4 * 7 * found[counters.LDMATRIX], rel=0.01)


@pytest.mark.parametrize("name", RUNGS)
def test_global_memory_is_read_and_written_by_128_bits(accesses, name):
    found = accesses[name]
    assert found[counters.CP_ASYNC_BYTES] == 32 * 16 * found[counters.CP_ASYNC] > 0
    assert found[counters.STORE_BYTES] == 32 * 16 * found[counters.STORES] == 2 * 2048 * 2048


@pytest.mark.gpu("90a")  # two blocks on an SM are a Hopper's
def test_the_l2_model_comes_near_to_what_memory_sends():
    """8192³: two blocks on each SM, half of L2, a drift of an eighth. Raster order fetches a multiple."""
    gpu = device.need_gpu()
    measured = {name: found[counters.MEMORY_READ] for name, found in count(8192, NAMES, counters.MEMORY_READ).items()}
    for name in NAMES:
        model = traffic((64, 64), ORDERS[name], 128, (16384, 16384), 2 * gpu.sms, gpu.l2 // 2, drift=0.125)
        assert model.fetched == pytest.approx(measured[name], rel=0.35), name
    assert measured["raster"] > 2 * measured["groups of 8"]
