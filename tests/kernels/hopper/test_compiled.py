"""What the compilers make of each kind of configuration: registers that suffice, wgmmas that overlap."""

import pytest

from tutorlib.compiling import programs
from tutorlib.compiling.programs import resources
from tutorlib.kernels.hopper.config import BYTES, ConfigError, HopperConfig
from tutorlib.kernels.hopper.launch import compile_gemm

E4M3 = {"dtype": "e4m3", "transposed": True}

# One for each path through the kernel, with the tiles that leave the fewest registers.
BATTERY = {
    "plain, cluster": {"schedule": "plain", "persistent": False, "cluster": (2, 1)},
    "deferred, zigzag, polls": {"defer_stores": True, "cluster": (2, 1), "zigzag": True, "polls": True},
    "deferred, stream-K": {"defer_stores": True, "cluster": (2, 1), "stream_k": True},
    "256x208, cluster, stream-K": {"tile": (256, 208, 64), "cluster": (1, 2), "stream_k": True},
    "3 warpgroups": {"tile": (192, 192, 64), "warpgroups": 3, "cluster": (2, 2)},
    "split-K": {"tile": (256, 128, 64), "cluster": (1, 2), "persistent": False, "split_k": 2},
    "split-K of 3, 2 receivers": {"tile": (256, 64, 64), "persistent": False, "split_k": 3},
    "ping-pong, stream-K": {"tile": (128, 208, 64), "schedule": "pingpong", "stream_k": True},
    "both by columns, deferred": {"majors": ("mn", "mn"), "defer_stores": True, "cluster": (2, 1)},
    "B by columns, ping-pong, stream-K": {
        "tile": (128, 192, 64), "majors": ("k", "mn"), "schedule": "pingpong", "stream_k": True
    },
    "hints, fp16": {"l2_a": "evict_last", "dtype": "fp16"},
    "e4m3, transposed": E4M3 | {"tile": (256, 160, 128), "cluster": (1, 2), "scaled": True},
}  # fmt: skip


@pytest.mark.parametrize("name", BATTERY)
def test_nothing_is_spilled_and_no_wgmma_waits_for_the_one_before(name, tmp_path):
    config = HopperConfig(**BATTERY[name])
    built = compile_gemm(config, f"--keep-ptx --keep-cubin --dump-dir {tmp_path}")
    ptx = built.artifacts.PTX
    registers, stack, _ = resources(built.artifacts.CUBIN)
    assert (programs.spilled(ptx), stack) == (0, 0)
    assert programs.serialized(ptx) is None
    assert registers <= config.launch_registers
    m_atoms, k_blocks = config.tile[0] // (64 * config.tile_warpgroups), config.tile[2] * BYTES[config.dtype] // 32
    assert ptx.count("wgmma.mma_async") == 2 * m_atoms * k_blocks  # a tile's first step, and its others
    assert (".multicast::cluster" in ptx) == (config.cluster_size > 1)
    assert ("setmaxnreg.inc" in ptx) == config.moves_registers


def spilled(config, folder):
    built = compile_gemm(config, f"--keep-ptx --keep-cubin --dump-dir {folder}")
    return programs.spilled(built.artifacts.PTX)


def test_an_odd_number_of_deferred_stores_is_refused_where_it_spills_and_nowhere_else(tmp_path, monkeypatch):
    """240 columns transposed are 15 stores; 16 are not refused, nor 13 of fewer results, nor 15 without stream-K."""
    deferred = {"cluster": (2, 1), "defer_stores": True, "transposed": True, "zigzag": True, "polls": True}
    for other in ({"tile": (128, 256, 64), "stream_k": True}, {"tile": (128, 240, 64)}):
        assert spilled(HopperConfig(**deferred, **other), tmp_path) == 0
    HopperConfig(**deferred, tile=(128, 208, 64), stream_k=True)
    refused = {**deferred, "tile": (128, 240, 64), "stream_k": True}
    with pytest.raises(ConfigError, match="even number of stores"):
        HopperConfig(**refused)
    monkeypatch.setattr(HopperConfig, "broken_rules", lambda self: ())
    assert spilled(HopperConfig(**refused), tmp_path) > 0
