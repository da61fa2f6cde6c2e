"""Models of other libraries on a Hopper GPU, their nn.Linear on the course's kernel: losses are torch's own."""

import copy
import re

import pytest
import torch
from torch import nn

from tests.kernels.fused.models import MODELS, Trial
from tutorlib.kernels.fused.linear import left_to_torch, report, use_kernels

pytestmark = pytest.mark.gpu("90a")
WIDTH = 256
STEPS = 5


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def trial(request) -> Trial:
    torch.manual_seed(0)
    return request.param(WIDTH).to("cuda", torch.bfloat16)


@pytest.fixture
def swapped(trial) -> nn.Module:
    left_to_torch.clear()
    return use_kernels(copy.deepcopy(trial.model))


def test_training_has_torchs_losses(trial, swapped):
    """Within what bf16 rounds away in STEPS steps; and the kernel computes all but layers of odd sizes."""
    plain, ours = (
        trial.losses(model, torch.optim.SGD(model.parameters(), lr=1e-2), STEPS) for model in (trial.model, swapped)
    )
    print(plain, ours, *report(), sep="\n")
    assert ours == pytest.approx(plain, rel=2**-5)
    assert [line for line in report() if not re.search(r"1001|\((10|2), |, (10|2)\)|bias", line)] == []


def test_compiled_it_is_one_graph(trial, swapped):
    expected = trial.logits_of(trial.model, trial.inputs)
    got = trial.logits_of(torch.compile(swapped, fullgraph=True), trial.inputs)
    torch.testing.assert_close(got, expected, rtol=2**-5, atol=2**-5 * float(expected.detach().abs().max()))
