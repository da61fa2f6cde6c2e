"""The kernel around notebook 14's two loops: its tiles, what the compiler makes of it, its results on a GPU."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutorlib.checking.running import find_fault
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.specialized import GROUP, Sizes, load_steps, make_specialized, multiply_steps
from tutorlib.measuring.launchers import CuteLauncher, tensor_specs
from tutorlib.models.l2 import grouped
from tutorlib.problems.catalogue import gemm

PROBLEM = gemm("bf16")
CONFIGS = (
    HopperConfig(),
    HopperConfig((128, 128, 64)),
    HopperConfig((64, 64, 64), stages=3),
    HopperConfig((256, 128, 64)),
)
SHAPES = ((129, 200, 72), (65, 24, 40), (64, 64, 64), (300, 520, 200), (2100, 2104, 520), (4096, 4096, 256))


def host(config):
    return make_specialized(config, load_steps, multiply_steps)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 132))
def test_blocks_take_every_tile_once(tiles_m, tiles_n, blocks):
    blocks = min(blocks, tiles_m * tiles_n)
    sizes = Sizes(tiles_m, tiles_n, 1, blocks)
    counts = [sizes.tiles_of(block) for block in range(blocks)]
    assert sum(counts) == tiles_m * tiles_n
    assert max(counts) == sizes.rounds
    taken = sorted(
        grouped(block + number * blocks, tiles_m, tiles_n, GROUP)
        for block in range(blocks)
        for number in range(counts[block])
    )
    assert taken == list(product(range(tiles_m), range(tiles_n)))


def test_rows_that_tma_cannot_take_are_refused_with_the_reason():
    with pytest.raises(CompileFailed, match="TMA's rows start at multiples of 16 bytes"):
        compile_cute(host(HopperConfig()), tensor_specs(PROBLEM, (128, 256, 65)), "sm_90a")


@pytest.mark.gpu("90a")
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_results_at_shapes_that_no_tile_divides(config):
    launcher = CuteLauncher(host(config), PROBLEM)
    assert {shape: find_fault(PROBLEM, launcher, shape) for shape in SHAPES} == dict.fromkeys(SHAPES)
