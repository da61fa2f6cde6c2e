"""CuTe host functions, simulated."""

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.cute import cute_arguments
from tutorlib.simulate.ptx.ir import Module
from tutorlib.simulate.ptx.languages.cute_host import Recorded, record_launches
from tutorlib.simulate.ptx.languages.cute_lines import Traced
from tutorlib.simulate.ptx.memory.arena import Allocation, Arena
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.places import Find
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import module_sizes, simulate

if TYPE_CHECKING:
    from torch import Tensor


def simulate_host(
    compiled: Traced, tensors: "dict[str, Tensor]", dynamic: bool = False, traced: bool = False
) -> list[Report]:
    """Call a host function on tensors in ordinary memory, by name, and simulate what it launches, in order.

    traced: as `simulate`.
    """
    return simulate_call(compiled, tensors, lambda views: cute_arguments(views, dynamic), traced)


def simulate_call(
    compiled: Traced,
    tensors: "dict[str, Tensor]",
    arguments: "Callable[[list[Tensor]], Sequence[Any]]",
    traced: bool = False,
) -> list[Report]:
    """As `simulate_host`, for any arguments, which are made from the copies that the kernels see."""
    module = parse_ptx(compiled.ptx)

    def launched(views: "list[Tensor]") -> list[Recorded]:
        return record_launches(compiled.function, module, arguments(views))

    return simulate_launches(module, tensors, launched, compiled.stacks.finder(module), traced)


def simulate_launches(
    module: Module,
    tensors: "dict[str, Tensor]",
    launched: "Callable[[list[Tensor]], Sequence[Recorded]]",
    find: Find,
    traced: bool = False,
    budget: float = inf,
) -> list[Report]:
    """Simulate what a host function launches, in order.

    launched: takes the tensors' copies that the kernels see, gives the launches. find, traced, budget: as `simulate`.
    """
    arena = Arena([t.numel() * t.element_size() for t in tensors.values()] + module_sizes(module))
    placed = {name: arena.place(name, tensor) for name, tensor in tensors.items()}
    launches = launched([view(arena, placed[name], tensor) for name, tensor in tensors.items()])
    reports = [simulate(each.of(module, find), arena, traced, budget=budget) for each in launches]
    for name, tensor in tensors.items():
        arena.write_back(placed[name], tensor)
    return reports


def view(arena: Arena, allocation: Allocation, tensor: "Tensor") -> "Tensor":
    """The tensor's copy in the arena."""
    import torch

    flat = torch.from_numpy(arena.contents(allocation)).view(tensor.dtype)
    return flat.as_strided(tensor.shape, tensor.stride())
