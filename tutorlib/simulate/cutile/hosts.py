"""Host code that launches cuTile kernels, where there is no GPU: each ct.launch is interpreted, or passed on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest import mock

import cuda.tile as ct
import torch
from torch.overrides import TorchFunctionMode

from tutorlib.simulate.cutile.run import Accepted, TileReport, refuse_launch, run

SMS = 3  # SMs of the GPU that host code is told of: few, so that small matrices have more tiles
STREAM, DEFAULT_STREAM = SimpleNamespace(cuda_stream=7), SimpleNamespace(cuda_stream=0)


class CpuForCuda(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        on_gpu = str((kwargs or {}).get("device", "")).startswith("cuda")
        return func(*args, **(kwargs or {}) | ({"device": "cpu"} if on_gpu else {}))


@dataclass(frozen=True)
class Launched:
    """One launch: with what, and what it did. current: whether in torch's current stream."""

    kernel: ct.kernel
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    report: TileReport
    current: bool


@contextmanager
def launches_interpreted(accepted: Accepted | None = None) -> Iterator[list[Launched]]:
    """In the block ct.launch interprets, as if there were a GPU with SMS SMs. Gives what was launched so far.

    accepted: as in `simulate.cutile.run`, whose errors a launch raises; TypeError and ValueError where the real one
    does.
    """
    launched: list[Launched] = []

    def take(kernel: ct.kernel, grid: tuple[int, ...], args: tuple[Any, ...], current: bool) -> None:
        launched.append(Launched(kernel, grid, args, run(kernel, grid, args, accepted=accepted), current))

    with launches_to(take):
        yield launched


@contextmanager
def launches_to(
    take: Callable[[ct.kernel, tuple[int, ...], tuple[Any, ...], bool], None], sms: int = SMS
) -> Iterator[None]:
    """In the block, ct.launch passes its arguments to `take`, the stream as `Launched.current`, and there seems to be a
    GPU with `sms` SMs. Its current stream is not the default one. Tensors that are asked for on it are made where the
    others are.
    """

    def launch(stream: Any, grid: Any, kernel: Any, args: Any, /, **options: Any) -> None:
        refuse_launch(stream, grid, kernel, args, handles=(0, STREAM.cuda_stream))
        take(kernel, grid, args, stream in (STREAM, STREAM.cuda_stream))

    stands_for: dict[str, Any] = {
        "current_stream": lambda *device: STREAM,
        "default_stream": lambda *device: DEFAULT_STREAM,
        "synchronize": lambda *device: None,
        "current_device": lambda: 0,
        "device": nullcontext,
        "stream": nullcontext,
        "get_device_properties": lambda *device: SimpleNamespace(
            multi_processor_count=sms, name="the interpreter", major=9, minor=0
        ),
    }
    with mock.patch.object(ct, "launch", launch), mock.patch.multiple(torch.cuda, **stands_for), CpuForCuda():
        yield
