"""Throughput of single instructions on the GPU at hand: ceilings that no datasheet gives."""

from itertools import pairwise
from statistics import median
from typing import Any

import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from tutorlib.instruments.only_mma import CONFIG, K, flops, only_mma
from tutorlib.machine import device
from tutorlib.measuring.measure import WrongWhenTimed

STEPS = 2048  # half a millisecond on an H200
LAUNCHES = 20
BLOCKS = 2  # on each SM, eight warps that multiply
LARGEST_ERROR = 1e-3  # of the sums, relative to the largest: STEPS additions in fp32


def mma_sync_tflops() -> float:
    """TFLOP/s of mma.sync.m16n8k16 in bf16 on registers alone, the median of some launches; what it sums is checked.

    Raises WrongWhenTimed.
    """
    m, n, _ = CONFIG.tile
    blocks = BLOCKS * device.need_gpu().sms
    a, b = (torch.randn(rows, K, device="cuda").bfloat16() for rows in (m, n))
    c = torch.full((blocks, m, n), torch.nan, device="cuda")
    tensors: list[Any] = [from_dlpack(x, assumed_align=16) for x in (a, b, c.permute(1, 2, 0))]
    kernel = cute.compile(only_mma, *tensors, STEPS)
    torch.cuda.synchronize()  # makes the context in which CuTe launches
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(LAUNCHES + 1)]
    kernel(*tensors)
    marks[0].record()
    for mark in marks[1:]:
        kernel(*tensors)
        mark.record()
    torch.cuda.synchronize()
    want = STEPS * (a.float() @ b.float().mT)
    if not ((c - want).abs() <= LARGEST_ERROR * want.abs().max()).all():
        raise WrongWhenTimed("the kernel that only multiplies does not multiply.")
    ms = median(before.elapsed_time(after) for before, after in pairwise(marks))
    return round(flops(blocks, STEPS) / ms / 1e9, 1)
