"""A process for each rank of an MLP that is split over them: forward and backward, beside the whole MLP's."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

from tutorlib.kernels.fused.mlp import FusedMLP, LlamaMLP, separate
from tutorlib.kernels.fused.parallel import shard

WORLD = 2
HIDDEN, FEATURES = 256, 512


def run_split(backend: str, device: str) -> None:
    """Raises where a rank's process fails. device: "cpu", or "cuda" for a GPU of each rank's own."""
    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(run_rank, args=(f"file://{folder}/meeting", backend, device), nprocs=WORLD)


def run_rank(rank: int, meeting: str, backend: str, device: str) -> None:
    dtype = torch.float32
    if device == "cuda":
        torch.cuda.set_device(rank)
        dtype = torch.bfloat16
    dist.init_process_group(backend, init_method=meeting, rank=rank, world_size=WORLD)
    try:
        compare(rank, device, dtype)
    finally:
        dist.destroy_process_group()


def compare(rank: int, device: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)  # the same tensors on every rank
    plain = LlamaMLP(HIDDEN, FEATURES).to(device, dtype)
    x, grad = (torch.randn(128, HIDDEN).to(device, dtype) for _ in range(2))
    whole_x, part_x = (x.clone().requires_grad_() for _ in range(2))
    whole = FusedMLP(plain)
    expected = whole(whole_x)
    expected.backward(grad)

    part = FusedMLP(rank_of(plain, rank))
    y = part(part_x)
    y.backward(grad)  # of a sum, each term has the gradient of the sum
    y, dx = y.detach(), part_x.grad
    for tensor in (y, dx):
        dist.all_reduce(tensor)
    close(y, expected.detach())
    close(dx, whole_x.grad)
    shares = shard(*separate(whole.gate_up.grad), whole.down.grad, rank, WORLD)
    for got, share in zip((*separate(part.gate_up.grad), part.down.grad), shares, strict=True):
        close(got, share)


def rank_of(plain: LlamaMLP, rank: int) -> LlamaMLP:
    weights = shard(*(layer.weight.detach() for layer in plain.children()), rank, WORLD)
    mine = LlamaMLP(HIDDEN, FEATURES // WORLD, device="meta")
    for layer, weight in zip(mine.children(), weights, strict=True):
        layer.weight = torch.nn.Parameter(weight)
    return mine


def close(got: torch.Tensor, wanted: torch.Tensor) -> None:
    """Each rank rounds its own share, and so does their sum."""
    rounding = 2.0**-6 if got.dtype == torch.bfloat16 else 2.0**-16
    torch.testing.assert_close(got, wanted, rtol=rounding, atol=rounding * float(wanted.abs().max()))
