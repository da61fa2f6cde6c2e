"""Kernels of cuTile, CUDA Tile C++, plain CUDA C++ and PTX.

Tile kernels are compiled for sm_80; line tables of the cubin name an instruction's source line.
"""

import linecache
import re
import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.cpp import ARCH, FILE, compile_cpp, compile_cuda
from tutorlib.compiling.programs import listing_of
from tutorlib.dsl.functions import function_of
from tutorlib.simulate.ptx.findings import Find, SourceLine, by_loc, in_file, quoted
from tutorlib.simulate.ptx.ir import Instruction, Module
from tutorlib.simulate.ptx.launch import run
from tutorlib.simulate.ptx.report import Report


def simulate_cuda(
    source: str | Path,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Mapping[str, Any],
    dynamic_smem: int = 0,
    kernel: str = "",
    arch: str = ARCH,
    **more: Any,
) -> Report:
    """Run one kernel of CUDA Tile C++, plain CUDA C++ or PTX: of a text, or of a file.

    kernel: its C++ name, such as "scale<float, 4>", or a part of it, where the source has several. arch: what plain
    CUDA C++ is compiled for. more: cluster. As `run` otherwise.
    Raises ValueError if something of the launch is missing or does not fit, CompileFailed, and OSError.
    """
    text, file = (source.read_text(encoding="utf-8"), str(source)) if isinstance(source, Path) else (source, FILE)
    if not grid:
        raise ValueError("a kernel of PTX or CUDA C++ needs a grid")
    if re.search(r"(?m)^\s*\.target\b", text):
        return run(text, grid, block, arguments, dynamic_smem, kernel, **more)
    skipped = len(text) - len(text.lstrip("\n"))  # blank lines that the compiler does not get
    if "__tile_global__" in text:
        compiled = compile_cpp(text, ARCH)
        find_tile = in_file(by_cubin(compiled.cubin, FILE, compiled.source.splitlines()), file, skipped)
        return run_tiles(compiled, find_tile, grid, arguments)
    code = textwrap.dedent(text).strip("\n")
    # Of a template nvcc compiles the instances that are used.
    instance = f"\nstatic void* named_by_the_command = (void*)&{kernel};" if "<" in kernel else ""
    ptx = compile_cuda(code + instance, arch)

    def find(module: Module) -> Find:
        return in_file(by_loc(module, code), file, skipped)

    return run(ptx, grid, block, arguments, dynamic_smem, kernel, find=find, **more)


# Tile kernels -----------------------------------------------------------------------------------------------------


def run_tiles(compiled: Compiled, find: Find, grid: Sequence[int], arguments: Mapping[str, Any]) -> Report:
    """Launch a tile kernel that was compiled for sm_80. Raises what `run` raises."""
    # What hangs over an edge stays in registers that were never set, and is masked where it leaves the block.
    return run(compiled.ptx, grid, (), arguments, find=lambda module: find, follow_unset=False)


def simulate_cutile(kernel: Any, compiled: Compiled, grid: Sequence[int], tensors: Mapping[str, Any]) -> Report:
    """Launch a @ct.kernel, compiled for sm_80, on tensors in ordinary memory, by name. As `run_tiles` otherwise."""
    file = function_of(kernel).__code__.co_filename  # a notebook's cell has one, too
    arguments: dict[str, Any] = {}
    for name, tensor in tensors.items():
        arguments[name] = tensor
        if not isinstance(tensor, int | float):  # a tensor is followed by its sizes and strides
            arguments |= {f"{name}.shape[{n}]": size for n, size in enumerate(tensor.shape)}
            arguments |= {f"{name}.stride[{n}]": stride for n, stride in enumerate(tensor.stride())}
    return run_tiles(compiled, by_cubin(compiled.cubin, file, linecache.getlines(file)), grid, arguments)


MOST_LINES = 5  # of one instruction: mma.sync and its four operands
PTX_TEXT = ".nv_debug_ptx_txt"  # the name that the line table gives the PTX
FRAME = r'\s*//## File "(.*?)", line (\d+).*\n'  # above an instruction: its line, then those that called it


@lru_cache(maxsize=64)
def lines_of(cubin: bytes) -> dict[int, tuple[tuple[str, int], ...]]:
    """By line of the PTX: file and line of its first machine instruction, and of the calls that were inlined.

    Raises ToolMissing.
    """
    found: dict[int, tuple[tuple[str, int], ...]] = {}
    ptx_line, frames = 0, tuple[tuple[str, int], ...]()
    for block in re.findall(rf"(?:{FRAME.replace('(', '(?:')})+", listing_of(cubin, "-gi", "-gp")):
        places = [(file, int(line)) for file, line in re.findall(FRAME, block)]
        ptx_line = next((line for file, line in places if file == PTX_TEXT), ptx_line)
        frames = tuple(place for place in places if place[0] != PTX_TEXT) or frames
        found.setdefault(ptx_line, frames)
    return found


def by_cubin(cubin: bytes, source: str, text: list[str]) -> Find:
    """From an instruction's line in the PTX, through its machine code, to the reader's line.

    source: the end of the file name that is the reader's. text: its lines.
    """

    def find(instruction: Instruction) -> SourceLine | None:
        """An instruction over several lines counts as one of them."""
        for n in range(MOST_LINES):
            for file, line in lines_of(cubin).get(instruction.line + n, ()):
                if file.endswith(source) and 0 < line <= len(text):
                    return SourceLine(file, line, quoted(file, line, text))
        return None

    return find
