"""Launches kernels of notebooks 09 to 12 once, to be looked at by ncu: python -m tests.gpu.ladder SIZE KERNEL …"""

import sys
from functools import partial
from typing import Any

import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.kernels.ladder import AMPERE_RUNGS
from tutorlib.models.l2 import grouped, raster


def unswizzled(rows: int, k: int, stages: int) -> Any:
    """smem_layout as it would be without its swizzle."""
    return cute.make_composed_layout(
        cute.make_swizzle(0, 3, 3), 0, cute.make_ordered_layout((rows, k, stages), (1, 0, 2))
    )


THREE = GemmConfig(stages=3)
KERNELS = {rung.title: rung.host for rung in AMPERE_RUNGS} | {
    "unswizzled": make_gemm(THREE, multistage, smem=unswizzled),
    "raster": make_gemm(THREE, multistage, raster),
    "groups of 4": make_gemm(THREE, multistage, partial(grouped, group=4)),
    "groups of 8": make_gemm(THREE, multistage, partial(grouped, group=8)),
}


def launch(name: str, size: int) -> None:
    a, b, c = (torch.randn(size, size, device="cuda").bfloat16() for _ in range(3))
    tensors = [from_dlpack(tensor, assumed_align=16) for tensor in (a, b, c)]
    function = cute.compile(KERNELS[name], *tensors)
    torch.cuda.synchronize()
    function(*tensors)
    torch.cuda.synchronize()


if __name__ == "__main__":
    for name in sys.argv[2:]:
        launch(name, int(sys.argv[1]))
