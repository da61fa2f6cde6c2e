"""torch as on a machine with a GPU: tensors "on cuda" are in ordinary memory, and torch.cuda speaks of the GPU."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._pytree import tree_iter

from tutorlib.simulate.ptx.languages.cute import OnDevice
from tutorlib.simulate.ptx.launch import fresh_memory
from tutorlib.simulate.ptx.memory import ALIGNMENT
from tutorlib.simulate.stand_in.gpu import StandInGpu
from tutorlib.simulate.tensors import poison

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
ASSERT_CLOSE, CUSTOM_OP = torch.testing.assert_close, torch.library.custom_op
# What a GPU leaves there is unknown.
EMPTY = (torch.empty, torch.empty_like, torch.empty_strided, torch.Tensor.new_empty)
DEFAULT_RTOL, DEFAULT_ATOL = {torch.float16: 1e-3, torch.bfloat16: 1.6e-2}, 1e-5  # of torch.testing.assert_close
SUM_ROUNDING = 2**-20  # of a few thousand numbers in fp32, relative to the result
WAITS = {"item", "tolist", "cpu", "numpy", "__bool__", "__int__", "__float__", "__index__"}  # for all launches before
CONSTRUCTORS = _device_constructors()
WITHOUT_TORCH = torch._C.DisableTorchFunction


class OnCuda(TorchFunctionMode):
    """Tensors know whether they are on the GPU; results of operations on such tensors are there, too."""

    def __init__(self, gpu: StandInGpu) -> None:
        super().__init__()
        self.gpu, self.default, holds = gpu, CPU, gpu.holds
        self.answers: dict[Any, Any] = {
            vars(torch._C.TensorBase)["is_cuda"].__get__: holds,
            vars(torch._C.TensorBase)["device"].__get__: lambda tensor: CUDA if holds(tensor) else CPU,
            torch.Tensor.get_device: lambda tensor: 0 if holds(tensor) else -1,
            torch.Tensor.__dlpack_device__: lambda tensor: (2, 0) if holds(tensor) else (1, 0),
            torch.Tensor.__dlpack__: lambda tensor: (OnDevice(tensor) if holds(tensor) else tensor).__dlpack__(),
            torch.Tensor.record_stream: lambda tensor: None,
            torch.Tensor.is_pinned: lambda tensor: False,
            torch.Tensor.pin_memory: lambda tensor: tensor,
            torch.Tensor.cuda: lambda tensor: tensor if holds(tensor) else self.held(tensor.clone()),
            torch.Tensor.cpu: lambda tensor: tensor.clone() if holds(tensor) else tensor,
        }

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in WAITS and self.gpu.holds(args[0]):
            self.gpu.run_other_work()
        if answer := self.answers.get(func):
            return answer(args[0])
        kwargs = dict(kwargs or {})
        if func in CONSTRUCTORS and kwargs.get("device") is None:
            kwargs["device"] = self.default
        target, args, kwargs = without_device(func, args, kwargs)
        given = list(tensors_in((args, kwargs)))
        contents = versions_of(given)
        on_gpu = target.type == "cuda" if target is not None else any(map(self.gpu.holds, given))
        result = func(*args, **kwargs)
        moves = func is torch.Tensor.to and target is not None and self.gpu.holds(given[0]) != on_gpu
        if moves and result.untyped_storage().data_ptr() == given[0].untyped_storage().data_ptr():
            result = result.clone()
        if on_gpu and getattr(func, "__name__", "") != "data_ptr":
            results = list(tensors_in(result))
            if func not in EMPTY and (contents != versions_of(given) or not all(map(self.gpu.holds, results))):
                self.gpu.run_other_work()
            for tensor in results:
                self.held(tensor)
                if func in EMPTY:
                    with WITHOUT_TORCH():
                        poison(tensor.detach())
        return result

    def held(self, tensor: torch.Tensor) -> torch.Tensor:
        if not self.gpu.holds(tensor):
            align(tensor)
        return self.gpu.hold(tensor)


def without_device(func: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[torch.device | None, tuple, dict[str, Any]]:
    """The device that a call names, or None, and the call on the CPU."""
    if func is torch.device or getattr(func, "__name__", "") == "device":
        return None, args, kwargs
    target = None
    if kwargs.get("device") is not None:
        target, kwargs["device"] = torch.device(kwargs["device"]), "cpu"
    elif func is torch.Tensor.to:
        place = next((n for n, arg in enumerate(args[1:], 1) if isinstance(arg, str | torch.device)), 0)
        if place:
            target, args = torch.device(args[place]), (*args[:place], CPU, *args[place + 1 :])
    if kwargs.get("pin_memory"):
        kwargs["pin_memory"] = False
    return target, args, kwargs


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    return (item for item in tree_iter(value) if isinstance(item, torch.Tensor))


def versions_of(tensors: list[torch.Tensor]) -> list[int]:
    """How often each has been changed in place."""
    with WITHOUT_TORCH():
        return [0 if tensor.is_inference() else tensor._version for tensor in tensors]


def align(tensor: torch.Tensor) -> None:
    """Move a new tensor to memory such as a GPU's allocator gives."""
    with WITHOUT_TORCH():
        old = tensor.untyped_storage()
        if not old.nbytes() or old.data_ptr() % ALIGNMENT == 0 or tensor.is_sparse:
            return
        new = torch.from_numpy(fresh_memory(old.nbytes())).untyped_storage()
        new.copy_(old)
        place = tensor.storage_offset(), tensor.shape, tensor.stride()
        tensor.data = torch.empty(0, dtype=tensor.dtype).set_(new, *place)


# torch.cuda


class Handle:
    """A stream, an event or a graph, made with any arguments: what it orders is over when it is asked for. A graph's
    launches run when it is captured, which is its first replay."""

    cuda_stream = stream_id = device_index = 0
    cuda_event, device = 1, CUDA

    def __init__(self, *args: Any, **options: Any) -> None: ...

    def synchronize(self, *others: Any, **options: Any) -> None: ...

    wait_stream = wait_event = record_event = record = wait = replay = synchronize

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Any) -> float:
        return 1.0


CURRENT, DEFAULT = Handle(), Handle()
CURRENT.cuda_stream = CURRENT.stream_id = 7


class Generator(torch.Generator):
    def __new__(cls, device: Any = "cpu") -> "Generator":
        return super().__new__(cls, "cpu")  # type: ignore[call-arg]  # its stub has no __new__


PROPERTIES = {
    "name": "a simulated GPU", "total_memory": 80 * 2**30, "max_threads_per_multi_processor": 2048,
    "shared_memory_per_multiprocessor": 228 * 2**10, "shared_memory_per_block_optin": 227 * 2**10,
    "regs_per_multiprocessor": 65536, "warp_size": 32, "L2_cache_size": 50 * 2**20,
}  # fmt: skip


@contextmanager
def torch_on(gpu: StandInGpu) -> Iterator[None]:
    """torch.cuda speaks of this GPU, and "cuda" is where its tensors are."""
    sizes = dict(zip(("major", "minor", "multi_processor_count"), (*gpu.capability, gpu.sms), strict=True))
    properties = SimpleNamespace(**PROPERTIES, **sizes)
    says: dict[str, Any] = {
        "is_available": True, "is_initialized": True, "device_count": 1, "current_device": 0, "is_bf16_supported": True,
        "get_device_capability": gpu.capability, "get_device_properties": properties,
        "get_device_name": properties.name, "current_stream": CURRENT, "default_stream": DEFAULT,
        "mem_get_info": (properties.total_memory, properties.total_memory), "is_current_stream_capturing": False,
        **dict.fromkeys(("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"), 0),
        **dict.fromkeys(
            ("init", "set_device", "synchronize", "empty_cache", "manual_seed", "manual_seed_all", "set_stream",
             "reset_peak_memory_stats")
        ),
    }  # fmt: skip
    with ExitStack() as stack:
        for name, value in says.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, lambda *args, value=value, **options: value))
        for name in ("stream", "device", "graph"):
            stack.enter_context(mock.patch.object(torch.cuda, name, return_value=nullcontext()))
        for name in ("Stream", "Event", "CUDAGraph"):
            stack.enter_context(mock.patch.object(torch.cuda, name, Handle))
        for owner in (torch.cuda, Handle):
            stack.enter_context(mock.patch.object(owner, "synchronize", gpu.run_other_work))
        stack.enter_context(mock.patch.object(torch, "Generator", Generator))
        stack.enter_context(mock.patch.object(torch.backends.cuda, "is_built", return_value=True))
        stack.enter_context(mock.patch.object(torch.testing, "assert_close", within_a_rounding))
        of_any_device = lambda *args, device_types=None, **options: CUSTOM_OP(*args, **options)  # noqa: E731
        stack.enter_context(mock.patch.object(torch.library, "custom_op", of_any_device))
        mode = stack.enter_context(OnCuda(gpu))
        # torch's own function makes a mode that would come after this one
        set_default = lambda device: setattr(mode, "default", torch.device(device or CPU))  # noqa: E731
        stack.enter_context(mock.patch.object(torch, "set_default_device", set_default))
        stack.enter_context(mock.patch.object(torch, "get_default_device", partial(getattr, mode, "default")))
        yield


def within_a_rounding(
    got: Any, want: Any, *, rtol: float | None = None, atol: float | None = None, **options: Any
) -> None:
    """torch.testing.assert_close, but for fp16 and bf16, whose sums in fp32 have another order on the CPU.

    It allows a rounding of the element, and of sums as large as the largest element.
    """
    if isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor) and got.dtype in DEFAULT_RTOL and want.numel():
        rtol, atol = (DEFAULT_RTOL[got.dtype], DEFAULT_ATOL) if rtol is None or atol is None else (rtol, atol)
        rtol = max(rtol, torch.finfo(got.dtype).eps)
        atol = max(atol, SUM_ROUNDING * want.detach().float().abs().max().item())
    ASSERT_CLOSE(got, want, rtol=rtol, atol=atol, **options)
