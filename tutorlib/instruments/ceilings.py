"""Throughput of single instructions on the GPU at hand: ceilings that no datasheet gives."""

from itertools import pairwise
from statistics import median
from typing import Any

import cutlass
import torch
from cutlass import Float32, cute
from cutlass.cute.runtime import from_dlpack

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.thread_share import make_mma
from tutorlib.machine import device
from tutorlib.measuring.timing import WrongWhenTimed

CONFIG = GemmConfig()  # 128 accumulators a thread; two blocks fit on an SM, eight warps
K = 16  # of one mma
STEPS = 2048  # half a millisecond on an H200
LAUNCHES = 20
BLOCKS = 2  # on each SM, eight warps that multiply
LARGEST_ERROR = 1e-3  # of the sums, relative to the largest: STEPS additions in fp32


@cute.kernel
def only_mma_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, steps: cutlass.Constexpr) -> None:
    """Every block multiplies the same A (128, 16) by the same B (128, 16) into its own accumulators, `steps` times."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tiled_mma = make_mma(CONFIG, mA.element_type)
    math = tiled_mma.get_slice(thread)
    tCgA, tCgB = math.partition_A(mA), math.partition_B(mB)  # (8 or 4, M or N atoms, 1)
    tCrA, tCrB = tiled_mma.make_fragment_A(tCgA), tiled_mma.make_fragment_B(tCgB)
    cute.autovec_copy(tCgA, tCrA)
    cute.autovec_copy(tCgB, tCrB)
    tCrC = cute.make_rmem_tensor(tiled_mma.partition_shape_C(CONFIG.tile[:2]), Float32)
    tCrC.fill(0.0)
    for _ in cutlass.range(steps, unroll=1):
        cute.gemm(tiled_mma, tCrC, tCrA, tCrB, tCrC)
    tCgC = math.partition_C(mC[None, None, block])
    cute.autovec_copy(tCrC, tCgC)


@cute.jit
def only_mma(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, steps: cutlass.Constexpr) -> None:
    """c (128, 128, blocks) = steps × a (128, 16) · bᵀ with b (128, 16), for each of its blocks; c in fp32."""
    only_mma_kernel(a, b, c, steps).launch(grid=(cute.size(c, mode=[2]), 1, 1), block=(CONFIG.threads, 1, 1))


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
    return round(2 * m * n * K * STEPS * blocks / ms / 1e9, 1)
