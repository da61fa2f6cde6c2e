"""Compiled functions that are kept: equal keys are served by one compilation, which CuTe itself says."""

from random import Random

import pytest
import torch
from cutlass import cute

from tutorlib.exercises import p20 as keys
from tutorlib.kernels.compiled_once import CompiledKernels, cache_key, for_torch, load_or_compile


@cute.jit
def double_columns_on_cpu(x: cute.Tensor, y: cute.Tensor) -> None:
    """y = 2x, in one thread of the CPU's."""
    for n in range(x.shape[1]):
        for m in range(x.shape[0]):
            y[m, n] = x[m, n] + x[m, n]


@cute.jit
def double_on_cpu(x: cute.Tensor, y: cute.Tensor) -> None:
    """The same for vectors."""
    for i in range(cute.size(x)):
        y[i] = x[i] + x[i]


def test_calls_with_equal_keys_are_served_by_one_compilation():
    made = []

    def compile(x, y):
        made.append(x.shape)
        return for_torch(double_columns_on_cpu, x, y)

    doubled = CompiledKernels(compile, lambda *tensors: cache_key(tensors, (), "cpu"))
    for rows, columns in ((4, 8), (12, 8), (12, 24)):
        x, y = torch.rand(rows, columns), torch.zeros(rows, columns)
        doubled(x, y)
        doubled(x.T, y.T)
        assert y.equal(2 * x)
    assert made == [(4, 8), (8, 4)]


@pytest.mark.parametrize(("calls", "compilations"), [(keys.dtypes, 8), (keys.others, 16)])
def test_calls_that_need_several_have_as_many_keys(calls, compilations):
    """Of five dtypes and four orders of two; of eleven tuples of constants and five architectures."""
    assert len({cache_key(*call) for call in calls(Random(17))}) == compilations


def test_what_serves_only_one_dtype_refuses_another():
    compiled = for_torch(double_on_cpu, torch.zeros(4), torch.zeros(4))
    with pytest.raises(ValueError, match="dtype"):
        compiled(torch.zeros(4, dtype=torch.float16), torch.zeros(4))


def test_a_saved_function_is_not_compiled_again(tmp_path):
    x, y = torch.arange(4.0), torch.zeros(4)
    load_or_compile(tmp_path / "new", "double", lambda: for_torch(double_on_cpu, x, y))

    def never():
        raise AssertionError("compiled")

    load_or_compile(tmp_path / "new", "double", never)(x, y)
    assert y.equal(2 * x)
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["double.o"]
