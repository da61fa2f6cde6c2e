"""Numbers that a kernel computes twice."""

import pytest
import torch

from tests.simulate.ptx.snippets import kernel, launch
from tutorlib.measuring.kernel_work import KernelWork
from tutorlib.simulate.ptx.memory import listening

LOAD = """mul.wide.u32 %rd0, %tid_x, 4; add.u64 %rd0, %rd_x, %rd0; ld.global.f32 %f0, [%rd0];
mul.f32 %f1, %f0, 0f3F000000;
"""


@pytest.mark.parametrize(
    ("again", "twice"),
    [
        ("mul.f32 %f2, 0f3F000000, %f0;", True),
        ("mul.f32 %f3, %f0, 0f3E800000; add.f32 %f2, %f3, %f3;", True),  # 2 · (x / 4)
        ("fma.rn.f32 %f2, %f0, 0f3F000000, 0f33000000;", True),  # x/2 + 3e-8, less than a rounding
        ("fma.rn.f32 %f2, %f0, 0f33000000, %f1;", False),  # x/2, corrected
        ("mul.f32 %f1, %f0, 0f3F000000;", False),  # one register, which two branches of a program may set
        ("mul.f32 %f2, %f0, 0f3F008000;", False),  # 0.502 · x
        ("add.f32 %f2, %f0, 0f4B400000; add.f32 %f3, %f0, 0f4B400001;", False),  # round(x) in the low bits
        ("sub.f32 %f2, %f0, %f0; sub.f32 %f3, %f1, %f1;", False),  # zeros say nothing
    ],
)
@listening(KernelWork)
def test_a_number_that_two_instructions_compute(again, twice):
    x = torch.randn(64, generator=torch.Generator().manual_seed(1))
    assert bool(launch(kernel(LOAD + again, ["x"]), {"x": x}, threads=64).computed_twice) is twice
