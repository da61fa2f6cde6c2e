"""The tensors that a kernel is compiled for."""

import re

import pytest
import torch
from cutlass import cute

from tests.compiling.kernels import double_kernel, launch
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.spec import TensorSpec


def test_a_torch_tensors_spec():
    assert TensorSpec.like(torch.zeros(3, 4, dtype=torch.bfloat16)) == TensorSpec((3, 4), "bf16")
    assert TensorSpec.like(torch.zeros(3, dtype=torch.int32), dynamic=True) == TensorSpec((3,), "int32", dynamic=True)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "int32"])
def test_dynamic_layouts_take_their_sizes_at_run_time(dtype):
    def parameter_bytes(spec):
        ptx = compile_cute(launch(double_kernel), [spec]).ptx
        return int(re.search(r"\.param .*_param_0\[(\d+)\]", ptx)[1])

    static = TensorSpec((64, 32), dtype)
    dynamic = TensorSpec((64, 32), dtype, dynamic=True)
    assert parameter_bytes(static) == 8  # the address alone
    assert parameter_bytes(dynamic) > 8


def test_order_says_which_mode_is_contiguous():
    seen = []

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor):
        seen.extend([str(a.layout), str(b.layout)])
        double_kernel(a).launch(grid=(1, 1, 1), block=(1, 1, 1))

    compile_cute(host, [TensorSpec((8, 4)), TensorSpec((8, 4), order=(0, 1))])
    assert seen == ["(8,4):(4,1)", "(8,4):(1,8)"]
