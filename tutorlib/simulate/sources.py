"""Kernels as text: PTX, plain CUDA C++ and CUDA Tile C++."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tutorlib.compiling.cpp import FILE, compile_cpp
from tutorlib.compiling.cuda import ARCH, compile_cuda
from tutorlib.simulate.ptx.languages.cpp import simulate_tile_cpp
from tutorlib.simulate.ptx.launch import pick_kernel, run_kernel
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.places import by_loc, in_file
from tutorlib.simulate.ptx.report import Report as LaunchReport


def simulate_source(
    source: str | Path,
    named: Mapping[str, Any],
    arch: str,
    grid: Sequence[int],
    block: Sequence[int] = (),
    smem: int = 0,
    entry: str = "",
    traced: bool = False,
    cluster: Sequence[int] = (),
) -> LaunchReport:
    """A launch of one kernel of a source, as `simulate` takes it.

    CUDA Tile C++ is compiled for sm_80, whatever `arch` is.
    Raises ValueError if something of the launch is missing or does not fit, CompileFailed, and OSError.
    """
    text, file = (source.read_text(encoding="utf-8"), str(source)) if isinstance(source, Path) else (source, FILE)
    if not grid:
        raise ValueError("a kernel of PTX or CUDA C++ needs a grid")
    skipped = len(text) - len(text.lstrip("\n"))  # blank lines, which the compiler does not get
    if "__tile_global__" in text:
        return simulate_tile_cpp(compile_cpp(text, ARCH), grid, named, traced, file, skipped)
    is_ptx = re.search(r"(?m)^\s*\.target\b", text)
    instance = (
        f"\nstatic void* named_by_the_command = (void*)&{entry};" if "<" in entry else ""
    )  # nvcc compiles those that are used
    module = parse_ptx(text if is_ptx else compile_cuda(text + instance, f"sm_{arch}"))
    find = by_loc(module) if is_ptx else in_file(by_loc(module, textwrap.dedent(text).strip("\n")), file, skipped)
    kernel = pick_kernel(module, entry)
    threads = block or kernel.threads
    if threads is None:
        raise ValueError(f"{kernel.name} needs a block: it does not declare its threads")
    return run_kernel(module, kernel, grid, threads, named, smem, find, traced, cluster=cluster)
