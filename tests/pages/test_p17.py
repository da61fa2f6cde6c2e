"""Notebook 17: its references against torch, the real CuTe DSL and definitions."""

import itertools
import random
from fractions import Fraction

import cutlass
import pytest
import torch
from cutlass import Float32, Int32, cute, pipeline, utils

from tests.pages.p17 import by_warp_5
from tutorlib.exercises import find
from tutorlib.kernels.blackwell.config import PAIR, SINGLE, BlackwellConfig, BlackwellConfigError
from tutorlib.kernels.blackwell.parts import make_umma
from tutorlib.kernels.hopper.specialized import load_steps, multiply_steps
from tutorlib.models.block_formats import E2M1, E4M3, quantize_mx, quantize_nv, scaled_dot, to_nearest
from tutorlib.models.memory import accumulator_place, ring_stages, tmem_columns

# Formats ----------------------------------------------------------------------------------------------------------


def test_e4m3_has_the_values_of_torch():
    codes = torch.arange(127, dtype=torch.uint8).view(torch.float8_e4m3fn)
    assert codes.double().tolist() == E4M3


def test_e2m1_has_the_values_of_the_dsl():
    assert E2M1 == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert cutlass.Float4E2M1FN.width == 4


def test_rounding_is_torchs():
    rng = random.Random(1)
    numbers = [rng.gauss(0, 1) * 2.0 ** rng.randint(-12, 9) for _ in range(2000)]
    numbers += [(low + high) / 2 for low, high in itertools.pairwise(E4M3)]
    torchs = torch.tensor(numbers, dtype=torch.float64).clamp(-448, 448).to(torch.float8_e4m3fn).double().tolist()
    assert [to_nearest(x, E4M3) for x in numbers] == torchs


def test_a_scale_is_torchs_e8m0_of_the_largest_number():
    rng = random.Random(2)
    for _ in range(100):
        block = [rng.gauss(0, 2.0 ** rng.randint(-40, 40)) for _ in range(32)]
        exponent, elements = quantize_mx(block)
        scale = torch.tensor(2.0**exponent).to(torch.float8_e8m0fnu).float().item()
        assert scale == 2.0**exponent
        assert 256 <= Fraction(max(map(abs, block))) / Fraction(2) ** exponent < 512
        assert all(x in E4M3 for x in map(abs, elements))


def test_nvfp4_is_the_nearest_that_its_scale_allows():
    rng = random.Random(3)
    for tensor_scale in (1.0, 0.01, 3e-4):
        block = [rng.gauss(0, 1) for _ in range(16)]
        scale, elements = quantize_nv(block, tensor_scale)
        assert scale in E4M3
        for x, element in zip(block, elements, strict=True):
            off = abs(element * scale * tensor_scale - x)
            others = (abs(sign * other * scale * tensor_scale - x) for other in E2M1 for sign in (-1, 1))
            assert off <= min(others) + 1e-12


def test_a_dot_product_in_blocks_is_that_of_the_dequantized_numbers():
    rng = random.Random(4)
    rows = [[rng.gauss(0, 1) for _ in range(64)] for _ in range(2)]
    blocks = [[quantize_mx(row[at : at + 32]) for at in (0, 32)] for row in rows]
    whole = [[Fraction(x) * Fraction(2) ** e for e, elements in row for x in elements] for row in blocks]
    exact = sum(x * y for x, y in zip(*whole, strict=True))
    assert scaled_dot(*([(2.0**e, x) for e, x in row] for row in blocks)) == pytest.approx(float(exact), rel=1e-12)


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
        _, _, lane, column = accumulator_place(m, n, accumulator, config.tile[1])
        assert offset == lane << 16 | column
    assert config.columns == tmem_columns(config.tile[1], config.accumulators)


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
    outcome = find("17.3").grade((allocated_by_the_library, by_warp_5))
    assert outcome.points == 0
    assert "NVIDIA's TmemAllocator" in outcome.message


@pytest.mark.parametrize("answer", [load_steps, (load_steps, multiply_steps), 3])
def test_a_pair_wants_three_loops(answer):
    outcome = find("17.9").grade(answer)
    assert outcome.points == 0
    assert "(produce, multiply, store)" in outcome.message
