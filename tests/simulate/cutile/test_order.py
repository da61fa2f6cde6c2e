"""Blocks that meet on one element: what atomics order, and what races beside them. Blocks that wait for others."""

import cuda.tile as ct
import pytest
import torch

from tutorlib.simulate.cutile import run
from tutorlib.simulate.ptx import NotSimulated

Const = ct.Constant
ORDER = ct.MemoryOrder


def int32(*shape):
    return torch.zeros(shape, dtype=torch.int32)


def found(kernel, grid, args):
    return [(finding.kind, finding.message) for finding in run(kernel, grid, args).findings]


def locked(acquire, release):
    @ct.kernel
    def kernel(x, z, lock):
        while ct.atomic_cas(lock, 0, 0, 1, memory_order=acquire) == 1:
            pass
        ct.store(z, (0,), ct.load(z, (0,), (4,)) + ct.load(x, (ct.bid(0),), (4,)))
        ct.atomic_xchg(lock, 0, 0, memory_order=release)

    return kernel


def test_a_lock_orders_what_it_protects():
    x, z = torch.randn(12), torch.zeros(4)
    assert not found(locked(ORDER.ACQUIRE, ORDER.RELEASE), (3,), (x, z, int32(1)))
    torch.testing.assert_close(z, x.reshape(3, 4).sum(0))


@pytest.mark.parametrize(
    ("acquire", "release"),
    [(ORDER.RELAXED, ORDER.RELEASE), (ORDER.ACQUIRE, ORDER.RELAXED), (ORDER.RELAXED, ORDER.RELAXED)],
)
def test_a_lock_without_acquire_or_release_orders_nothing(acquire, release):
    kinds = {kind for kind, _ in found(locked(acquire, release), (3,), (torch.randn(12), torch.zeros(4), int32(1)))}
    assert kinds == {"race", "overlap"}


def test_a_scope_of_one_block_orders_nothing():
    @ct.kernel
    def kernel(z, flag):
        if ct.atomic_add(flag, 0, 1, memory_scope=ct.MemoryScope.BLOCK) == 1:
            ct.store(z, (1,), ct.load(z, (0,), (4,)))
        else:
            ct.store(z, (0,), ct.ones((4,), ct.float32))

    assert "race" in dict(found(kernel, (2,), (torch.zeros(8), int32(1))))


@ct.kernel
def counted_overlap(x, z, count):
    ct.atomic_add(count, 0, 1, memory_order=ORDER.RELAXED)
    ct.store(z, (0,), ct.load(x, (ct.bid(0),), (4,)))


def test_an_atomic_elsewhere_hides_no_overlap():
    (finding,) = found(counted_overlap, (2,), (torch.randn(8), torch.zeros(4), int32(1)))
    assert finding == ("overlap", "block 1 stores z[0:4], where block 0 stored other values: either may win")


def test_updates_of_one_element_do_not_race():
    @ct.kernel
    def histogram(x, count):
        ct.atomic_add(count, ct.gather(x, ct.bid(0) * 4 + ct.arange(4, dtype=ct.int32)), 1, memory_order=ORDER.RELAXED)

    x, count = torch.randint(0, 4, (64,), dtype=torch.int32), int32(4)
    assert not found(histogram, (16,), (x, count))
    assert torch.equal(count.long(), x.long().bincount(minlength=4))


def test_a_store_races_with_an_update():
    @ct.kernel
    def kernel(z):
        if ct.bid(0) == 0:
            ct.store(z, (0,), ct.ones((1,), ct.float32))
        ct.atomic_add(z, 0, 1.0)

    (finding,) = found(kernel, (2,), (torch.zeros(1),))
    assert finding == ("race", "block 1 updates z[0], which block 0 stores in the same launch: before or after?")


@ct.kernel
def smooth(z):
    here, next_one = ct.load(z, (ct.bid(0),), (4,)), ct.load(z, (ct.bid(0) + 1,), (4,))
    ct.store(z, (ct.bid(0),), here + next_one)


def test_a_block_that_stores_what_an_earlier_one_loads():
    (finding,) = found(smooth, (2,), (torch.randn(12),))[:1]
    assert finding == ("race", "block 1 stores z[4:8], which block 0 loads in the same launch: before or after?")


def split_k(order):
    """The last block to arrive adds up all parts, in the order of cuTile's own split-K sample."""

    @ct.kernel
    def kernel(x, parts, z, count, blocks: Const[int]):
        ct.store(parts, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (1, 4)) * 2)
        if ct.atomic_add(count, 0, 1, memory_order=order) == blocks - 1:
            ct.store(z, (0,), ct.sum(ct.load(parts, (0, 0), (blocks, 4)), 0))

    return kernel


def test_the_last_to_arrive_reads_what_all_have_stored():
    x, z = torch.randn(8, 4), torch.zeros(4)
    assert not found(split_k(ORDER.ACQ_REL), (8,), (x, torch.zeros(8, 4), z, int32(1), 8))
    torch.testing.assert_close(z, x.sum(0) * 2)


@pytest.mark.parametrize("order", [ORDER.RELAXED, ORDER.ACQUIRE, ORDER.RELEASE])
def test_an_arrival_by_half_an_order_is_a_race(order):
    (finding,) = found(split_k(order), (8,), (torch.randn(8, 4), torch.zeros(8, 4), torch.zeros(4), int32(1), 8))
    assert finding[0] == "race"
    assert finding[1].startswith("block 7 loads parts[0:8, 0:4], which block")


def test_a_wait_for_a_later_block_is_not_simulated():
    @ct.kernel
    def kernel(x, z, flag):
        if ct.bid(0) == 0:
            while ct.load(flag, (0,), (1,), memory_order=ORDER.ACQUIRE, memory_scope=ct.MemoryScope.DEVICE).item() == 0:
                pass
            ct.store(z, (0,), ct.load(x, (0,), (4,)))
        else:
            ct.store(x, (0,), ct.ones((4,), ct.float32))
            ct.store(flag, (0,), 1, memory_order=ORDER.RELEASE, memory_scope=ct.MemoryScope.DEVICE)

    with pytest.raises(NotSimulated, match="block 0, which waits for a later one at line"):
        run(kernel, (2,), (torch.zeros(4), torch.zeros(4), int32(1)))


@ct.kernel
def spins(flag, z):
    while ct.atomic_cas(flag, 0, 0, 1) != 9:
        pass
    ct.store(z, (0,), ct.full((4,), 1.0, dtype=ct.float32))


@ct.kernel
def polls_weakly(flag, z):
    while ct.load(flag, (0,), (1,)).item() == 0:
        pass
    ct.store(z, (0,), ct.full((4,), 1.0, dtype=ct.float32))


@pytest.mark.parametrize("kernel", [spins, polls_weakly])
def test_a_wait_for_what_never_comes_ends(kernel):
    (finding,) = run(kernel, (1,), (int32(1), torch.zeros(4))).findings
    assert finding.kind == "endless"
    assert finding.message == "block 0 loads flag[0:1] forever: no block changes it any more" or (
        finding.message == "block 0 loads flag[0] forever: no block changes it any more"
    )
    assert finding.place.line == kernel._pyfunc.__code__.co_firstlineno + 2
