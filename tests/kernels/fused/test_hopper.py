"""Fused epilogues on notebook 14's GEMM: what can be said of them without a GPU."""

import pytest

from tutorlib.kernels.fused.hopper import SWIGLU, choose_fused, fusable


def test_a_gated_tile_leaves_its_buffers_no_more_than_what_stages_leave():
    for config in fusable(gated=True):
        out = SWIGLU.out(config)
        stages, buffers = config.ab_stages * config.stage_room, out.store_buffers * out.store_stage_bytes
        assert stages + buffers + config.other_bytes <= config.room, config


@pytest.mark.parametrize("tokens", [512, 2048, 8192])
@pytest.mark.parametrize("features", [14336, 7168])
def test_the_mlps_gated_gemm_has_a_tile_whose_half_can_be_stored(tokens, features):
    config = choose_fused(tokens, 2 * features, 4096, 132, gated=True)
    assert SWIGLU.out(config).tile[1] * 2 == config.tile[1]
