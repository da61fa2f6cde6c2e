"""Stamps of a traced kernel, cut to a window, whatever its 32-bit clock does."""

import pytest
import torch

from tutorlib.instruments.stamps import block_of, cycles_of, since
from tutorlib.kernels.hopper.timeline import Did

STEP, WRAP = 1000, 2**32


def events(roles, start=0):
    """(1, roles, 1024, 4): consumers with three tiles of four K tiles each, the third role is a producer."""
    buffer = torch.full((1, roles, 1024, 4), -1, dtype=torch.int64)

    def write(role, rows):
        for n, (did, number, cycle) in enumerate(rows):
            buffer[0, role, n] = torch.tensor([did, number, (start + cycle) % WRAP, cycle])

    for role in range(min(roles, 2)):
        rows = [(Did.START, 0, 0)]
        for tile in range(3):
            for k in range(4 * tile, 4 * tile + 4):
                rows += [(Did.SEE_FULL, k, STEP * (k + 1)), (Did.ISSUE_MMA, k, STEP * (k + 1) + 50)]
                rows += [(Did.RETIRE_MMA, k, STEP * (k + 1) + 900)]
            rows += [(Did.STORE, tile, STEP * (4 * tile + 4) + 990)]
        write(role, rows)
    if roles == 3:
        write(2, [(Did.START, 0, 0), *((Did.ISSUE_LOAD, k, STEP * k + 10) for k in range(12))])
    signed = torch.where(buffer >= 2**31, buffer - WRAP, buffer)
    return signed.to(torch.int32)


@pytest.mark.parametrize("start", [0, WRAP - 7000, 2**31 - 7000])
class TestWindow:
    def test_the_second_tile_ends_in_its_middle(self, start):
        kept = block_of(events(2, start), window=2000, producer=False)
        assert set(kept) == {"warpgroup 0", "warpgroup 1"}
        inside = [(what, number, cycle) for what, number, cycle in kept["warpgroup 0"] if 0 <= cycle <= 2000]
        assert inside == [
            ("SEE_FULL", 7, 10), ("ISSUE_MMA", 7, 60), ("RETIRE_MMA", 7, 910), ("STORE", 1, 1000),
            ("SEE_FULL", 8, 1010), ("ISSUE_MMA", 8, 1060), ("RETIRE_MMA", 8, 1910),
        ]  # fmt: skip

    def test_what_was_under_way_before_and_comes_next_is_kept_too(self, start):
        before, after = (block_of(events(2, start), 2000, False)["warpgroup 0"][n] for n in (0, -1))
        assert before[2] < 0
        assert after == ["SEE_FULL", 9, 2010]

    def test_the_last_role_of_a_specialized_kernel_only_loads(self, start):
        kept = block_of(events(3, start), 2000, producer=True)
        assert list(kept) == ["warpgroup 0", "warpgroup 1", "producer"]
        assert {what for what, _, cycle in kept["producer"] if cycle >= 0} == {"ISSUE_LOAD"}


def test_cycles_are_medians_of_all_blocks():
    found = cycles_of(events(3))
    assert (found["per K tile"], found["epilogue"]) == (STEP, 90)


def test_a_clock_that_wraps_goes_on():
    assert since(WRAP - 5, 7) == 12
    assert since(7, WRAP - 5) == -12
