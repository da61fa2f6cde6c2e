"""A problem: its inputs, its exact result, and what it costs at least."""

import pytest
import torch

from tests.problems.inputs import generator
from tutorlib.problems.catalogue import gemm


def test_a_float32_reference_differs_by_a_small_part_of_the_bound():
    problem = gemm("bf16")
    inputs = problem.random((64, 96, 8192), generator())
    exact, allowed = problem.expected(inputs, (64, 96, 8192))
    quick, also_allowed = problem.expected(inputs, (2**11, 2**11, 2**11))  # a shape above 2^33 operations
    assert quick.dtype == torch.float32
    only_summing = allowed - exact.abs() * 2**-8
    assert ((quick - exact).abs() < 0.1 * only_summing).all()
    assert torch.allclose(also_allowed.double(), allowed, rtol=1e-4)


def test_random_inputs_are_new_for_every_seed_and_scaled():
    problem = gemm("bf16")
    a, b = problem.random((256, 256, 1024), generator(1))
    assert not torch.equal(a, problem.random((256, 256, 1024), generator(2))[0])
    assert a.float().std() == pytest.approx(1, rel=0.02)
    assert b.float().std() == pytest.approx(1024**-0.5, rel=0.02)
