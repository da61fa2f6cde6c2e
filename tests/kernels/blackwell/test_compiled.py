"""The Blackwell kernel, compiled for both of its GPUs and looked at."""

import re

import pytest

from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.ptx import BLACKWELL_OPCODES, allocated_columns, opcodes
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.blackwell.config import PAIR, SINGLE, BlackwellConfig
from tutorlib.kernels.blackwell.gemm import make_blackwell_gemm

SHARED = BlackwellConfig((256, 256, 64), pair=True, stages=6, sharing=2)
SPECS = [TensorSpec((1024, 1024), "bf16")] * 3


@pytest.mark.parametrize(
    ("arch", "config"), [("sm_100a", SINGLE), ("sm_103a", SINGLE), ("sm_100a", PAIR), ("sm_103a", SHARED)]
)
def test_instructions_columns_and_stages(arch, config):
    compiled = compile_cute(make_blackwell_gemm(config), SPECS, arch)
    ptx, found = compiled.ptx, opcodes(compiled.ptx, BLACKWELL_OPCODES)
    assert f".target {arch}" in ptx
    assert found.count("tcgen05.mma") == 4  # of a K tile
    for name in ("tcgen05.alloc", "tcgen05.ld", "tcgen05.wait", "tcgen05.dealloc", "expect"):
        assert found.count(name) == 1
    assert found.count("tcgen05.commit") == 2
    group = f"cta_group::{config.width}"
    assert all(group in line for line in re.findall(r"tcgen05\.(?:mma|commit|alloc|dealloc)\S*", ptx))
    assert allocated_columns(ptx) == [512]
    assert len(re.findall(r"mbarrier\.init\b", ptx)) == 2 * (config.stages + config.accumulators)
    assert f"{config.stage_bytes * config.width};" in ptx  # what full counts
    assert config.smem_bytes - 1024 < compiled.smem_bytes <= config.smem_bytes
    assert (compiled.threads, compiled.spill_bytes) == (192, 0)
    assert ("TMA multicast" in compiled.instructions) is (config.sharing > 1)
    assert ("tcgen05 pairs" in compiled.instructions) is config.pair
    assert ("barrier.cluster" in ptx) is (config.blocks > 1)
