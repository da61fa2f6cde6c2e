"""torch as it would be on a machine with a GPU: tensors "on cuda" are in ordinary memory, and launches are simulated.

A launch's pointers are the addresses of these tensors. They are found among its parameters, and in tensors of
integers, which may be arrays of pointers; each tensor that is found so is copied into the simulator's memory, and back.
"""

import contextlib
import ctypes
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from tests.outside.packed import POINTER_BYTES, relocate, words_of
from tutorlib.simulate.ptx.ir import Module
from tutorlib.simulate.ptx.languages.cute_memory import OnDevice
from tutorlib.simulate.ptx.memory.arena import Allocation, Arena
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch, module_sizes, simulate

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
ASSERT_CLOSE = torch.testing.assert_close
ALIGNED = 512  # bytes to whose multiples torch allocates on a GPU
SMS = 4  # few, so that persistent kernels take several tiles each


@dataclass(frozen=True)
class Held:
    """A tensor's memory "on the GPU". tensor: the first that had it, flat memory's owner."""

    start: int
    size: int
    tensor: torch.Tensor

    @property
    def bytes(self) -> np.ndarray:
        return np.ctypeslib.as_array((ctypes.c_uint8 * self.size).from_address(self.start))

    @property
    def may_hold_pointers(self) -> bool:
        return not self.tensor.dtype.is_floating_point and self.size >= POINTER_BYTES


@dataclass
class PretendedGPU(TorchFunctionMode):
    """Entered as a context. capability: what torch.cuda says. simulates: whether launches run or are passed over.

    launches: how many, each with its instructions and findings. modules: what they came from, and its text,
    by their ids.
    """

    capability: tuple[int, int]
    simulates: bool = True
    launches: int = 0
    instructions: int = 0
    findings: list[str] = field(default_factory=list)
    modules: dict[int, Module] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    held: dict[int, Held] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    # tensors -----------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if func == torch.Tensor.is_cuda.__get__:
            return self.is_held(args[0])
        if func == torch.Tensor.device.__get__:
            return CUDA if self.is_held(args[0]) else CPU
        if func is torch.Tensor.get_device:
            return 0 if self.is_held(args[0]) else -1
        if func is torch.Tensor.__dlpack_device__:
            return (2, 0) if self.is_held(args[0]) else (1, 0)
        if func is torch.Tensor.__dlpack__:
            return OnDevice(args[0]).__dlpack__() if self.is_held(args[0]) else func(args[0])
        if func is torch.Tensor.record_stream:
            return None
        if func is torch.Tensor.cuda:
            return self.hold(args[0] if self.is_held(args[0]) else args[0].clone())
        if func is torch.Tensor.cpu:
            return args[0].clone() if self.is_held(args[0]) else args[0]
        target, args, kwargs = without_device(func, args, kwargs)
        given = [x for x in tensors_in((args, kwargs))]
        moves = func is torch.Tensor.to and target is not None
        held = target.type == "cuda" if target is not None else any(map(self.is_held, given))
        result = func(*args, **kwargs)
        if moves and self.is_held(given[0]) != held and same_memory(result, given[0]):
            result = result.clone()
        if held and name != "data_ptr":
            for tensor in tensors_in(result):
                if not self.is_held(tensor):
                    align(tensor)
                self.hold(tensor)
        return result

    def is_held(self, tensor: torch.Tensor) -> bool:
        with torch._C.DisableTorchFunction():
            return tensor.untyped_storage().data_ptr() in self.held

    def hold(self, tensor: torch.Tensor) -> torch.Tensor:
        with torch._C.DisableTorchFunction():
            storage = tensor.untyped_storage()
            if storage.nbytes():
                self.held.setdefault(storage.data_ptr(), Held(storage.data_ptr(), storage.nbytes(), tensor))
        return tensor

    # launches ----------------------------------------------------------------------------------------------------

    def launch(self, launch: Launch) -> None:
        if not self.simulates:
            return
        with torch._C.DisableTorchFunction():
            report = self.simulated(launch)
        self.launches += 1
        self.instructions += report.instructions
        self.findings += [f"{finding.kind}: {finding}" for finding in report.findings]

    def parse(self, ptx: str) -> Module:
        """The module that launches of this PTX have."""
        module = parse_ptx(ptx)
        self.modules[id(module)] = module
        self.texts[id(module)] = ptx
        return module

    def simulated(self, launch: Launch) -> Report:
        parameters = np.frombuffer(bytearray(launch.parameters), np.uint8)
        needed = self.reached_from(parameters)
        arena = Arena([one.size for one in needed] + module_sizes(launch.module))
        placed = {one.start: (one, allocate(arena, number, one)) for number, one in enumerate(needed)}
        there = [(one.start, one.size, arena.address_of(where)) for one, where in placed.values()]
        back = [(address, size, start) for start, size, address in there]
        for one, where in placed.values():
            arena.contents(where)[:] = one.bytes
            if one.may_hold_pointers:
                relocate(arena.contents(where), there)
        relocate(parameters, there)
        report = simulate(replace(launch, parameters=parameters.tobytes()), arena)
        for one, where in placed.values():
            if one.may_hold_pointers:
                relocate(arena.contents(where), back)
            one.bytes[:] = arena.contents(where)
        return report

    def reached_from(self, parameters: np.ndarray) -> list[Held]:
        """The tensors whose addresses stand there, or in one of these tensors, and so on."""
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


def without_device(func: Any, args: tuple, kwargs: dict) -> tuple[torch.device | None, tuple, dict]:
    """The device that a call names, or None, and the call on the CPU."""
    if func is torch.device or getattr(func, "__name__", "") == "device":
        return None, args, kwargs
    target = None
    if kwargs.get("device") is not None:
        target = device_of(kwargs["device"])
        kwargs["device"] = "cpu"
    elif func is torch.Tensor.to:
        places = [n for n, arg in enumerate(args[1:], 1) if isinstance(arg, str | torch.device)]
        if places:
            target = device_of(args[places[0]])
            args = (*args[: places[0]], CPU, *args[places[0] + 1 :])
        elif len(args) > 1 and isinstance(args[1], torch.Tensor):
            pass
    if kwargs.get("pin_memory"):
        kwargs["pin_memory"] = False
    return target, args, kwargs


def device_of(device: Any) -> torch.device:
    return torch.device("cuda", device) if isinstance(device, int) else torch.device(device)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def same_memory(a: Any, b: torch.Tensor) -> bool:
    with torch._C.DisableTorchFunction():
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def align(tensor: torch.Tensor) -> None:
    """Move a new tensor to memory such as a GPU's allocator gives."""
    with torch._C.DisableTorchFunction():
        old = tensor.untyped_storage()
        if not old.nbytes() or old.data_ptr() % ALIGNED == 0 or tensor.is_sparse:
            return
        room = np.empty(old.nbytes() + ALIGNED, np.uint8)
        first = -room.ctypes.data % ALIGNED
        new = torch.from_numpy(room[first : first + old.nbytes()]).untyped_storage()
        new.copy_(old)
        place = tensor.storage_offset(), tensor.shape, tensor.stride()
        tensor.data = torch.empty(0, dtype=tensor.dtype).set_(new, *place)  # type: ignore[call-overload]


def allocate(arena: Arena, number: int, one: Held) -> Allocation:
    tensor = one.tensor
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    skew = one.start % 64
    return arena.allocate(f"tensor{number}", one.size, shape, strides, tensor.element_size(), skew)


# torch.cuda ---------------------------------------------------------------------------------------------------------


class Stream:
    cuda_stream = 0
    stream_id = device_index = 0
    device = CUDA

    def __init__(self, *args: Any, **options: Any) -> None: ...

    def synchronize(self) -> None: ...

    def wait_stream(self, other: Any) -> None: ...

    def wait_event(self, event: Any) -> None: ...


class Event:
    cuda_event = 1

    def __init__(self, *args: Any, **options: Any) -> None: ...

    def record(self, *args: Any) -> None: ...

    def synchronize(self) -> None: ...

    def elapsed_time(self, other: Any) -> float:
        return 1.0


class CUDAGraph:
    """Its launches run when it is captured: that is its first replay."""

    def __init__(self, *args: Any, **options: Any) -> None: ...

    def replay(self) -> None: ...


@dataclass(frozen=True)
class Properties:
    name: str
    major: int
    minor: int
    multi_processor_count: int = SMS
    total_memory: int = 80 * 2**30
    max_threads_per_multi_processor: int = 2048
    shared_memory_per_multiprocessor: int = 228 * 2**10
    shared_memory_per_block_optin: int = 227 * 2**10
    regs_per_multiprocessor: int = 65536
    warp_size: int = 32
    L2_cache_size: int = 50 * 2**20


@contextlib.contextmanager
def pretended(gpu: PretendedGPU) -> Iterator[PretendedGPU]:
    """torch.cuda speaks of this GPU, and "cuda" is where its tensors are."""
    properties = Properties("a simulated GPU", *gpu.capability)
    says = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
        "get_device_capability": lambda device=None: gpu.capability,
        "get_device_properties": lambda device=None: properties,
        "get_device_name": lambda device=None: properties.name,
        "current_stream": lambda device=None: Stream(),
        "default_stream": lambda device=None: Stream(),
        "stream": lambda stream: contextlib.nullcontext(),
        "device": lambda device: contextlib.nullcontext(),
        "Stream": Stream,
        "Event": Event,
        "CUDAGraph": CUDAGraph,
        "graph": lambda graph, **options: contextlib.nullcontext(),
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
    }
    with contextlib.ExitStack() as stack:
        for name, value in says.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, value))
        stack.enter_context(mock.patch.object(torch.backends.cuda, "is_built", return_value=True))
        stack.enter_context(mock.patch.object(torch.testing, "assert_close", within_a_rounding))
        stack.enter_context(gpu)
        yield gpu


def within_a_rounding(
    got: torch.Tensor, want: torch.Tensor, *, rtol: Any = None, atol: Any = None, **options: Any
) -> None:
    """torch.testing.assert_close, but the CPU's sums of fp16 and bf16, in another order, may be rounded otherwise."""
    if rtol is not None and isinstance(got, torch.Tensor) and got.dtype in (torch.float16, torch.bfloat16):
        rtol = max(rtol, torch.finfo(got.dtype).eps)
    ASSERT_CLOSE(got, want, rtol=rtol, atol=atol, **options)
