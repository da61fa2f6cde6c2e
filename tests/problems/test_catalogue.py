"""The problems that notebooks ask for: their baselines are right, and their patterns tell what is exchanged."""

import pytest
import torch

from tests.problems.inputs import generator
from tutorlib.problems.catalogue import copy, gemm, gemm_fp8, gemm_m_major, gemm_tf32, transpose, vector_add
from tutorlib.problems.problem import torch_dtype

SHAPE = {"MN": (96, 160), "N": (1000,), "MNK": (96, 160, 320)}
LARGE = {"MN": (256, 512), "N": (4096,), "MNK": (256, 512, 320)}
PROBLEMS = [copy("bf16"), copy("fp32"), vector_add("fp32"), vector_add("bf16"), gemm("bf16"), gemm("fp16")]
PROBLEMS += [gemm_tf32(), gemm_fp8()]
TRANSPOSE = transpose("fp32")  # whose baseline is a copy of as many bytes


def name_of(problem):
    return f"{problem.name}-{problem.inputs[0].dtype}-{problem.output.dtype}"


@pytest.mark.parametrize("problem", PROBLEMS, ids=name_of)
def test_the_baseline_is_within_the_bound(problem):
    shape = SHAPE[problem.dims]
    for inputs in (problem.random(shape, generator()), problem.pattern(shape, "cpu")):
        want, allowed = problem.expected(inputs, shape)
        output = torch.empty(problem.shape_of(problem.output, shape), dtype=torch_dtype(problem.output.dtype))
        problem.baseline(output, *inputs)
        assert ((output.double() - want).abs() <= allowed).all()


def test_a_transposes_baseline_moves_as_many_bytes():
    (src,) = TRANSPOSE.random((96, 160), generator())
    output = torch.empty(160, 96)
    TRANSPOSE.baseline(output, src)
    assert torch.equal(output.view(96, 160), src)


@pytest.mark.parametrize("problem", [*PROBLEMS, TRANSPOSE], ids=name_of)
def test_the_pattern_tells_a_swap_of_blocks(problem):
    shape = LARGE[problem.dims]
    want, allowed = problem.expected(problem.pattern(shape, "cpu"), shape)
    for block in (8, 64, 128):
        for mode in range(want.dim()):
            swapped = want.roll(block, mode)
            assert ((swapped - want).abs() > allowed).any(mode).all()


EXACT = [
    problem for problem in (*PROBLEMS, TRANSPOSE) if problem.name != "vector_add"
]  # a sum of two ramps reaches 500


@pytest.mark.parametrize("problem", EXACT, ids=name_of)
def test_the_patterns_result_is_exact_in_the_outputs_dtype(problem):
    shape = SHAPE[problem.dims]
    want, _ = problem.expected(problem.pattern(shape, "cpu"), shape)
    assert torch.equal(want.to(torch_dtype(problem.output.dtype)).double(), want)


def test_a_column_major_operand_has_the_same_values_in_another_order():
    plain, columns = (problem.pattern((16, 8, 4), "cpu") for problem in (gemm("bf16"), gemm_m_major("bf16")))
    assert [one.stride() for one in columns] == [(1, 16), (4, 1)]
    assert all(map(torch.equal, plain, columns))
    a, _ = gemm_m_major("bf16").random((16, 8, 4), generator())
    assert a.stride() == (1, 16)
