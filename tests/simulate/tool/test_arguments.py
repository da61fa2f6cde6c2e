"""Arguments as the command line has them."""

import numpy as np
import pytest
import torch

from tutorlib.simulate.command import DTYPES, parse_arch, parse_argument, parse_sizes
from tutorlib.simulate.tensors import is_poison


def parsed(text, seed=0):
    return parse_argument(text, np.random.default_rng(seed))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_of_every_dtype(dtype):
    given, value = parsed(f"4x6:{dtype}"), parsed(f"4x6:{dtype}").for_torch
    assert value.shape == (4, 6)
    assert value.stride() == (6, 1)
    assert str(value.dtype) == f"torch.{DTYPES[dtype]}"
    assert not given.is_output
    assert value.double().unique().numel() > 1


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool"])
def test_an_output_knows_what_was_not_written(dtype):
    given = parsed(f"4x6:{dtype}:out")
    assert given.is_output
    given.value[0] = 1
    assert is_poison(given.value).sum() == 18
    assert not is_poison(given.value)[0].any()


def test_marks():
    assert parsed("4x6:fp32:col").for_torch.stride() == (1, 4)
    assert parsed("4x6:bf16:out:col").for_torch.stride() == (1, 4)
    assert not parsed("4x6:fp32:zeros").value.any()


@pytest.mark.parametrize(("text", "value"), [("128", 128), ("0.5", 0.5), ("True", True), ("(1, 2)", (1, 2))])
def test_anything_else_is_a_literal(text, value):
    assert parsed(text).value == value


def test_a_seed_gives_the_same_numbers():
    assert torch.equal(parsed("8:bf16", 3).value, parsed("8:bf16", 3).value)


def test_sizes_and_capabilities():
    assert parse_sizes("--grid", "8x4") == (8, 4)
    assert parse_sizes("--grid", "") == ()
    assert parse_arch("sm_90a") == parse_arch("90a") == "90a"
