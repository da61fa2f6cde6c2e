"""Blocks on an SM, against what Nsight Compute reported on an H200 and the programming guide's limits."""

import pytest

from tutorlib.models.occupancy import A100, H100, blocks_per_sm


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
