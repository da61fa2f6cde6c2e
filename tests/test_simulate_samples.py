"""NVIDIA's own kernels, interpreted, against torch.

They are not part of this repository. TUTORLIB_CUTILE_SAMPLES names a checkout of NVIDIA/cutile-python.
"""

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from tutorlib.simulate.cutile import run

FOLDER = "TUTORLIB_CUTILE_SAMPLES"

pytestmark = pytest.mark.skipif(FOLDER not in os.environ, reason=f"{FOLDER} names no checkout of NVIDIA/cutile-python")


@pytest.fixture
def sample(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(os.environ[FOLDER]) / "test"))
    yield lambda name: import_module(f"kernels.{name}")
    for name in [name for name in sys.modules if name.split(".")[0] == "kernels"]:
        del sys.modules[name]


def tiles(n, tile):
    return -(-n // tile)


@pytest.mark.parametrize("gather", [False, True])
def test_vector_addition(sample, gather):
    module = sample("vec_add")
    a, b, c = torch.randn(70, 45), torch.randn(70, 45), torch.zeros(70, 45)
    kernel = module.vec_add_kernel_2d_gather if gather else module.vec_add_kernel_2d
    assert not run(kernel, (tiles(70, 32), tiles(45, 16)), (a, b, c, 32, 16)).findings
    assert torch.equal(c, a + b)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.bfloat16], ids=str)
def test_matmul(sample, dtype):
    m, n, k = 150, 90, 200
    a, b, c = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype), torch.zeros(m, n).to(dtype)
    report = run(sample("matmul").matmul_kernel, (tiles(m, 32) * tiles(n, 32), 1, 1), (a, b, c, 32, 32, 64))
    assert not report.findings
    exact = a.double() @ b.double()
    unit = 2**-11 if dtype == torch.float32 else torch.finfo(dtype).eps  # fp32 goes through tf32
    assert (c.double() - exact).abs().max() <= 4 * unit * exact.abs().max()


def test_transpose(sample):
    x, y = torch.randn(100, 70), torch.zeros(70, 100)
    assert not run(sample("transpose").transpose_kernel, (tiles(100, 32), tiles(70, 16)), (x, y, 32, 16)).findings
    assert torch.equal(y, x.T)


def test_layer_norm(sample):
    x, w, b = torch.randn(12, 200), torch.randn(200), torch.randn(200)
    y, mean, rstd = torch.zeros(12, 200), torch.zeros(12), torch.zeros(12)
    assert not run(sample("layer_norm").layer_norm_fwd, (12,), (x, w, b, y, mean, rstd, 1e-5, 64)).findings
    torch.testing.assert_close(y, functional.layer_norm(x, (200,), w, b, 1e-5), rtol=1e-4, atol=1e-4)


def test_rms_norm(sample):
    x, w = torch.randn(12, 256), torch.randn(256)
    out, rstd = torch.zeros(12, 256), torch.zeros(12)
    assert not run(sample("rms_norm").rms_norm_kernel, (12,), (x, w, out, rstd, 256, 1e-6, 64)).findings
    torch.testing.assert_close(out, functional.rms_norm(x, (256,), w, 1e-6), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(sample, causal):
    q, k, v = (torch.randn(1, 4, 64, 16) for _ in range(3))
    out = torch.zeros(1, 4, 64, 16)
    args = (q, k, v, out, 0.25, 0, 16, 4, 32, 32, 1, causal, True)
    assert not run(sample("attention").fmha_kernel, (2, 4, 1), args).findings
    want = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    torch.testing.assert_close(out, want, rtol=1e-4, atol=1e-4)
