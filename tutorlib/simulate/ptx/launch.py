"""A launch of a kernel of PTX: its grid, its parameters, its tensors."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.compiling.cpp_names import cpp_name
from tutorlib.simulate.ptx.geometry import Dim3
from tutorlib.simulate.ptx.ir import Kernel, Module, Parameter
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.pieces import distinct, is_memory, piece_of, simulate_pieces
from tutorlib.simulate.ptx.places import Find, by_loc
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch
from tutorlib.simulate.ptx.types import numpy_type

if TYPE_CHECKING:
    from torch import Tensor


def run(
    ptx: str,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: "Mapping[str, Tensor | np.ndarray | int | float | bytes]",
    dynamic_smem: int = 0,
    kernel: str = "",
    cluster: Sequence[int] = (),
) -> Report:
    """Run one kernel of a module over a grid; tensors in ordinary memory are read and written in place.

    arguments: the kernel's parameters in order, by the names that findings call them. A tensor, torch's or NumPy's,
        stands for its address, bytes for a struct. dynamic_smem: bytes. kernel: its name, where the module has several.
        cluster: its size, for a kernel that does not declare it.
    Raises NotSimulated where the simulator lacks something, MalformedPtx, and ValueError where arguments do not fit.
    """
    module = parse_ptx(ptx)
    entry = pick_kernel(module, kernel)
    return run_kernel(module, entry, grid, block, arguments, dynamic_smem, by_loc(module), cluster=cluster)


def run_kernel(
    module: Module,
    entry: Kernel,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: "Mapping[str, Tensor | np.ndarray | int | float | bytes]",
    dynamic_smem: int,
    find: Find,
    traced: bool = False,
    follow_unset: bool = True,
    cluster: Sequence[int] = (),
) -> Report:
    """As `run`. find: where an instruction stands in the source. traced, follow_unset: as `simulate`."""
    pieces = {name: piece_of(name, value) for name, value in arguments.items() if is_memory(value)}
    if len(arguments) != len(entry.parameters):
        raise ValueError(f"{entry.name} takes {len(entry.parameters)} parameters, not {len(arguments)}")
    values = (pieces[name].start if name in pieces else value for name, value in arguments.items())
    parameters = bytearray(entry.parameter_bytes)
    for parameter, value in zip(entry.parameters, values, strict=True):
        parameters[parameter.offset : parameter.offset + parameter.size] = encode(value, parameter)
    sizes = three(grid), three(block)
    launch = Launch(module, entry, *sizes, dynamic_smem, bytes(parameters), find, three(cluster))
    return simulate_pieces(launch, distinct(pieces.values()), traced, follow_unset=follow_unset)


def pick_kernel(module: Module, name: str) -> Kernel:
    """The kernel of this name, in C++ or in PTX, or the only one whose name has it as a part: "" for the only one.

    Raises ValueError.
    """
    kernels = module.kernels
    found = [n for n in kernels if name and name.replace(" ", "") in (n, cpp_name(n).replace(" ", ""))]
    found = found or [n for n in kernels if name in n]
    if len(found) != 1:
        how_many = f"{len(found)} kernels are named {name}" if name else f"the module has {len(found)} kernels"
        raise ValueError(f"{how_many}: name one of {', '.join(map(cpp_name, kernels))}")
    return kernels[found[0]]


def three(sizes: Sequence[int]) -> Dim3:
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return int(x), int(y), int(z)


def encode(value: Any, parameter: Parameter) -> bytes:
    """A parameter's bytes."""
    if isinstance(value, bytes):
        if len(value) != parameter.size:
            raise ValueError(f"{parameter.name} has {parameter.size} bytes, not {len(value)}")
        return value
    if isinstance(value, float):
        return np.array(value, numpy_type(f"f{parameter.size * 8}")).tobytes()
    return (int(value) % (1 << 8 * parameter.size)).to_bytes(parameter.size, "little")
