"""What ptxas alone knows."""

from tests.compiling.kernels import launch, local_array_kernel, spilling_kernel
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.spec import TensorSpec

VECTOR = TensorSpec((1024,))


def test_spills_are_told_from_arrays():
    spilling, array = (compile_cute(launch(kernel), [VECTOR]) for kernel in (spilling_kernel, local_array_kernel))
    assert spilling.spill_bytes >= 4 * (300 - 255)
    assert array.stack_bytes >= 64 * 4
    assert array.spill_bytes == 0
