"""Reading a cubin, against what ptxas says of the same code."""

import pytest

from tests.compiling.kernels import (
    double_kernel,
    launch,
    local_array_kernel,
    printing_kernel,
    shared_kernel,
    spilling_kernel,
    wide_kernel,
)
from tutorlib.compiling import ptxas
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.spec import TensorSpec

KERNELS = [double_kernel, wide_kernel, shared_kernel, spilling_kernel, local_array_kernel, printing_kernel]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_the_cubin_is_read_as_ptxas_describes_it(kernel):
    compiled = compile_cute(launch(kernel), [TensorSpec((1024,))])
    _, said = ptxas.assemble(compiled.ptx)
    assert f"Used {compiled.registers} registers" in said
    assert f"{compiled.stack_bytes} bytes stack frame" in said
