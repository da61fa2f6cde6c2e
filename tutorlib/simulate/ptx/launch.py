"""A launch of a kernel of PTX: its grid, its parameters, and the pieces of memory whose addresses those hold."""

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.compiling.cpp import cpp_name
from tutorlib.simulate.ptx.findings import Find, by_loc
from tutorlib.simulate.ptx.geometry import Dim3
from tutorlib.simulate.ptx.ir import Kernel, Module, Parameter
from tutorlib.simulate.ptx.memory import ALIGNMENT, HOST_ALIGNMENT, Arena
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch, module_sizes, simulate
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
    follow_unset: bool = True,
) -> Report:
    """Run one kernel of a module over a grid; tensors in ordinary memory are read and written in place.

    block: () for as many threads as the kernel declares.
    arguments: the kernel's parameters in order, by the names that findings call them. A tensor, torch's or NumPy's,
        stands for its address, bytes for a struct. dynamic_smem: bytes. kernel: its name, where the module has several.
    cluster: its size, for a kernel that does not declare it.
    find: gives for the module where an instruction stands in the source. follow_unset: as `simulate`.
    Raises NotSimulated where the simulator lacks something, MalformedPtx, and ValueError where arguments do not fit.
    """
    module = parse_ptx(ptx)
    entry = pick_kernel(module, kernel)
    threads = block or entry.threads
    if threads is None:
        raise ValueError(f"{entry.name} needs a block: it does not declare its threads")
    if len(arguments) != len(entry.parameters):
        raise ValueError(f"{cpp_name(entry.name)} takes {len(entry.parameters)} parameters, not {len(arguments)}")
    pieces = {name: piece_of(name, one) for name, one in arguments.items() if not isinstance(one, int | float | bytes)}
    values = (pieces[name].start if name in pieces else value for name, value in arguments.items())
    sizes = three(grid), three(threads), dynamic_smem
    launch = Launch(module, entry, *sizes, pack_parameters(entry, values), find(module), three(cluster))
    return simulate_pieces(launch, distinct(pieces.values()), follow_unset=follow_unset)


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
        some = f"one of {', '.join(map(cpp_name, kernels))}" if kernels else "an instance, such as scale<float, 4>"
        raise ValueError(f"{how_many}: name {some}")
    return kernels[found[0]]


def three(sizes: Sequence[int]) -> Dim3:
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return int(x), int(y), int(z)


def encode(value: Any, parameter: Parameter) -> bytes:
    if isinstance(value, bytes):
        if len(value) != parameter.size:
            raise ValueError(f"{parameter.name} has {parameter.size} bytes, not {len(value)}")
        return value
    if isinstance(value, float):
        return np.array(value, numpy_type(f"f{parameter.size * 8}")).tobytes()
    return (int(value) % (1 << 8 * parameter.size)).to_bytes(parameter.size, "little")


POINTER_BYTES = 8


def pointer_words(data: np.ndarray) -> np.ndarray:
    return data[: len(data) // POINTER_BYTES * POINTER_BYTES].view(np.uint64)


def relocate(data: np.ndarray, moves: list[tuple[int, int, int]]) -> None:
    """Move pointers in place. moves: start, size and new start of each piece of memory."""
    words = pointer_words(data)
    before = words.copy()
    for start, size, new in moves:
        hit = (before >= start) & (before < start + size)
        words[hit] = before[hit] - np.uint64(start) + np.uint64(new)


@dataclass(frozen=True)
class Piece:
    """A tensor's memory. start: the address by which pointers know it. shape, strides: in elements of `width` bytes.

    floats: whether its elements are floating-point. bytes: its contents, which the launch changes.
    """

    name: str
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    width: int
    floats: bool
    bytes: np.ndarray

    @property
    def pointers(self) -> bool:
        """Whether addresses of pieces may stand in it."""
        return not self.floats and len(self.bytes) >= POINTER_BYTES


def piece_of(name: str, tensor: "Tensor | np.ndarray") -> Piece:
    """A tensor's memory, from its first to its last element. It shows what the tensor holds, as long as that lives."""
    if isinstance(tensor, np.ndarray):
        start, width, floats = tensor.ctypes.data, tensor.itemsize, tensor.dtype.kind == "f"
        strides = tuple(stride // width for stride in tensor.strides)
    else:
        start, width, floats = tensor.data_ptr(), tensor.element_size(), tensor.dtype.is_floating_point
        strides = tuple(tensor.stride())
    shape = tuple(tensor.shape)
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return Piece(name, start, shape, strides, width, floats, bytes_at(start, 0 if 0 in shape else (last + 1) * width))


def bytes_at(start: int, size: int) -> np.ndarray:
    """This process's own memory."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start)) if size else np.empty(0, np.uint8)


def fresh_memory(size: int) -> np.ndarray:
    """So many bytes at an address such as a GPU's allocator gives."""
    room = np.empty(size + ALIGNMENT, np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    return room[first : first + size]


def distinct(pieces: Iterable[Piece]) -> list[Piece]:
    """In the order of their addresses, the largest of those that start at one: a pointer is to the last that has it."""
    ordered = sorted(pieces, key=lambda one: (one.start, len(one.bytes)))
    return list({one.start: one for one in ordered}.values())


@dataclass
class LaunchBefore:
    """kernel: of the launch before. late: for each byte of a piece of memory, by its address, whether it may still be
    stored to."""

    kernel: str = ""
    late: dict[int, np.ndarray] = field(default_factory=dict)


def simulate_pieces(
    launch: Launch, pieces: Sequence[Piece], before: LaunchBefore | None = None, **options: Any
) -> Report:
    """As `simulate`, whose options it takes, with the pieces in an arena of their own meanwhile.

    before: afterwards, this launch.
    """
    before = before or LaunchBefore()
    arena = Arena([len(one.bytes) for one in pieces] + module_sizes(launch.module))
    names = [one.name for one in pieces]
    placed = [
        (one, arena.allocate(name, len(one.bytes), one.shape, one.strides, one.width, skew=one.start % HOST_ALIGNMENT))
        for one, name in zip(pieces, unique(names), strict=True)
    ]
    there = [(one.start, where.size, arena.address_of(where)) for one, where in placed]
    parameters = np.frombuffer(bytearray(launch.parameters), np.uint8)
    relocate(parameters, there)
    for one, where in placed:
        arena.contents(where)[:] = one.bytes
        if one.pointers:
            relocate(arena.contents(where), there)
    if launch.overlapping:
        arena.before = before.kernel
        for one, where in placed:
            late = before.late.get(one.start, one.bytes[:0])[: where.size]
            arena.late[where.start :][: len(late)] = late
    report = simulate(replace(launch, parameters=parameters.tobytes()), arena, **options)
    before.kernel = launch.shown
    before.late = {one.start: arena.late[where.start : where.end].copy() for one, where in placed}
    for one, where in placed:
        if one.pointers:
            relocate(arena.contents(where), [(new, size, start) for start, size, new in there])
        one.bytes[:] = arena.contents(where)
    return report


def unique(names: list[str]) -> list[str]:
    """Each name once; later ones with a number."""
    return [name if names.index(name) == n else f"{name}{n}" for n, name in enumerate(names)]
