"""Notebook 12's kernel in CUDA C++ is its Python twin: the same result, the same instructions, nothing in vain."""

import pytest
import torch

from tutorlib.compiling.compiled import opcodes
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.kernels.cpp.gemm import THREE_STAGES
from tutorlib.simulate.ptx.languages.cpp import compile_cuda, simulate_cuda

TWIN = GemmConfig(THREE_STAGES.tile, (2, 2), THREE_STAGES.stages)


@pytest.mark.parametrize("shape", [(256, 256, 160), (128, 128, 32)])  # more K tiles than stages, and fewer
def test_it_multiplies_and_nothing_is_noticed(shape):
    m, n, k = shape
    a, b = (torch.randn(rows, k, generator=torch.Generator().manual_seed(0)).bfloat16() for rows in (m, n))
    c = torch.full((m, n), torch.nan).bfloat16()
    arguments = {"a": a, "b": b, "c": c, "m": m, "n": n, "k": k}
    report = simulate_cuda(
        THREE_STAGES.source, THREE_STAGES.grid(shape), (THREE_STAGES.threads, 1, 1), arguments, THREE_STAGES.smem_bytes
    )
    torch.testing.assert_close(c.float(), a.float() @ b.float().mT, rtol=2**-7, atol=0.02)
    assert not report.findings
    assert not [access for access in report.accesses if access.wasted]  # no bank conflict, whole sectors


def test_it_has_the_instructions_of_its_python_twin():
    theirs = opcodes(compile_cute(make_gemm(TWIN, multistage), [TensorSpec((4096, 4096), "bf16")] * 3).ptx)
    ours = opcodes(compile_cuda(THREE_STAGES.source))
    assert (TWIN.smem_bytes, TWIN.threads) == (THREE_STAGES.smem_bytes, THREE_STAGES.threads)
    for name in ("cp.async", "ldmatrix.x4", "mma.sync", "st.global.v4", "wait_group", "bar.sync"):
        assert ours.count(name) == theirs.count(name) > 0, name
