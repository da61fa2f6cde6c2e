"""C++ kernels, simulated: CUDA Tile C++ and plain CUDA."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tutorlib.compiling.cpp import FILE, CompiledCpp
from tutorlib.compiling.cuda import ARCH, compile_cuda
from tutorlib.simulate.ptx.languages.line_table import by_cubin
from tutorlib.simulate.ptx.launch import pick_kernel, run_kernel
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.places import by_loc, in_file
from tutorlib.simulate.ptx.report import Report

if TYPE_CHECKING:
    from torch import Tensor


def simulate_tile_cpp(
    compiled: CompiledCpp,
    grid: Sequence[int],
    arguments: "Mapping[str, Tensor | int | float]",
    traced: bool = False,
    file: str = FILE,
    skipped: int = 0,
) -> Report:
    """Launch a Tile C++ kernel that was compiled for sm_80. arguments: by name, in the order of its parameters.

    traced: as `simulate`. file, skipped: as `in_file`.
    """
    module = parse_ptx(compiled.ptx)
    entry = pick_kernel(module, compiled.name)
    find = in_file(by_cubin(compiled.cubin, FILE, compiled.source.splitlines()), file, skipped)
    # What hangs over an edge stays in registers that were never set, and is masked where it leaves the block.
    return run_kernel(module, entry, grid, entry.threads or (1, 1, 1), arguments, 0, find, traced, follow_unset=False)


def simulate_cuda(
    source: str,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: "Mapping[str, Tensor | int | float]",
    dynamic_smem: int = 0,
    kernel: str = "",
    traced: bool = False,
    arch: str = ARCH,
) -> Report:
    """Compile plain CUDA C++ with nvcc and run one __global__ function of it.

    kernel: a part of its name, where the source has several. As `run` otherwise.
    """
    module = parse_ptx(compile_cuda(source, arch))
    find = by_loc(module, textwrap.dedent(source).strip("\n"))
    return run_kernel(module, pick_kernel(module, kernel), grid, block, arguments, dynamic_smem, find, traced)
