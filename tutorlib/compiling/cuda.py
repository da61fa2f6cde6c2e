"""Plain CUDA C++ from a string, compiled by nvcc to PTX or to a GPU's own code; needs no GPU."""

import hashlib
import re
import tempfile
import textwrap
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Literal

import platformdirs

from tutorlib.compiling.compiled import inspect_kernel
from tutorlib.compiling.cpp import FILE, CompiledCpp, failure
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.nvcc import NVCC, nvcc_command
from tutorlib.compiling.outside import run_compiler

ARCH = "sm_80"  # the simulator's target


def compile_cuda(source: str, arch: str = ARCH) -> str:
    """The PTX of plain CUDA C++, with line numbers; kept on disk for the next time.

    Raises CompileFailed with the reader's line, ModuleNotFoundError and ToolMissing.
    """
    return nvcc(source, arch, "ptx").decode()


def compile_cuda_kernel(source: str, arch: str) -> CompiledCpp:
    """The one __global__ function of a source, with its machine code. Raises as `compile_cuda`."""
    ptx = compile_cuda(source, arch)
    entries = re.findall(r"\.entry (\w+)\((.*?)\)\s", ptx, re.DOTALL)
    if len(entries) != 1:
        raise CompileFailed(f"the source has {len(entries)} __global__ functions; one is launched")
    ((name, parameters),) = entries
    cubin = nvcc(source, arch, "cubin")
    return CompiledCpp(
        **vars(inspect_kernel(arch, ptx, cubin, dynamic_smem=0, by_ptxas=True)),
        name=name,
        parameters=tuple(
            "ptr" if pointer else kind for kind, pointer in re.findall(r"\.param \.(\w+)( \.ptr)?", parameters)
        ),
        source=textwrap.dedent(source).strip("\n"),
        remarks=(),
    )


def nvcc(source: str, arch: str, kind: Literal["ptx", "cubin"]) -> bytes:
    """A source compiled by nvcc. Raises as `compile_cuda`."""
    source = textwrap.dedent(source).strip("\n")
    options = ["-std=c++20", "-arch", arch, f"-{kind}", "-lineinfo"]
    text = f'#line 1 "{FILE}"\n{source}\n'
    program, version = nvcc_command(), metadata.version(NVCC)
    key = hashlib.sha256("\0".join([version, *options, text]).encode()).hexdigest()
    kept = platformdirs.user_cache_path("tutorlib") / "cuda_cpp" / f"{key}.{kind}"
    if kept.exists():
        return kept.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        file, made = Path(folder) / "source.cu", Path(folder) / f"source.{kind}"
        file.write_text(text, encoding="utf-8")
        done = run_compiler([*program, *options, "-o", made, file], Path(folder))
        if done.returncode:
            raise failure(done.stdout + done.stderr, source)
        code = made.read_bytes()
    with suppress(OSError):  # a home that cannot be written to
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(code)
    return code
