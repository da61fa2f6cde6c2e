"""How far a result may be from torch's."""

import pytest
import torch

from tutorlib.problems.agreement import find_disagreement

WANT = torch.tensor([0.0, 1.0, 100.0], dtype=torch.float64)
NOTHING = torch.zeros(3, dtype=torch.bool)


@pytest.mark.parametrize(
    ("dtypes", "error", "agrees"),
    [
        ((torch.float32,), 0.04, True),  # a rounding to tf32 of 100 is at most 0.049
        ((torch.float32,), 0.11, False),
        ((torch.float32, torch.bfloat16), 0.39, True),
        ((torch.bfloat16,), 0.9, False),
        ((torch.float64,), 1e-4, False),
        ((torch.float8_e4m3fn, torch.float32), 6.0, True),
    ],
)
def test_the_coarsest_dtype_decides(dtypes, error, agrees):
    assert (find_disagreement("c", WANT.float() + error, NOTHING, WANT, dtypes) is None) == agrees


def test_integers_are_equal_or_not():
    want = torch.tensor([1, 2, 3])
    assert find_disagreement("c", want.int(), NOTHING, want, (torch.int32, torch.float32)) is None
    wrong = find_disagreement("c", want.int() + 1, NOTHING, want, (torch.int32, torch.float32))
    assert wrong.what == "c[0] is 2 and should be 1. Wrong: all 3 elements."


def test_what_was_never_written_is_said():
    got = torch.tensor([0.0, 1.0, float("nan")])
    wrong = find_disagreement("c", got, got.isnan(), WANT, (torch.float32,))
    assert wrong.what.startswith("c[2] is still NaN: the kernel never wrote it.")
