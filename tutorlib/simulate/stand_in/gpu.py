"""The GPU: its memory is tensors in ordinary memory, and a launch on it is simulated.

A launch's pointers are these tensors' addresses. They are found among its parameters, and in tensors of integers, which
may be arrays of pointers; each tensor that is found so is copied into the simulator's memory, and back.
"""

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
from tutorlib.simulate.ptx.findings import CannotLaunch, NotSimulated, SourceLine, name_made_at, quoted
from tutorlib.simulate.ptx.launch import LaunchBefore, Piece, bytes_at, pointer_words, simulate_pieces
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch

if TYPE_CHECKING:
    from torch import Tensor

DSLS = {"cutlass", "cuda", "torch", "triton"}
SMS = 4  # few, so that persistent kernels take several tiles each
TOOL = str(Path(__file__).parents[1] / "tool.py")


@dataclass
class StandInGpu:
    """took: called with the report of each launch; a refused launch has `Report.stopped`, and raises.

    arch: "90a".
    """

    arch: str
    took: Callable[[Report], None]
    sms: int = SMS
    held: dict[int, tuple[Piece, StorageWeakRef]] = field(default_factory=dict)
    before: LaunchBefore = field(default_factory=LaunchBefore)

    @property
    def capability(self) -> tuple[int, int]:
        number = int(self.arch.rstrip("af"))
        return number // 10, number % 10

    # memory

    def holds(self, tensor: "Tensor") -> bool:
        with torch._C.DisableTorchFunction():
            _, storage = self.held.get(tensor.untyped_storage().data_ptr(), (None, None))
        return storage is not None and not storage.expired()

    def hold(self, tensor: "Tensor", name: str = "") -> "Tensor":
        """From now on its memory is on the GPU. name: by default, of the variable that the script assigns it to."""
        if not self.holds(tensor):
            with torch._C.DisableTorchFunction():
                storage, kind = tensor.untyped_storage(), tensor.dtype.is_floating_point
                start, layout = storage.data_ptr(), (tuple(tensor.shape), tuple(tensor.stride()), tensor.element_size())
                if size := storage.nbytes():
                    piece = Piece(name or name_of_new(), start, *layout, kind, bytes_at(start, size))
                    self.held[start] = piece, StorageWeakRef(storage)
        return tensor

    def reached_from(self, parameters: np.ndarray) -> list[Piece]:
        """The tensors whose addresses stand there, or in one of these tensors, and so on."""
        self.held = {start: held for start, held in self.held.items() if not held[1].expired()}
        starts = sorted(self.held)
        found: dict[int, Piece] = {}
        pending = [parameters]
        while pending:
            for word in pointer_words(pending.pop()).tolist():
                at = bisect_right(starts, word) - 1
                piece = self.held[starts[at]][0] if at >= 0 else None
                if piece is not None and word < piece.start + len(piece.bytes) and piece.start not in found:
                    found[piece.start] = piece
                    if piece.pointers:
                        pending.append(piece.bytes)
        return list(found.values())

    # launches

    def launch(self, launch: Launch) -> None:
        """Simulate it now. Raises NotSimulated and CannotLaunch."""
        parameters = np.frombuffer(launch.parameters, np.uint8)
        self.take(launch.shown, lambda: simulate_pieces(launch, self.reached_from(parameters), before=self.before))

    def run_other_work(self, *where: object) -> None:
        """What is no launch of PTX runs, or the host waits: the next launch overlaps with none before it."""
        self.before = LaunchBefore()

    def take(self, kernel: str, run: Callable[[], Report]) -> None:
        """Simulate a launch by calling `run`, and pass its report on."""
        at = line_of_the_script()
        try:
            with torch._C.DisableTorchFunction():
                report = run()
        except (NotSimulated, CannotLaunch) as error:
            found = error.found if isinstance(error, NotSimulated) else ()
            self.took(Report(found, (), 0, (), kernel=kernel, launched_at=at, stopped=str(error)))
            raise
        self.took(replace(report, kernel=report.kernel or kernel, launched_at=at))


def frame_of_the_script() -> FrameType | None:
    """The innermost frame that is no library's; what calls `tool.simulate` launches nothing itself."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (
        not is_readers(frame.f_code.co_filename)
        or frame.f_globals.get("__name__", "").partition(".")[0] in DSLS  # Triton may run in a checkout
    ):
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
