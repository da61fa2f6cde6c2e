"""Page 16's MLP split over two GPUs, with NCCL: results and gradients are those of the whole MLP."""

import os

import pytest
import torch

from tests.kernels.fused.split_mlp import WORLD, run_split

pytestmark = pytest.mark.gpu("90a")


@pytest.mark.skipif(torch.cuda.device_count() < WORLD, reason="needs two GPUs")
def test_a_split_mlp_trains_as_the_whole_one(monkeypatch):
    if "NCCL_NVLS_ENABLE" not in os.environ:
        monkeypatch.setenv("NCCL_NVLS_ENABLE", "0")  # without NVLink multicast, which not every host has
    run_split("nccl", "cuda")
