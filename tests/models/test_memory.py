"""Shared memory's banks, blocks on an SM, mbarriers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_layouts import Layout, Swizzle
from tensor_layouts.analysis import bank_conflicts

from tutorlib.models.memory import A100, H100, blocks_per_sm, fresh, wavefronts


@pytest.mark.parametrize("step", [0, 1, 2, 3, 4, 8, 31, 32, 33])
@pytest.mark.parametrize("element_bytes", [1, 2, 4])
def test_wavefronts_agree_with_tensor_layouts(step, element_bytes):
    ways = bank_conflicts(Layout(32, step), element_bytes=element_bytes)["max_ways"]
    assert wavefronts([step * lane for lane in range(32)], element_bytes) == ways


def test_wide_accesses_go_by_quarter_warps():
    rows = [64 * row for row in range(32)]
    assert wavefronts([8 * lane for lane in range(32)], 2, 8) == 4  # 512 bytes, 128 at a time
    assert wavefronts(rows, 2, 8) == 32
    assert wavefronts([Swizzle(3, 3, 3)(offset) for offset in rows], 2, 8) == 4
    with pytest.raises(ValueError, match="32 bytes a thread"):
        wavefronts(rows, 4, 8)


@pytest.mark.parametrize(
    ("sm", "smem", "registers", "threads", "blocks"),
    [
        (H100, 98304, 236, 128, 2),  # as counted on an H200: two by registers, two by shared memory
        (A100, 98304, 236, 128, 1),
        (H100, 0, 32, 1024, 2),
        (H100, 0, 16, 32, 32),
        (H100, 0, 33, 64, 24),  # as cuda_occupancy.h has it: 12 warps in each of four partitions
        (H100, 227 * 1024, 32, 128, 1),
        (A100, 0, 255, 256, 1),
        (A100, 164 * 1024, 32, 128, 0),
    ],
)
def test_blocks_per_sm(sm, smem, registers, threads, blocks):
    assert blocks_per_sm(sm, smem, registers, threads) == blocks


arrivals = st.tuples(st.just("arrive"), st.integers(0, 3))  # with so many bytes announced
deliveries = st.tuples(st.just("bytes"), st.integers(1, 3))
histories = st.lists(st.one_of(arrivals, deliveries))


def phases(count: int, history: list[tuple[str, int]]) -> int:
    """How many phases a history completes, told from the history: a phase is the shortest piece of it with `count`
    arrivals and with as many bytes announced as have come."""
    done, begin = 0, 0
    for end in range(1, len(history) + 1):
        piece = history[begin:end]
        arrivals = sum(kind == "arrive" for kind, _ in piece)
        announced, came = (sum(n for kind, n in piece if kind == which) for which in ("arrive", "bytes"))
        if arrivals == count and announced == came:
            done, begin = done + 1, end
    return done


@given(st.integers(1, 4), histories)
def test_a_phase_is_over_when_all_have_arrived_and_all_bytes_have_come(count, history):
    barrier, so_far = fresh(count), []
    for kind, number in history:
        try:
            barrier = barrier.arrive(number) if kind == "arrive" else barrier.deliver(number)
        except ValueError:
            assert barrier.missing == 0
            return
        so_far.append((kind, number))
        assert barrier.phase == phases(count, so_far)
        assert barrier.lets_pass(0) == (barrier.phase % 2 == 1)
        assert barrier.lets_pass(1) != barrier.lets_pass(0)


def test_a_fresh_barrier_lets_the_producer_pass_and_not_the_consumer():
    assert fresh(1).lets_pass(1)
    assert not fresh(1).lets_pass(0)
