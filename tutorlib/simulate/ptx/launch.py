"""A launch of a kernel of PTX: its grid, its parameters, its tensors."""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    find: Callable[[Module], Find] = by_loc,
    traced: bool = False,
    follow_unset: bool = True,
) -> Report:
    """Run one kernel of a module over a grid; tensors in ordinary memory are read and written in place.

    block: () for as many threads as the kernel declares.
    arguments: the kernel's parameters in order, by the names that findings call them. A tensor, torch's or NumPy's,
        stands for its address, bytes for a struct. dynamic_smem: bytes. kernel: its name, where the module has several.
    cluster: its size, for a kernel that does not declare it.
    find: gives for the module where an instruction stands in the source. traced, follow_unset: as `simulate`.
    Raises NotSimulated where the simulator lacks something, MalformedPtx, and ValueError where arguments do not fit.
    """
    module = parse_ptx(ptx)
    entry = pick_kernel(module, kernel)
    threads = block or entry.threads
    if threads is None:
        raise ValueError(f"{entry.name} needs a block: it does not declare its threads")
    if len(arguments) != len(entry.parameters):
        raise ValueError(f"{entry.name} takes {len(entry.parameters)} parameters, not {len(arguments)}")
    pieces = {name: piece_of(name, value) for name, value in arguments.items() if is_memory(value)}
    values = (pieces[name].start if name in pieces else value for name, value in arguments.items())
    sizes = three(grid), three(threads), dynamic_smem
    launch = Launch(module, entry, *sizes, pack_parameters(entry, values), find(module), three(cluster))
    return simulate_pieces(launch, distinct(pieces.values()), traced, follow_unset=follow_unset)


def pack_parameters(kernel: Kernel, values: Iterable[Any]) -> bytes:
    """A kernel's parameters as they lie in the parameter space."""
    raw = bytearray(kernel.parameter_bytes)
    for parameter, value in zip(kernel.parameters, values, strict=True):
        raw[parameter.offset : parameter.offset + parameter.size] = encode(value, parameter)
    return bytes(raw)


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
