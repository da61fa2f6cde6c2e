"""Host code that launches cuTile kernels, where there is no GPU: each ct.launch is interpreted or written down."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest import mock

import cuda.tile as ct
import torch
from torch.overrides import TorchFunctionMode

from tutorlib.checking.evidence import LaunchPlan, Placed, Planned
from tutorlib.compiling.dsls import exported
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.functions import opt_level
from tutorlib.simulate.cutile.run import (
    Accepted,
    Parameter,
    TileReport,
    array_constraint,
    constraint,
    parameters,
    refuse_launch,
    run,
)

SMS = 3  # SMs of the GPU that host code is told of: few, so that small matrices have more tiles
STREAM, DEFAULT_STREAM = SimpleNamespace(cuda_stream=7), SimpleNamespace(cuda_stream=0)
ALIGNED = 16  # bytes of which a tensor's address is a multiple, as those that torch makes


class CpuForCuda(TorchFunctionMode):
    """Tensors that are asked for on a GPU are made where the others are."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = dict(kwargs or {})
        if str(options.get("device", "")).startswith("cuda"):
            options["device"] = "cpu"
        return func(*args, **options)


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
    """ct.launch interprets, torch.cuda has a stream and a GPU with SMS SMs. Gives what was launched so far.

    A tensor that is made on device="cuda" meanwhile is one of this machine's memory.

    accepted: as in `run`. A launch raises TypeError and ValueError where the real one does, and what `run` raises.
    """
    launched: list[Launched] = []

    def interpret(kernel: ct.kernel, grid: tuple[int, ...], args: tuple[Any, ...], current: bool) -> None:
        report = run(kernel, grid, args, accepted=accepted)
        launched.append(Launched(kernel, grid, args, report, current))

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
        refuse_launch(stream, grid, kernel, args, handles=(0, STREAM.cuda_stream))
        take(kernel, grid, args, stream in (STREAM, STREAM.cuda_stream))

    gpu = SimpleNamespace(multi_processor_count=sms, name="the interpreter", major=9, minor=0)
    with (
        mock.patch.object(ct, "launch", launch),
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


# Recorded as data ------------------------------------------------------------------------------------------------


def plan_of(host: Callable[..., None], tensors: Sequence[torch.Tensor], target: str, sms: int = SMS) -> LaunchPlan:
    """The launches of a host function called on these tensors, whose values do not matter: nothing runs, and another
    process can carry the launches out. Raises CompileFailed, and what the host function and ct.launch raise.
    """
    kept: list[torch.UntypedStorage] = [tensor.untyped_storage() for tensor in tensors]
    memories: list[bytes] = []
    launches: list[Planned] = []

    def placed(arg: Any) -> Any:
        if not isinstance(arg, torch.Tensor):
            return arg
        storage = arg.untyped_storage()
        start = storage.data_ptr()
        if all(one.data_ptr() != start for one in kept):
            kept.append(storage)
            memories.append(ctypes.string_at(start, storage.nbytes()))
        return Placed(
            memory=next(n for n, one in enumerate(kept) if one.data_ptr() == start),
            start=arg.data_ptr() - start,
            dtype=str(arg.dtype).removeprefix("torch."),
            shape=tuple(arg.shape),
            strides=tuple(arg.stride()),
        )

    def take(kernel: ct.kernel, grid: tuple[int, ...], args: tuple[Any, ...], current: bool) -> None:
        each = list(zip(parameters(kernel), args, strict=True))
        compiled_in = (one.constant and not isinstance(arg, torch.Tensor) for one, arg in each)
        launches.append(
            Planned(
                tile_ir=exported(kernel, [typed(*one) for one in each], target),
                opt_level=opt_level(kernel, target),
                grid=tuple(grid),
                args=tuple(map(placed, args)),
                constants=tuple(n for n, is_one in enumerate(compiled_in) if is_one),
            )
        )

    with launches_to(take, sms):
        host(*tensors)
    return LaunchPlan(launches=tuple(launches), memories=tuple(memories))


def typed(parameter: Parameter, arg: Any) -> Any:
    """The argument's type for the compiler: what ct.launch would find."""
    if isinstance(arg, torch.Tensor):
        plain = arg.is_contiguous() and arg.data_ptr() % ALIGNED == 0
        return TensorSpec.like(arg).constraint() if plain else array_constraint(arg)
    return constraint(parameter, arg)
