"""NVIDIA's own CuTe GEMMs, as they come with CUTLASS: what the ladder of notebooks 09 to 14 is held against.

They are not part of this repository; TUTORLIB_CUTLASS names a checkout of https://github.com/NVIDIA/cutlass.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.source_files import module_of
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.problem import Problem
from tutorlib.problems.work import Call, Work

if TYPE_CHECKING:
    from torch import Tensor

CHECKOUT = "TUTORLIB_CUTLASS"
EXAMPLES = Path("examples/python/CuTeDSL/cute")
AMPERE = EXAMPLES / "ampere/kernel/dense_gemm/tensorop_gemm.py"
HOPPER = EXAMPLES / "hopper/kernel/dense_gemm/dense_gemm.py"


class NoExample(RuntimeError):
    """The example is not on this machine. The message says how it gets there, in one line."""


def is_here() -> bool:
    """Whether this machine has the examples."""
    return CHECKOUT in os.environ and all((Path(os.environ[CHECKOUT]) / file).is_file() for file in (AMPERE, HOPPER))


@cache
def example(file: Path) -> ModuleType:
    """One of NVIDIA's files as a module. Raises NoExample."""
    if not is_here():
        raise NoExample(f"git clone --depth 1 https://github.com/NVIDIA/cutlass, and set {CHECKOUT} to its path")
    return module_of(Path(os.environ[CHECKOUT]) / file, file.stem)


def arguments(*tensors: "Tensor") -> list[Any]:
    """Row-major matrices as the examples take them: (rows, columns, batches), of dynamic size, and the stream.

    Rows are known to begin at multiples of 16 bytes, a vector.
    """
    import cuda.bindings.driver as driver
    import torch
    from cutlass.cute.runtime import from_dlpack

    views = [
        from_dlpack(x.unsqueeze(-1), assumed_align=16)
        .mark_layout_dynamic(leading_dim=1)
        .mark_compact_shape_dynamic(mode=1, stride_order=(2, 0, 1), divisibility=16 // x.element_size())
        for x in tensors
    ]
    return [*views, driver.CUstream(torch.cuda.current_stream().cuda_stream)]


def against_nvidia() -> Problem:
    """`gemm` in bf16 with NVIDIA's kernel as the baseline, its tile and stages as they come. Raises NoExample."""
    kernel = example(AMPERE).TensorOpGemm
    compiled: dict[tuple[int, ...], Callable[..., None]] = {}

    def baseline(c: "Tensor", a: "Tensor", b: "Tensor") -> None:
        from cutlass import BFloat16, Float32, cute

        taken = arguments(a, b, c)
        key = (*a.shape, *c.shape)
        if key not in compiled:
            compiled[key] = cute.compile(kernel(BFloat16, BFloat16, Float32, (2, 2, 1)), *taken)
        compiled[key](*taken)

    return replace(gemm("bf16"), baseline=baseline, baseline_name="NVIDIA's tensorop_gemm")


class NvidiaHopper:
    """A launcher of NVIDIA's dense_gemm for Hopper: TMA and WGMMA, neither specialized nor persistent, 128×256 tiles.

    Raises NoExample.
    """

    def __init__(self) -> None:
        from cutlass import Float32

        self.kernel = example(HOPPER).HopperWgmmaGemmKernel(Float32, (128, 256), (1, 1))
        self.compiled: Callable[..., None] | None = None

    def on(self, work: Work) -> Call:
        from cutlass import cute

        taken = arguments(*work.tensors)
        if self.compiled is None:
            self.compiled = cute.compile(self.kernel, *taken)
        return partial(self.compiled, *taken)
