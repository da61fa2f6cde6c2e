"""Notebook 17: its references against torch, the real CuTe DSL and definitions."""

import cutlass
import pytest
from cutlass import Float32, Int32, cute, pipeline, utils

from tests.pages.p17 import by_warp_5
from tutorlib.exercises import find
from tutorlib.kernels.blackwell.config import PAIR, SINGLE, BlackwellConfig, BlackwellConfigError
from tutorlib.kernels.blackwell.parts import make_umma
from tutorlib.models.memory import ring_stages

# Tensor memory ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [SINGLE, PAIR, BlackwellConfig((128, 64, 64), accumulators=3)])
def test_an_accumulator_lies_where_the_real_cute_has_it(config):
    """One column for each of C's, one lane for each row; and as many columns are allocated as the kernel says."""
    found = {}

    @cute.jit
    def look():
        tiled_mma = make_umma(config.tile, config.pair)
        shape = tiled_mma.partition_shape_C(config.tile[:2])
        layout = tiled_mma.make_fragment_C(cute.append(shape, config.accumulators)).layout
        for m, n, accumulator in ((0, 0, 0), (1, 0, 0), (77, 5, 0), (127, 63, config.accumulators - 1)):
            found[m, n, accumulator] = int(layout(((m, n), 0, 0, accumulator)))

    cute.compile(look, options="--gpu-arch sm_100a")
    for (m, n, accumulator), offset in found.items():
        assert offset == m % 128 << 16 | accumulator * config.tile[1] + n
    assert config.columns in (256, 512)
    assert config.columns >= config.tile[1] * config.accumulators


def test_stages_are_those_of_the_kernel():
    for config in (SINGLE, PAIR):
        rest = config.smem_bytes - config.stages * config.stage_bytes
        assert ring_stages(config.tile[1], config.pair, rest) == (config.stage_bytes, config.stages)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"accumulators": 3}, "tensor memory has 512"),
        ({"stages": 5}, "a block can have"),
        ({"tile": (256, 256, 64)}, "128 for a block"),
        ({"tile": (128, 100, 64)}, "boxes of 64 columns"),
        ({"tile": (128, 256, 32)}, "64 bf16"),
        ({"stages": 1}, "at least 2 stages"),
    ],
)
def test_a_configuration_that_cannot_be_says_why(fields, says):
    with pytest.raises(BlackwellConfigError, match=says):
        BlackwellConfig(**fields)


# Answers -----------------------------------------------------------------------------------------------------------


@cute.jit
def allocated_by_the_library(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    all_warps = pipeline.NamedBarrier(barrier_id=2, num_threads=192)
    memory = utils.TmemAllocator(address, barrier_for_retrieve=all_warps, allocator_warp_id=4)
    memory.allocate(columns)
    memory.wait_for_alloc()
    memory.relinquish_alloc_permit()
    return memory.retrieve_ptr(Float32)


def test_nvidias_allocator_is_no_answer():
    """It has the barrier and all calls."""
    outcome = find("17.1").grade((allocated_by_the_library, by_warp_5))
    assert outcome.points == 0
    assert "NVIDIA's TmemAllocator" in outcome.message
