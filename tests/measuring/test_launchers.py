"""Launchers: the tensors that a kernel is compiled for, and how often it is."""

from tests.gpu.right_kernels import one_thread_per_element
from tests.wrong.gpu_kernels import COPY
from tutorlib.compiling.spec import TensorSpec
from tutorlib.measuring.launchers import CuteLauncher, tensor_specs
from tutorlib.problems.catalogue import copy, gemm, transpose


def test_specs_are_the_problems_tensors_the_output_last():
    assert tensor_specs(gemm("bf16"), (8, 16, 32)) == [
        TensorSpec((8, 32), "bf16"), TensorSpec((16, 32), "bf16"), TensorSpec((8, 16), "bf16"),
    ]  # fmt: skip
    assert [spec.shape for spec in tensor_specs(transpose("fp32"), (64, 96))] == [(64, 96), (96, 64)]


def test_dynamic_layouts_carry_what_divides_their_size():
    wanted = TensorSpec((2048, 64), dynamic=True, divisibility=4)
    assert tensor_specs(copy("fp32"), (2048, 64), dynamic=True, divisible=4) == [wanted] * 2


def test_one_compilation_serves_all_sizes_where_layouts_are_dynamic():
    launcher = CuteLauncher(one_thread_per_element, COPY.problem, dynamic=True)
    assert launcher.compiled((8, 16), "80") is launcher.compiled((32, 64), "80")
    assert launcher.compiled((8, 16), "90") is not launcher.compiled((8, 16), "80")


def test_each_size_has_its_own_where_they_are_static():
    launcher = CuteLauncher(one_thread_per_element, COPY.problem)
    assert launcher.compiled((8, 16), "80") is launcher.compiled((8, 16), "80")
    assert launcher.compiled((8, 16), "80") is not launcher.compiled((32, 64), "80")
