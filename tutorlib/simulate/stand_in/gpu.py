"""The GPU: its memory is tensors in ordinary memory, and a launch on it is simulated.

A launch's pointers are these tensors' addresses. They are found among its parameters, and in tensors of integers, which
may be arrays of pointers; each tensor that is found so is copied into the simulator's memory, and back.
"""

import ctypes
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from tutorlib.compiling.errors import is_readers
from tutorlib.simulate.ptx.errors import CannotLaunch, NotSimulated
from tutorlib.simulate.ptx.findings import SourceLine
from tutorlib.simulate.ptx.memory.arena import HOST_ALIGNMENT, Arena
from tutorlib.simulate.ptx.memory.pointers import POINTER_BYTES, relocate, words_of
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch, module_sizes, simulate
from tutorlib.simulate.quotes import name_made_at, quoted

if TYPE_CHECKING:
    from torch import Tensor

SMS = 4  # few, so that persistent kernels take several tiles each
TOOL = str(Path(__file__).parents[1] / "tool.py")
ALIGNED = 512  # bytes to whose multiples torch allocates on a GPU


@dataclass(frozen=True)
class Held:
    """A storage "on the GPU". shape, strides: of the first tensor that had it, in elements of `width` bytes.

    start: address. size: bytes. name: of findings.
    """

    start: int
    size: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    width: int
    floats: bool
    name: str
    storage: StorageWeakRef

    @property
    def bytes(self) -> np.ndarray:
        return np.ctypeslib.as_array((ctypes.c_uint8 * self.size).from_address(self.start))

    @property
    def may_hold_pointers(self) -> bool:
        return not self.floats and self.size >= POINTER_BYTES


@dataclass
class StandInGpu:
    """took: called with the report of each launch; one that is refused has `Report.stopped`, and raises.

    arch: "90a". traced: as `ptx.simulate`.
    """

    arch: str
    took: Callable[[Report], None]
    traced: bool = False
    held: dict[int, Held] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)

    @property
    def capability(self) -> tuple[int, int]:
        number = int(self.arch.rstrip("af"))
        return number // 10, number % 10

    # memory

    def holds(self, tensor: "Tensor") -> bool:
        with torch._C.DisableTorchFunction():  # type: ignore[attr-defined]  # its stub lacks it
            one = self.held.get(tensor.untyped_storage().data_ptr())
        return one is not None and not one.storage.expired()

    def hold(self, tensor: "Tensor", name: str = "") -> "Tensor":
        """From now on its memory is on the GPU. name: by default, of the variable that the script assigns it to."""
        if not self.holds(tensor):
            with torch._C.DisableTorchFunction():  # type: ignore[attr-defined]
                storage = tensor.untyped_storage()
                if storage.nbytes():
                    kind, layout = tensor.dtype, (tuple(tensor.shape), tuple(tensor.stride()))
                    self.held[storage.data_ptr()] = Held(
                        storage.data_ptr(), storage.nbytes(), *layout, tensor.element_size(), kind.is_floating_point,
                        name or name_of_new(), StorageWeakRef(storage),
                    )  # fmt: skip
        return tensor

    def reached_from(self, parameters: np.ndarray) -> list[Held]:
        """The tensors whose addresses stand there, or in one of these tensors, and so on."""
        self.held = {start: one for start, one in self.held.items() if not one.storage.expired()}
        starts = sorted(self.held)
        found: dict[int, Held] = {}
        pending = [parameters]
        while pending:
            for word in words_of(pending.pop()).tolist():
                at = bisect_right(starts, word) - 1
                one = self.held[starts[at]] if at >= 0 else None
                if one is not None and word < one.start + one.size and one.start not in found:
                    found[one.start] = one
                    if one.may_hold_pointers:
                        pending.append(one.bytes)
        return list(found.values())

    # launches

    def launch(self, launch: Launch, name: str = "") -> None:
        """Simulate it now. name: of the kernel in the source. Raises NotSimulated and CannotLaunch."""
        self.take(name or launch.kernel.name, lambda: self.simulated(launch))

    def take(self, kernel: str, run: Callable[[], Report]) -> None:
        """Simulate a launch by calling `run`, and pass its report on."""
        at = line_of_the_script()
        try:
            with torch._C.DisableTorchFunction():  # type: ignore[attr-defined]
                report = run()
        except (NotSimulated, CannotLaunch) as error:
            self.took(Report((), (), 0, (), kernel=kernel, launched_at=at, stopped=str(error)))
            raise
        self.took(replace(report, kernel=report.kernel or kernel, launched_at=at))

    def simulated(self, launch: Launch) -> Report:
        parameters = np.frombuffer(bytearray(launch.parameters), np.uint8)
        needed = self.reached_from(parameters)
        arena = Arena([one.size for one in needed] + module_sizes(launch.module))
        names = unique([one.name for one in needed])
        placed = [
            (one, arena.allocate(name, one.size, one.shape, one.strides, one.width, one.start % HOST_ALIGNMENT))
            for one, name in zip(needed, names, strict=True)
        ]
        there = [(one.start, one.size, arena.address_of(where)) for one, where in placed]
        back = [(address, size, start) for start, size, address in there]
        for one, where in placed:
            arena.contents(where)[:] = one.bytes
            if one.may_hold_pointers:
                relocate(arena.contents(where), there)
        relocate(parameters, there)
        report = simulate(replace(launch, parameters=parameters.tobytes()), arena, self.traced)
        for one, where in placed:
            if one.may_hold_pointers:
                relocate(arena.contents(where), back)
            one.bytes[:] = arena.contents(where)
        return report


def frame_of_the_script() -> FrameType | None:
    """The innermost frame that is no library's; what calls `tool.simulate` launches nothing itself."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_readers(frame.f_code.co_filename):
        frame = None if frame.f_code.co_filename == TOOL else frame.f_back
    return frame


def line_of_the_script() -> SourceLine | None:
    if (frame := frame_of_the_script()) is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    return SourceLine(file, line, quoted(file, line))


def name_of_new() -> str:
    """Of the variable to which the script is about to assign a tensor."""
    if (frame := frame_of_the_script()) is None:
        return "tensor"
    line, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return name_made_at(frame.f_code.co_filename, line or frame.f_lineno, column) or "tensor"


def unique(names: list[str]) -> list[str]:
    """Each name once; later ones with a number."""
    return [name if names.index(name) == n else f"{name}{n}" for n, name in enumerate(names)]
