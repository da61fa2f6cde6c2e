"""Host code that launches cuTile kernels, where there is no GPU: each ct.launch is interpreted when it is called."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest import mock

import cuda.tile as ct
import torch
from torch.overrides import TorchFunctionMode

from tutorlib.dsl.cutile.launch import launched_by
from tutorlib.dsl.failure import Fail, Flaw
from tutorlib.simulate.cutile.dtypes import Number, poison
from tutorlib.simulate.cutile.run import ARCH, TileReport, run
from tutorlib.simulate.cutile.signature import Accepted, parameters

SMS = 3  # SMs of the GPU that host code is told of: few, so that small matrices have more tiles
STREAM, DEFAULT_STREAM = SimpleNamespace(cuda_stream=7), SimpleNamespace(cuda_stream=0)


class CpuForCuda(TorchFunctionMode):
    """Tensors that are asked for on a GPU are made where the others are."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = dict(kwargs or {})
        if str(options.get("device", "")).startswith("cuda"):
            options["device"] = "cpu"
        return func(*args, **options)


@dataclass(frozen=True)
class Launched:
    """One launch: with what, and what it did.

    current: whether in torch's current stream. versions: by memory, torch's count of changes afterwards.
    """

    kernel: ct.kernel
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    report: TileReport
    current: bool
    versions: Mapping[int, int]


@contextmanager
def interpreted(
    undetermined: Callable[[ct.DType], Number] = poison, accepted: Accepted | None = None, arch: str = ARCH
) -> Iterator[list[Launched]]:
    """ct.launch interprets, torch.cuda has a stream and a GPU with SMS SMs. Gives what was launched so far.

    A tensor that is made on device="cuda" meanwhile is one of this machine's memory.

    accepted, arch: as in `run`. A launch raises TypeError and ValueError where the real one does, and what `run`
    raises.
    """
    launched: list[Launched] = []

    def interpret(kernel: ct.kernel, grid: tuple[int, ...], args: tuple[Any, ...], current: bool) -> None:
        report = run(kernel, grid, args, arch, undetermined, accepted)
        launched.append(Launched(kernel, grid, args, report, current, versions(args)))

    with launches_to(interpret):
        yield launched


@contextmanager
def launches_to(
    take: Callable[[ct.kernel, tuple[int, ...], tuple[Any, ...], bool], None], sms: int = SMS
) -> Iterator[None]:
    """In the block, ct.launch passes its arguments to `take`, the stream as `Launched.current`, and there seems to be a
    GPU with `sms` SMs. Its current stream is not the default one.
    """

    def launch(
        stream: Any,
        grid: tuple[int, ...],
        kernel: ct.kernel,
        args: tuple[Any, ...],
        /,
        *,
        programmatic_dependent_launch: bool = False,
    ) -> None:
        refuse_launch(stream, grid, kernel, args)
        take(kernel, grid, args, is_stream(stream, STREAM))

    gpu = SimpleNamespace(multi_processor_count=sms, name="the interpreter", major=9, minor=0)
    with (
        launched_by(launch),
        mock.patch.object(torch.cuda, "current_stream", return_value=STREAM),
        mock.patch.object(torch.cuda, "default_stream", return_value=DEFAULT_STREAM),
        mock.patch.object(torch.cuda, "synchronize"),
        mock.patch.object(torch.cuda, "current_device", return_value=0),
        mock.patch.object(torch.cuda, "device", nullcontext),
        mock.patch.object(torch.cuda, "stream", nullcontext),
        mock.patch.object(torch.cuda, "get_device_properties", return_value=gpu),
        CpuForCuda(),
    ):
        yield


def is_stream(given: Any, stream: SimpleNamespace) -> bool:
    """Whether it is this stream, or its handle."""
    return given is stream or (type(given) is int and given == stream.cuda_stream)


def refuse_launch(stream: Any, grid: Any, kernel: Any, args: Any) -> None:
    """Raises TypeError or ValueError where ct.launch, or the driver below it, refuses."""
    if not (hasattr(stream, "cuda_stream") or is_stream(stream, STREAM) or is_stream(stream, DEFAULT_STREAM)):
        given = stream if stream is None or isinstance(stream, int) else f"a {type(stream).__name__}"
        raise TypeError(f"ct.launch wants a stream first, torch.cuda.current_stream(), not {given}")
    if not isinstance(grid, tuple):
        what = f"the grid should be a tuple, such as (4,) or (4, 2); it is {grid!r}"
        raise TypeError(Flaw(what, Fail.NOT_LAUNCHED(grid="no tuple")))
    if not 1 <= len(grid) <= 3:
        raise ValueError(f"a grid has one to three sizes, not {len(grid)}")
    if wrong := next((size for size in grid if not isinstance(size, int)), None):
        raise TypeError(f"the sizes of a grid are Python integers; {wrong!r} is a {type(wrong).__name__}")
    if min(grid) < 1:
        raise ValueError(Flaw(f"a grid of {grid} has no blocks", Fail.NOT_LAUNCHED(grid="empty")))
    if not isinstance(kernel, ct.kernel):
        raise TypeError(f"{getattr(kernel, '__name__', kernel)!s} is not a @ct.kernel")
    if not isinstance(args, tuple):
        raise TypeError(f"the kernel's arguments should be a tuple, not a {type(args).__name__}")
    wanted = [parameter.name for parameter in parameters(kernel)]
    if len(args) != len(wanted):
        raise TypeError(f"the kernel takes {len(wanted)} arguments, {', '.join(wanted)}; it is given {len(args)}")


def versions(args: Iterable[Any]) -> dict[int, int]:
    return {memory_of(arg): arg._version for arg in args if isinstance(arg, torch.Tensor)}


def memory_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def stores_to(launched: Sequence[Launched], tensor: torch.Tensor) -> bool:
    """Whether one of the launches stored to this tensor's memory, and nothing has since."""
    last = max((launch.versions.get(memory_of(tensor), 0) for launch in launched), default=0)
    return tensor._version == last and any(
        isinstance(arg, torch.Tensor)
        and arg.data_ptr() == tensor.data_ptr()
        and parameter.name in launch.report.storers
        and bool((launch.report.storers[parameter.name] >= 0).any())
        for launch in launched
        for parameter, arg in zip(parameters(launch.kernel), launch.args, strict=True)
    )
