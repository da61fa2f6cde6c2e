"""The launches of a host function that evidence has: simulated, or carried out on the GPU at hand.

Inputs, outputs, references, stream and clock are the judge's own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from tutorlib.checking.evidence import APART, FIRST
from tutorlib.compiling.errors import CompileFailed
from tutorlib.measuring.driver import load_function, prepare
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Call, Work

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.measuring.simulated_launchers import Simulated
    from tutorlib.simulate.ptx.report import Report
    from tutorlib.simulate.ptx.simulation import Launch


@dataclass(frozen=True)
class Launches:
    """Launches at one size, in order, on tensors at made-up addresses.

    cubins: their kernels' machine code; () for the simulator. memories: those that the host function allocated beside
    the problem's tensors, as bytes; each call starts from what it left there.
    """

    launches: "Sequence[Launch]"
    cubins: Sequence[bytes] = ()
    memories: Sequence[bytes] = ()

    def allocated(self, work: Work) -> "list[Tensor]":
        """The memories, on the device of the work's tensors."""
        import torch

        device = work.output.tensor.device
        return [torch.frombuffer(bytearray(raw), dtype=torch.uint8).to(device) for raw in self.memories]


LaunchesAt = Callable[[Shape], Launches]  # raises CompileFailed


def parameters_for(launch: "Launch", tensors: "Sequence[Tensor]") -> bytes:
    """A recorded launch's parameters for these tensors.

    A word that points into a made-up tensor is a pointer: a parameter, a member of a struct, or the first word of a TMA
    descriptor. Raises CompileFailed where one leads out of its tensor.
    """
    raw = bytearray(launch.parameters)
    for at in range(0, len(raw) - 7, 8):
        n, offset = divmod(int.from_bytes(raw[at : at + 8], "little") - FIRST, APART)
        if 0 <= n < len(tensors):
            if offset >= tensors[n].nbytes:
                raise CompileFailed("a pointer of its launch leads out of its tensors")
            raw[at : at + 8] = (tensors[n].data_ptr() + offset).to_bytes(8, "little")
    return bytes(raw)


def simulated(launches_at: LaunchesAt, options: Callable[[Shape], dict[str, Any]]) -> "Simulated":
    """A launcher that simulates. options: takes a shape, gives those of `simulate`."""
    from tutorlib.measuring.simulated_launchers import Simulated
    from tutorlib.simulate.ptx.languages.cute import simulate_launches

    def run(found: Launches, work: Work) -> "list[Report]":
        named = work.named | {f"memory {n}": memory for n, memory in enumerate(found.allocated(work))}
        moved = [replace(one, parameters=parameters_for(one, [*named.values()])) for one in found.launches]
        return simulate_launches(named, moved, **options(work.shape))

    return Simulated(launches_at, run)


class OnGpu:
    """A launcher for the GPU at hand, which loads each kernel once."""

    def __init__(self, launches_at: LaunchesAt) -> None:
        self.launches_at, self.load = cache(launches_at), cache(load_function)

    def on(self, work: Work) -> Call:
        found = self.launches_at(work.shape)
        memories, left = found.allocated(work), found.allocated(work)
        prepared = [
            prepare(
                self.load(cubin, one.kernel.name),
                one.config,
                parameters_for(one, [*work.tensors, *memories]),
                [parameter.offset for parameter in one.kernel.parameters],
            )
            for cubin, one in zip(found.cubins, found.launches, strict=True)
        ]

        def call() -> None:
            for memory, content in zip(memories, left, strict=True):
                memory.copy_(content)
            for launch in prepared:
                launch()

        return call
