"""cuTile's GEMMs, on the interpreter."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutorlib.compiling import programs
from tutorlib.compiling.dsls import compile_cutile
from tutorlib.compiling.spec import TensorSpec
from tutorlib.exercises.p07 import BENCH_FP8
from tutorlib.kernels.cutile import persistent, slabs
from tutorlib.simulate.cutile import run


@pytest.mark.parametrize(
    ("runtime_zero", "near", "far", "spills", "says"),
    [
        (False, 0, 0, True, None),
        (False, 3, 6, False, "insufficient register resources"),
        (False, 7, 7, False, "non wgmma instructions reading accumulator registers"),
        (True, 0, 0, False, None),
        (True, 3, 6, False, None),
    ],
)
def test_a_zero_that_the_compiler_knows_costs_registers(runtime_zero, near, far, spills, says):
    m, n, k = BENCH_FP8
    specs = [TensorSpec((m, k), "e4m3"), TensorSpec((n, k), "e4m3"), TensorSpec((m, n), "bf16")]
    by_tma = near != 7
    arguments = [*specs, 128, 128, runtime_zero, near, far, by_tma]
    made = compile_cutile(slabs.replace_hints(num_worker_warps=8), arguments, "sm_90")
    assert (made.stack_bytes > 1000) == spills
    assert (programs.serialized(made.ptx) or "").startswith(says or "")
    assert bool(programs.serialized(made.ptx)) == bool(says)


@settings(max_examples=15)
@given(
    m=st.integers(1, 90), n=st.integers(1, 90), k=st.integers(1, 70), group=st.integers(1, 4), blocks=st.integers(1, 5)
)
def test_any_sizes(m, n, k, group, blocks):
    a, b, c = torch.randn(m, k), torch.randn(n, k), torch.full((m, n), torch.nan)
    report = run(persistent, (blocks,), (a, b, c, 32, 16, 16, group))
    assert not report.findings
    torch.testing.assert_close(c, a @ b.mT, rtol=1e-4, atol=1e-4)
