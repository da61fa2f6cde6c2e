"""Notebook 07's GEMM with its tile and hints as parameters."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutorlib.kernels.cutile.gemm import persistent
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
