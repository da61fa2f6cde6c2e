"""What is read from the code that a compiler made, against what ptxas says of it."""

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
from tutorlib.compiling import programs
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.spec import TensorSpec

VECTOR = TensorSpec((1024,))


def test_shared_memory_threads_and_summary():
    compiled = compile_cute(launch(shared_kernel), [VECTOR])
    assert compiled.smem_bytes == 128 * 4
    assert compiled.threads == 128
    assert str(compiled) == (
        f"sm_80: 128 threads, {compiled.registers} registers, no spills, 512 bytes of shared memory"
    )


def test_the_body_is_what_the_threads_do():
    body = compile_cute(launch(double_kernel), [VECTOR]).body
    assert body.split("\n")[0].split() == ["ld.param.b64", "%rd1,", "[param_0];"]
    assert body.split("\n")[-1].strip() == "ret;"
    assert ".reg" not in body


def test_instructions():
    names = {kernel: compile_cute(launch(kernel), [VECTOR]).instructions for kernel in (double_kernel, wide_kernel)}
    assert names[double_kernel] == {"ld.global", "st.global"}
    assert names[wide_kernel] == {"ld.global", "st.global", "ld.global.v4", "st.global.v4"}
    assert "bar.sync" in compile_cute(launch(shared_kernel), [VECTOR]).instructions


@pytest.mark.parametrize(
    "kernel",
    [double_kernel, wide_kernel, shared_kernel, spilling_kernel, local_array_kernel, printing_kernel],
    ids=lambda kernel: kernel.__name__,
)
def test_the_cubin_is_read_as_ptxas_describes_it(kernel):
    compiled = compile_cute(launch(kernel), [VECTOR])
    _, said = programs.assemble(compiled.ptx)
    assert f"Used {compiled.registers} registers" in said
    assert f"{compiled.stack_bytes} bytes stack frame" in said


def test_spills_are_told_from_arrays():
    spilling, array = (compile_cute(launch(kernel), [VECTOR]) for kernel in (spilling_kernel, local_array_kernel))
    assert spilling.spill_bytes >= 4 * (300 - 255)
    assert array.stack_bytes >= 64 * 4
    assert array.spill_bytes == 0
