"""Compiled functions that are kept: equal keys are served by one compilation, which CuTe itself says."""

from random import Random

import pytest
import torch

from tutorlib.exercises import p17 as keys
from tutorlib.kernels.compiled_once import CompiledKernels, cache_key, for_torch, load_or_compile
from tutorlib.kernels.doubling import double_columns_on_cpu, double_on_cpu


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


@pytest.mark.parametrize("pairs", [keys.dtypes, keys.layouts, keys.alignments, keys.others], ids=lambda f: f.__name__)
def test_calls_that_need_two_have_two_keys(pairs):
    for what, one, other in pairs(Random(17)):
        assert cache_key(*one) != cache_key(*other), what


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
