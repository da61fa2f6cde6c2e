"""Plain CUDA C++ from a string, compiled by nvcc to PTX or to a GPU's own code; needs no GPU."""

import textwrap
from typing import Literal

from tutorlib.compiling.compiled import inspect_kernel
from tutorlib.compiling.cpp import CompiledCpp, made_by_nvcc, only_kernel

ARCH = "sm_80"  # the simulator's target


def compile_cuda(source: str, arch: str = ARCH) -> str:
    """The PTX of plain CUDA C++, with line numbers; kept on disk for the next time.

    Raises CompileFailed with the reader's line, and ToolMissing.
    """
    return nvcc(source, arch, "ptx").decode()


def compile_cuda_kernel(source: str, arch: str) -> CompiledCpp:
    """The one __global__ function of a source, with its machine code. Raises as `compile_cuda`."""
    ptx = compile_cuda(source, arch)
    name, parameters = only_kernel(ptx, "__global__")
    return CompiledCpp(
        **vars(inspect_kernel(arch, ptx, nvcc(source, arch, "cubin"), dynamic_smem=0, by_ptxas=True)),
        name=name,
        parameters=parameters,
        source=textwrap.dedent(source).strip("\n"),
        remarks=(),
    )


def nvcc(source: str, arch: str, kind: Literal["ptx", "cubin"]) -> bytes:
    """A source compiled by nvcc. Raises as `compile_cuda`."""
    options = ["-std=c++20", "-arch", arch, f"-{kind}", "-lineinfo"]
    return made_by_nvcc("cuda_cpp", options, textwrap.dedent(source).strip("\n"), kind)[0]
