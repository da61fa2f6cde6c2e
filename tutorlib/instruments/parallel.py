"""Notebook 16's MLP split over the GPUs of a host: `tutor sweep mlp_parallel`.

A process for each of two GPUs has half of the features, and NCCL adds what comes out of down. Compared with one GPU's,
in result and time, at the shapes of Llama 3 8B; to figures/data/sweeps/GPU_mlp_parallel.json. It takes 30 s.
"""

import os
import statistics
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch import Tensor

from tutorlib.instruments.processes import Failed
from tutorlib.kernels.fused.hopper import linear_swiglu
from tutorlib.kernels.fused.mlp import LLAMA_8B, interleave
from tutorlib.kernels.fused.parallel import shard
from tutorlib.kernels.hopper.launch import gemm
from tutorlib.machine.versions import this_machine
from tutorlib.measuring.results import sweep_file, write_json

NAME = "mlp_parallel"
WORLD = 2
TOKENS = (512, 2048, 4096, 8192)
CALLS = 30


def record() -> Path:
    """Raises Failed on fewer GPUs."""
    if (found := torch.cuda.device_count()) < WORLD:
        raise Failed(f"the MLP is split over {WORLD} GPUs, and here are {found}")
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # without NVLink multicast, which not every host has
    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(run_rank, args=(f"file://{folder}/meeting",), nprocs=WORLD)
    return sweep_file(torch.cuda.get_device_name(), NAME)


def run_rank(rank: int, meeting: str) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl", init_method=meeting, rank=rank, world_size=WORLD, device_id=torch.device("cuda", rank)
    )
    try:
        points = [point(rank, tokens) for tokens in TOKENS]
    finally:
        dist.destroy_process_group()
    if rank == 0:
        machine = this_machine()
        data = {"machine": machine, "date": date.today().isoformat(), "world": WORLD, "points": points}
        write_json(sweep_file(machine["gpu"], NAME), data)


def point(rank: int, tokens: int) -> dict[str, Any]:
    """Whole and split at `tokens` tokens: µs of each, of the all-reduce alone, and how far their results differ."""
    hidden, features = LLAMA_8B
    generator = torch.Generator("cuda").manual_seed(tokens)  # the same tensors on every rank

    def draw(rows: int, columns: int, variance: int) -> Tensor:
        values = torch.empty(rows, columns, device="cuda", dtype=torch.bfloat16)
        return values.normal_(0, variance**-0.5, generator=generator)

    x = draw(tokens, hidden, 1)
    weights = draw(features, hidden, hidden), draw(features, hidden, hidden), draw(hidden, features, features)
    gate, up, down = weights
    whole = mlp_of(x, gate, up, down)
    part = mlp_of(x, *shard(*weights, rank, WORLD))

    def split() -> Tensor:
        y = part()
        dist.all_reduce(y)
        return y

    expected, got = whole().float(), split().float()
    buffer = torch.zeros(tokens, hidden, device="cuda", dtype=torch.bfloat16)
    return {
        "shape": [tokens, hidden, features],
        "whole_us": time_of(whole),
        "split_us": time_of(split),
        "all_reduce_us": time_of(lambda: dist.all_reduce(buffer)),
        "off_by": float((got - expected).abs().max()),
        "largest": float(expected.abs().max()),
    }


def mlp_of(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Callable[[], Tensor]:
    gate_up = interleave(gate, up)
    return lambda: gemm(linear_swiglu(x, gate_up), down)


def time_of(call: Callable[[], Any]) -> float:
    """µs of a call: the median of CALLS, of whichever rank is the slowest."""
    for _ in range(5):
        call()
    times = []
    for _ in range(CALLS):
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda._sleep(200_000)  # 100 µs at least: the host is ahead, and both ranks begin together
        marks[0].record()
        call()
        marks[1].record()
        torch.cuda.synchronize()
        times.append(1e3 * marks[0].elapsed_time(marks[1]))
    slowest = torch.tensor(statistics.median(times), device="cuda")
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return round(float(slowest), 1)
