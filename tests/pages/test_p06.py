"""Notebook 06: the bound on a softmax."""

import pytest
import torch

from tutorlib.exercises.p06 import softmax


@pytest.mark.parametrize("n", [1, 100, 1000])
def test_the_bound_takes_an_fp32_softmax_and_no_fp16_one(n):
    problem, shape = softmax("fp32"), (16, n)
    (x,) = problem.random(shape, torch.Generator().manual_seed(n))
    x = x * 20
    want, allowed = problem.expected((x,), shape)
    assert ((x.softmax(-1).double() - want).abs() <= allowed).all()
    if n > 1:
        assert ((x.half().softmax(-1).double() - want).abs() > allowed).any()
