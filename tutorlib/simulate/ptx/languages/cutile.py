"""cuTile kernels, compiled for sm_80 and simulated."""

import linecache
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.dsls import compile_cutile
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.functions import function_of
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.languages.line_table import by_cubin
from tutorlib.simulate.ptx.launch import pick_kernel, run
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.places import Find
from tutorlib.simulate.ptx.report import Report

if TYPE_CHECKING:
    from torch import Tensor

CAPABILITY = "80"
ARCH = f"sm_{CAPABILITY}"  # later targets use TMA and warp-group instructions


def simulate_cutile(
    kernel: Any, grid: Sequence[int], tensors: "Mapping[str, Tensor]", constants: Sequence[Any], traced: bool = False
) -> Report:
    """Launch a @ct.kernel on contiguous tensors in ordinary memory, by name, followed by constants.

    traced: as `simulate`. Raises CompileFailed and NotSimulated.
    """
    compiled = compile_cutile(kernel, [*map(TensorSpec.like, tensors.values()), *constants], ARCH)
    return launch(compiled, finder(kernel, compiled), grid, tensors, traced)


def launch(
    compiled: Compiled, find: Find, grid: Sequence[int], tensors: "Mapping[str, Tensor | int]", traced: bool = False
) -> Report:
    """tensors: by name, in the order of the kernel's parameters; numbers among them, where it takes some."""
    entry = pick_kernel(parse_ptx(compiled.ptx), "")
    arguments: dict[str, Any] = {}
    for name, tensor in tensors.items():
        arguments[name] = tensor
        if isinstance(tensor, int):
            continue
        arguments |= {f"{name}.shape[{n}]": size for n, size in enumerate(tensor.shape)}
        arguments |= {f"{name}.stride[{n}]": stride for n, stride in enumerate(tensor.stride())}
    if len(arguments) != len(entry.parameters) or entry.threads is None:
        raise NotSimulated(f"a cuTile kernel with {len(entry.parameters)} parameters")
    # What hangs over an edge stays in registers that were never set, and is masked where it leaves the block.
    return run(compiled.ptx, grid, (), arguments, find=lambda module: find, traced=traced, follow_unset=False)


def finder(kernel: Any, compiled: Compiled) -> Find:
    function = function_of(kernel)
    file = function.__code__.co_filename  # a notebook's cell has one, too
    return by_cubin(compiled.cubin, file, linecache.getlines(file))
