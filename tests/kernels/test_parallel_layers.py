"""Swapped layers in two processes: tensor parallel, where torch multiplies and `report` says so, and sharded."""

import copy
import warnings

import pytest
import torch
from torch import distributed, multiprocessing, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from tutorlib.kernels.layers import left_to_torch, report, use_kernels

TENSOR_PARALLEL = [
    f"weight ({out}, {features}) float32: the operator takes plain tensors on a CPU or a GPU (1 call)"
    for out, features in ((12, 8), (8, 12))
]


def tensor_parallel(model):
    mesh = init_device_mesh("cpu", (2,))
    return parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})


WAYS = {  # what makes a model parallel → what the report then lists
    tensor_parallel: TENSOR_PARALLEL,
    lambda model: torch.compile(tensor_parallel(model), backend="aot_eager"): [],
    fully_shard: [],
    nn.parallel.DistributedDataParallel: [],
}


def whole(grad):
    return grad.full_tensor() if isinstance(grad, DTensor) else grad


def compare(rank, store):
    """In each process: every way, with layers swapped before, gives torch's results and gradients."""
    warnings.simplefilter("ignore")
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 8)), torch.randn(4, 8)
    for parallel, listed in WAYS.items():
        left_to_torch.clear()
        plain, swapped = (parallel(make(copy.deepcopy(model))) for make in (nn.Module.train, use_kernels))
        results = [one(x) for one in (plain, swapped)]
        torch.testing.assert_close(*results)
        for result in results:
            result.square().sum().backward()
        for got, wanted in zip(swapped.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(whole(got.grad), whole(wanted.grad))
        assert report() == listed
    distributed.destroy_process_group()


@pytest.mark.skipif(not distributed.is_available(), reason="this torch has no torch.distributed")
def test_parallel_layers_give_what_nn_linears_give(tmp_path):
    multiprocessing.spawn(compare, (str(tmp_path / "store"),), nprocs=2)
