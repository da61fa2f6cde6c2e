"""Tensors in ordinary memory that are in global memory to CuTe, so that code which was written for a GPU takes them."""

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

DEVICE = 8  # where a DLTensor has its device's type (dlpack.h)
CUDA = 2  # kDLCUDA

get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)

VECTOR = 16  # bytes of the widest access
FP8 = {"float8_e4m3fn": "Float8E4M3FN", "float8_e5m2": "Float8E5M2"}  # torch's names, which DLPack lacks, and CuTe's


@dataclass(frozen=True)
class OnDevice:
    """A torch tensor that tells from_dlpack that it lies on a GPU."""

    tensor: "Tensor"

    def __dlpack__(self, stream: int | None = None) -> Any:
        capsule = self.tensor.__dlpack__()
        ctypes.c_int32.from_address(get_pointer(capsule, b"dltensor") + DEVICE).value = CUDA
        return capsule


def cute_tensor(tensor: "Tensor") -> Any:
    """A torch tensor in ordinary memory as a cute.Tensor in global memory."""
    import cutlass
    import torch
    from cutlass.cute.runtime import from_dlpack

    fp8 = FP8.get(str(tensor.dtype).removeprefix("torch."))
    align = VECTOR if tensor.data_ptr() % VECTOR == 0 else tensor.element_size()
    made = from_dlpack(OnDevice(tensor.view(torch.uint8) if fp8 else tensor), assumed_align=align)
    if fp8:
        made.element_type = getattr(cutlass, fp8)
    return made
