"""`explain`: what a kernel did, simulated on any machine, as a report and a drawing."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.draw.grid import Picture
    from tutorlib.simulate.ptx import Report

UNITS = {"shared": "wavefronts", "global": "sectors"}


def explain(
    kernel: Any,
    *arguments: "Tensor | int",
    grid: Sequence[int] = (),
    constants: Sequence[Any] = (),
    dynamic: bool = False,
    block: Sequence[int] = (),
) -> "Picture | None":
    """Simulate a kernel on these tensors, print what it did, and draw what its first block's warps did.

    kernel: a @cute.jit host function; a @ct.kernel, with its grid and the constants behind its tensors; or the source
        of a C++ kernel, with its grid: of tile blocks, or for plain CUDA C++ of blocks of the size `block`.
    arguments: in the kernel's order; tensors on a GPU are copied to ordinary memory, and the copies are written.
    dynamic: as in `run_on_gpu`. The picture is None where nothing was launched.
    Raises CompileFailed, and NotSimulated for instructions that came after sm_80.
    """
    from tutorlib.draw.grid import figure
    from tutorlib.draw.simulated import grids_of

    named = {f"argument {n}": arg if isinstance(arg, int) else arg.cpu() for n, arg in enumerate(arguments)}
    reports = simulation_of(kernel, grid, constants, dynamic, block)(named)
    for report in reports:
        print(describe(report))
    grids = grids_of(reports)
    return figure(grids, stacked=True) if grids else None


def simulation_of(
    kernel: Any, grid: Sequence[int], constants: Sequence[Any], dynamic: bool, block: Sequence[int]
) -> "Callable[[dict[str, Any]], list[Report]]":
    """The kernel, to be called with its named arguments: by what kind it is of."""
    if isinstance(kernel, str):
        from tutorlib.compiling.cpp import compile_cpp
        from tutorlib.simulate.ptx.languages.cpp import ARCH, simulate_cuda, simulate_tile_cpp

        if block:
            return lambda named: [simulate_cuda(kernel, grid, block, named, traced=True)]
        return lambda named: [simulate_tile_cpp(compile_cpp(kernel, ARCH), grid, named, traced=True)]
    if getattr(kernel, "_decorator_kind", None) == "jit":
        from tutorlib.compiling.spec import TensorSpec
        from tutorlib.simulate.ptx.languages.cute import simulate_host
        from tutorlib.simulate.ptx.languages.cute_lines import compile_with_lines

        def simulate_cute(named: dict[str, Any]) -> "list[Report]":
            specs = [TensorSpec.like(tensor, dynamic) for tensor in named.values()]
            return simulate_host(compile_with_lines(kernel, specs), named, dynamic, traced=True)

        return simulate_cute
    from tutorlib.simulate.ptx.languages.cutile import simulate_cutile

    return lambda named: [simulate_cutile(kernel, grid, named, constants, traced=True)]


def describe(report: "Report") -> str:
    """A launch in a few lines: how much it ran, what was noticed, what its accesses cost."""
    lines = [f"{report.blocks:,} blocks, {report.instructions:,} instructions of warps"]
    lines += report.printed
    lines += [f"✗ {finding}" for finding in report.findings] or ["✓ no hazard, nothing outside, all defined"]
    return "\n".join(lines + costs(report))


def costs(report: "Report") -> list[str]:
    """What the accesses of each line of the source cost over the launch; marked where that is more than it must be."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for access in report.accesses:
        key = str(access.place or "lines that the compiler did not keep"), short(access.opcode), access.space
        taken, needed = sums.get(key, [0, 0])
        sums[key] = [taken + access.taken, needed + access.needed]
    return [
        f"{'!' if taken > needed else ' '} {opcode:12} {taken:>9,} {UNITS[space]:10} of {needed:,} needed: {where}"
        for (where, opcode, space), (taken, needed) in sums.items()
    ]


def short(opcode: str) -> str:
    """ "ld.shared.v4.b32" as "ld.shared", "cp.async.cg.shared.global" as "cp.async"."""
    return ".".join(opcode.split(".")[: 1 if opcode.startswith("ldmatrix") else 2])
