"""C++ kernels, simulated: CUDA Tile C++, which takes what `measuring.launchers.CppLauncher` takes, and plain CUDA."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tutorlib.compiling.cpp import FILE, CompiledCpp, compile_cpp
from tutorlib.compiling.cuda import ARCH, compile_cuda
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Call, Work
from tutorlib.simulate.ptx.languages.line_table import by_cubin
from tutorlib.simulate.ptx.launch import pick_kernel, run_kernel
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.places import by_loc
from tutorlib.simulate.ptx.report import Report

if TYPE_CHECKING:
    from torch import Tensor


def simulate_tile_cpp(
    compiled: CompiledCpp, grid: Sequence[int], arguments: "Mapping[str, Tensor | int | float]", traced: bool = False
) -> Report:
    """Launch a Tile C++ kernel that was compiled for sm_80. arguments: by name, in the order of its parameters.

    traced: as `simulate`.
    """
    module = parse_ptx(compiled.ptx)
    entry = pick_kernel(module, compiled.name)
    find = by_cubin(compiled.cubin, FILE, compiled.source.splitlines())
    # What hangs over an edge stays in registers that were never set, and is masked where it leaves the block.
    return run_kernel(module, entry, grid, entry.threads or (1, 1, 1), arguments, 0, find, traced, follow_unset=False)


@dataclass
class SimulatedTileCpp:
    """A launcher (`problems.work.Launcher`) that simulates. reports: of the last call.

    source: as `compile_cpp` takes it. grid: takes a shape, gives the number of tile blocks along x, y and z.
    """

    source: str
    grid: Callable[[Shape], tuple[int, ...]]
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def ptx(self, shape: Shape) -> str:
        return compile_cpp(self.source, ARCH).ptx

    def on(self, work: Work) -> Call:
        compiled = compile_cpp(self.source, ARCH)
        names = [operand.name for operand in work.problem.operands] + list(work.problem.dims)

        def call() -> None:
            arguments: dict[str, Tensor | int | float] = dict(zip(names, (*work.tensors, *work.shape), strict=True))
            self.reports = [simulate_tile_cpp(compiled, self.grid(work.shape), arguments, self.traced)]

        return call


def simulate_cuda(
    source: str,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: "Mapping[str, Tensor | int | float]",
    dynamic_smem: int = 0,
    kernel: str = "",
    traced: bool = False,
) -> Report:
    """Compile plain CUDA C++ with nvcc and run one __global__ function of it.

    kernel: a part of its name, where the source has several. As `run` otherwise.
    """
    module = parse_ptx(compile_cuda(source))
    name = next((name for name in module.kernels if kernel and kernel in name), "")
    find = by_loc(module, textwrap.dedent(source).strip("\n"))
    return run_kernel(module, pick_kernel(module, name), grid, block, arguments, dynamic_smem, find, traced)


@dataclass
class SimulatedCuda:
    """A launcher (`problems.work.Launcher`) that simulates. reports: of the last call.

    source: of one __global__ function that takes the problem's tensors, the output last, and then its sizes.
    grid, block: take a shape, give the number of blocks, and of a block's threads, along x, y and z.
    """

    source: str
    grid: Callable[[Shape], tuple[int, ...]]
    block: Callable[[Shape], tuple[int, ...]]
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def ptx(self, shape: Shape) -> str:
        return compile_cuda(self.source)

    def on(self, work: Work) -> Call:
        compile_cuda(self.source)
        names = [operand.name for operand in work.problem.operands] + list(work.problem.dims)

        def call() -> None:
            arguments: dict[str, Tensor | int | float] = dict(zip(names, (*work.tensors, *work.shape), strict=True))
            grid, block = self.grid(work.shape), self.block(work.shape)
            self.reports = [simulate_cuda(self.source, grid, block, arguments, traced=self.traced)]

        return call
