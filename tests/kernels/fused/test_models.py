"""Models from other libraries, with their nn.Linear swapped: results, losses and dtypes are those of torch's own."""

import copy

import pytest
import torch
from torch import nn

from tests.kernels.fused.models import MODELS, Trial
from tutorlib.kernels.fused.linear import KernelLinear, use_kernels


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def trial(request) -> Trial:
    torch.manual_seed(0)
    return request.param()


@pytest.fixture
def swapped(trial) -> nn.Module:
    """With the same weights."""
    return use_kernels(copy.deepcopy(trial.model))


def test_every_linear_layer_is_swapped(trial, swapped):
    linear = [name for name, module in trial.model.named_modules() if type(module) is nn.Linear]
    assert linear
    assert [name for name, module in swapped.named_modules() if type(module) is KernelLinear] == linear
    assert list(swapped.state_dict()) == list(trial.model.state_dict())


def test_three_training_steps_have_the_same_losses(trial, swapped):
    plain, ours = (
        trial.losses(model, torch.optim.AdamW(model.parameters(), lr=1e-3), 3) for model in (trial.model, swapped)
    )
    assert ours == pytest.approx(plain, rel=1e-4)
    assert plain[-1] < plain[0]


def test_it_is_one_graph_for_torch_compile(trial, swapped):
    compiled = torch.compile(swapped, fullgraph=True, backend="aot_eager")
    got, expected = (trial.logits_of(model, trial.inputs) for model in (compiled, trial.model))
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_under_autocast_it_has_the_dtypes_of_torchs_own(trial, swapped):
    with torch.autocast("cpu", torch.bfloat16):
        got, expected = (trial.logits_of(model, trial.inputs) for model in (swapped, trial.model))
    assert got.dtype == expected.dtype
    torch.testing.assert_close(got, expected, rtol=2**-5, atol=2**-5)
