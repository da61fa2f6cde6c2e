"""CuTe host functions, simulated."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.cute import cute_arguments
from tutorlib.simulate.ptx.languages.cute_host import record_launches
from tutorlib.simulate.ptx.languages.cute_lines import Traced
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.pieces import LaunchBefore, distinct, piece_of, simulate_pieces
from tutorlib.simulate.ptx.places import Find
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch

if TYPE_CHECKING:
    from torch import Tensor


def simulate_host(
    compiled: Traced, tensors: "dict[str, Tensor]", dynamic: bool = False, traced: bool = False
) -> list[Report]:
    """Call a host function on tensors in ordinary memory, by name, and simulate what it launches, in order.

    traced: as `simulate`.
    """
    return simulate_call(compiled, tensors, cute_arguments([*tensors.values()], dynamic), traced)


def simulate_call(
    compiled: Traced, tensors: "dict[str, Tensor]", arguments: Sequence[Any], traced: bool = False
) -> list[Report]:
    """As `simulate_host`, for any arguments. tensors: whose memory they reach."""
    module = parse_ptx(compiled.ptx)
    launches = record_launches(compiled.function, module, arguments)
    return simulate_launches(tensors, launches, compiled.stacks.finder(module), traced)


def simulate_launches(
    tensors: "dict[str, Tensor]",
    launches: Sequence[Launch],
    find: Find,
    traced: bool = False,
    budget: float = inf,
) -> list[Report]:
    """Simulate what a host function launches, in order. find, traced, budget: as `simulate`."""
    pieces, before = distinct(piece_of(name, tensor) for name, tensor in tensors.items()), LaunchBefore()
    return [simulate_pieces(replace(each, find=find), pieces, traced, before, budget=budget) for each in launches]
