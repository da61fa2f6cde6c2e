"""NVIDIA's own CuTe GEMM for mma.sync, as it comes with CUTLASS: a baseline for the ladder of notebooks 10 to 13.

It is not part of this repository; TUTORLIB_CUTLASS names a checkout of https://github.com/NVIDIA/cutlass.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from cuda.bindings.driver import CUstream
from cutlass import BFloat16, Float32, cute
from cutlass.cute.runtime import from_dlpack
from torch import Tensor

from tutorlib.compiling.dsls import module_of
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.problem import Problem

CHECKOUT = "TUTORLIB_CUTLASS"
EXAMPLE = "examples/python/CuTeDSL/cute/ampere/kernel/dense_gemm/tensorop_gemm.py"


class NoExample(RuntimeError):
    """The example is not on this machine. The message says how it gets there, in one line."""


def arguments(*tensors: Tensor) -> list[Any]:
    """Row-major matrices as the example takes them: (rows, columns, batches), of dynamic size, and the stream.

    Rows are known to begin at multiples of 16 bytes, a vector.
    """
    views = [
        from_dlpack(x.unsqueeze(-1), assumed_align=16)
        .mark_layout_dynamic(leading_dim=1)
        .mark_compact_shape_dynamic(mode=1, stride_order=(2, 0, 1), divisibility=16 // x.element_size())
        for x in tensors
    ]
    return [*views, CUstream(torch.cuda.current_stream().cuda_stream)]


def against_nvidia() -> Problem:
    """`gemm` in bf16 with NVIDIA's kernel as the baseline, its tile and stages as they come. Raises NoExample."""
    file = Path(os.environ.get(CHECKOUT, "")) / EXAMPLE
    if CHECKOUT not in os.environ or not file.is_file():
        raise NoExample(f"git clone --depth 1 https://github.com/NVIDIA/cutlass, and set {CHECKOUT} to its path")
    kernel = module_of(file, file.stem).TensorOpGemm
    compiled: dict[tuple[int, ...], Callable[..., None]] = {}

    def baseline(c: Tensor, a: Tensor, b: Tensor) -> None:
        taken, key = arguments(a, b, c), (*a.shape, *c.shape)
        if key not in compiled:
            compiled[key] = cute.compile(kernel(BFloat16, BFloat16, Float32, (2, 2, 1)), *taken)
        compiled[key](*taken)

    return replace(gemm("bf16"), baseline=baseline, baseline_name="NVIDIA's tensorop_gemm")
