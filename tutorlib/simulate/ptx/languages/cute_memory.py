"""Tensors in ordinary memory that are in global memory to CuTe, so that code which was written for a GPU takes them."""

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

CUDA = 2  # kDLCUDA
DEVICE_AT = 8  # a DLTensor begins with its data's address, then its device's type (dlpack.h)

get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


@dataclass(frozen=True)
class OnDevice:
    """A torch tensor that tells from_dlpack that it lies on a GPU."""

    tensor: "Tensor"

    def __dlpack__(self, stream: int | None = None) -> Any:
        capsule = self.tensor.__dlpack__()
        address = get_pointer(capsule, b"dltensor")
        ctypes.c_int32.from_address(address + DEVICE_AT).value = CUDA
        return capsule
