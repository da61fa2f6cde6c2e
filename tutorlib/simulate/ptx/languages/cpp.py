"""Kernels as text: CUDA Tile C++, plain CUDA C++ and PTX."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tutorlib.compiling.cpp import ARCH, FILE, CompiledCpp, compile_cpp, compile_cuda
from tutorlib.simulate.ptx.findings import Find, by_loc, in_file
from tutorlib.simulate.ptx.ir import Module
from tutorlib.simulate.ptx.languages.cutile import by_cubin
from tutorlib.simulate.ptx.launch import run
from tutorlib.simulate.ptx.report import Report


def simulate_source(
    source: str | Path,
    named: Mapping[str, Any],
    arch: str,
    grid: Sequence[int],
    block: Sequence[int] = (),
    dynamic_smem: int = 0,
    kernel: str = "",
    **more: Any,
) -> Report:
    """A launch of one kernel of a source, as `tool.simulate` takes it. more: cluster, as `run` has it.

    CUDA Tile C++ is compiled for sm_80, whatever `arch` is.
    Raises ValueError if something of the launch is missing or does not fit, CompileFailed, and OSError.
    """
    text, file = (source.read_text(encoding="utf-8"), str(source)) if isinstance(source, Path) else (source, FILE)
    if not grid:
        raise ValueError("a kernel of PTX or CUDA C++ needs a grid")
    if "__tile_global__" in text:
        return simulate_tile_cpp(compile_cpp(text, ARCH), grid, named, file, blank_lines(text))
    if re.search(r"(?m)^\s*\.target\b", text):
        return run(text, grid, block, named, dynamic_smem, kernel, **more)
    return simulate_cuda(text, grid, block, named, dynamic_smem, kernel, f"sm_{arch}", file, **more)


def simulate_tile_cpp(
    compiled: CompiledCpp, grid: Sequence[int], arguments: Mapping[str, Any], file: str = FILE, skipped: int = 0
) -> Report:
    """Launch a Tile C++ kernel that was compiled for sm_80. arguments: by name, in the order of its parameters.

    file, skipped: as `in_file`.
    """
    find = in_file(by_cubin(compiled.cubin, FILE, compiled.source.splitlines()), file, skipped)
    # What hangs over an edge stays in registers that were never set, and is masked where it leaves the block.
    given = compiled.ptx, grid, (), arguments, 0, compiled.name
    return run(*given, find=lambda module: find, follow_unset=False)


def simulate_cuda(
    source: str,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Mapping[str, Any],
    dynamic_smem: int = 0,
    kernel: str = "",
    arch: str = ARCH,
    file: str = FILE,
    **more: Any,
) -> Report:
    """Compile plain CUDA C++ with nvcc and run one __global__ function of it.

    kernel: its C++ name, such as "scale<float, 4>", or a part of it, where the source has several. file: as `in_file`.
    As `run` otherwise.
    """
    code = textwrap.dedent(source).strip("\n")
    # Of a template nvcc compiles the instances that are used.
    instance = f"\nstatic void* named_by_the_command = (void*)&{kernel};" if "<" in kernel else ""
    ptx = compile_cuda(code + instance, arch)

    def find(module: Module) -> Find:
        return in_file(by_loc(module, code), file, blank_lines(source))

    return run(ptx, grid, block, arguments, dynamic_smem, kernel, find=find, **more)


def blank_lines(source: str) -> int:
    """Those at its beginning, which the compiler does not get."""
    return len(source) - len(source.lstrip("\n"))
