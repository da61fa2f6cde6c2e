"""NVIDIA's own CuTe GEMM for sm_80, as it comes with CUTLASS: what the ladder of notebooks 09 to 12 is held against.

It is not part of this repository; TUTORLIB_CUTLASS names a checkout of https://github.com/NVIDIA/cutlass.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tutorlib.problems.catalogue import gemm
from tutorlib.problems.problem import Problem

if TYPE_CHECKING:
    from torch import Tensor

CHECKOUT = "TUTORLIB_CUTLASS"
FILE = Path("examples/python/CuTeDSL/cute/ampere/kernel/dense_gemm/tensorop_gemm.py")


class NoExample(RuntimeError):
    """The example is not on this machine. The message says how it gets there, in one line."""


@cache
def example() -> ModuleType:
    """NVIDIA's file as a module. Raises NoExample."""
    path = Path(os.environ.get(CHECKOUT, "")) / FILE
    if CHECKOUT not in os.environ or not path.is_file():
        raise NoExample(f"git clone --depth 1 https://github.com/NVIDIA/cutlass, and set {CHECKOUT} to its path")
    loader = SourceFileLoader("tensorop_gemm", str(path))
    module = ModuleType(loader.name)
    loader.exec_module(module)
    return module


def against_nvidia() -> Problem:
    """`gemm` in bf16 with NVIDIA's kernel as the baseline, its tile and stages as they come. Raises NoExample."""
    kernel = example().TensorOpGemm
    compiled: dict[tuple[int, ...], Callable[..., None]] = {}

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor") -> None:
        import cuda.bindings.driver as driver
        import torch
        from cutlass import BFloat16, Float32, cute
        from cutlass.cute.runtime import from_dlpack

        stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
        tensors = [  # (rows, columns, batches), of dynamic size but for the 16 bytes of a vector
            from_dlpack(x.unsqueeze(-1), assumed_align=16)
            .mark_layout_dynamic(leading_dim=1)
            .mark_compact_shape_dynamic(mode=1, stride_order=(2, 0, 1), divisibility=8)
            for x in (a, b, c)
        ]
        key = (*a.shape, *c.shape)
        if key not in compiled:
            compiled[key] = cute.compile(kernel(BFloat16, BFloat16, Float32, (2, 2, 1)), *tensors, stream)
        compiled[key](*tensors, stream)

    return replace(gemm("bf16"), baseline=baseline, baseline_name="NVIDIA's tensorop_gemm")
