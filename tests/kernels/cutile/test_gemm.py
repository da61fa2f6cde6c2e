"""Notebook 07's GEMM with its tile and hints as parameters."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutorlib.kernels.cutile.gemm import Config, persistent, space
from tutorlib.simulate.cutile import run


@settings(max_examples=15)
@given(
    m=st.integers(1, 90), n=st.integers(1, 90), k=st.integers(1, 70), group=st.integers(1, 4), blocks=st.integers(1, 5)
)
def test_any_sizes(m, n, k, group, blocks):
    a, b, c = torch.randn(m, k), torch.randn(n, k), torch.full((m, n), torch.nan)
    report = run(persistent, (blocks,), (a, b, c, 32, 16, 16, group))
    assert not report.findings
    torch.testing.assert_close(c, a @ b.mT, rtol=1e-4, atol=1e-4)


def test_the_space_is_what_fits():
    configs = list(space())
    assert all(config.fits() for config in configs)
    assert Config(128, 256, num_worker_warps=8) in configs
    assert Config(128, 256, num_worker_warps=4) not in configs


@pytest.mark.parametrize("config", [Config(64, 64, 32), Config(256, 256, 64, num_ctas=2, num_worker_warps=8)])
def test_the_grid_is_no_larger_than_the_work(config):
    assert config.grid((100, 100), 132)[0] == config.tiles((100, 100))
    assert config.grid((8192, 8192), 132)[0] == 132 // config.num_ctas
