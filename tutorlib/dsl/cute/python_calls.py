"""Python code that compiles and calls CuTe host functions itself, where there is no GPU: its calls are taken over."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from torch import Tensor

DATA = 0  # a DLTensor begins with its data's address, then its device's type (dlpack.h)
DEVICE = 8
CUDA = 2  # kDLCUDA
SOURCE = "simulated_source"  # of a cute.Tensor: the torch tensor, and where its DLTensor lies

get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)

CompiledHost = Callable[..., None]


@contextmanager
def calls_taken_over(compile: Callable[..., CompiledHost]) -> Iterator[None]:
    """In the block, cute.compile(host, …) gives compile(host, …), without its options.

    A @cute.jit function that is called directly is compiled so, and called. Tensors in ordinary memory pass for a
    GPU's. `compile` itself may use cute.compile as it is.
    """
    from cutlass.base_dsl.compiler import CompileCallable
    from cutlass.base_dsl.dsl import BaseDSL
    from cutlass.cute import runtime

    compile_as_it_is, call_as_it_is, wrap = CompileCallable._compile, BaseDSL._func, runtime._Tensor.__init__
    inside = False

    def taken_over(host: Any, *arguments: Any, **named: Any) -> CompiledHost:
        nonlocal inside
        inside = True
        try:
            return compile(host, *arguments, **named)
        finally:
            inside = False

    def compiled(self: CompileCallable, host: Any, *arguments: Any, **named: Any) -> Any:
        if inside:
            return compile_as_it_is(self, host, *arguments, **named)
        if "tvm-ffi" in str(named.pop("options", "")):
            raise NotImplementedError("a host function compiled with TVM-FFI is not simulated from Python code")
        return taken_over(host, *arguments, **named)

    def called(self: BaseDSL, host: Any, *arguments: Any, **named: Any) -> Any:
        if inside:
            return call_as_it_is(self, host, *arguments, **named)
        taken_over(host, *arguments, **named)(*arguments, **named)
        return None

    def wrapped(self: Any, tensor: Any, *rest: Any, **options: Any) -> None:
        import torch

        if isinstance(tensor, torch.Tensor) and not inside:
            capsule, at = capsule_of(tensor)
            setattr(self, SOURCE, (tensor, at))
            tensor = HasCapsule(capsule)
        wrap(self, tensor, *rest, **options)

    with (
        mock.patch.object(CompileCallable, "_compile", compiled),
        mock.patch.object(BaseDSL, "_func", called),
        mock.patch.object(runtime._Tensor, "__init__", wrapped),
    ):
        yield


def capsule_of(tensor: "Tensor") -> tuple[Any, int]:
    """DLPack's capsule of a tensor in ordinary memory, which says that it lies on a GPU; and the DLTensor's address."""
    capsule = tensor.__dlpack__()
    at = get_pointer(capsule, b"dltensor")
    ctypes.c_int32.from_address(at + DEVICE).value = CUDA
    return capsule, at


class HasCapsule:
    """What from_dlpack takes."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, stream: int | None = None) -> Any:
        return self.capsule


def torch_tensor_of(argument: Any) -> "Tensor | None":
    """The torch tensor of a cute.Tensor that was made in the block, or None."""
    return getattr(argument, SOURCE, (None, 0))[0]


@contextmanager
def moved(tensors: "list[tuple[Any, Tensor]]") -> Iterator[None]:
    """In the block, each of these cute.Tensors that were made of torch tensors lies where another torch tensor does."""
    for tensor, elsewhere in tensors:
        point_to(tensor, elsewhere.data_ptr())
    try:
        yield
    finally:
        for tensor, _ in tensors:
            point_to(tensor, getattr(tensor, SOURCE)[0].data_ptr())


def point_to(tensor: Any, address: int) -> None:
    ctypes.c_uint64.from_address(getattr(tensor, SOURCE)[1] + DATA).value = address
    tensor._memref_desc = tensor._c_pointers_cache = None
