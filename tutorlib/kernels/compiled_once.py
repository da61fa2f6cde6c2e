"""Caches of compiled functions: for the next call, and on disk for the next process."""

import os
import tempfile
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutlass import cute

if TYPE_CHECKING:
    from torch import Tensor

WIDE = 16  # bytes of the widest access


def leading_dim(tensor: "Tensor") -> int:
    """The mode whose elements are contiguous."""
    return tensor.stride().index(1)


def is_wide(tensor: "Tensor") -> bool:
    """Whether every row, or column, begins at a multiple of 16 bytes, so that it can be read in pieces of 16."""
    starts = (tensor.data_ptr(), *(step * tensor.element_size() for step in tensor.stride() if step != 1))
    return all(start % WIDE == 0 for start in starts)


def cache_key(tensors: "Sequence[Tensor]", constants: tuple, arch: str) -> Hashable:
    """The key of a function compiled for dynamic layouts: equal where one compilation serves both.

    constants: the Constexpr arguments. 2, 2.0 and True are equal to Python, and other code.
    """
    tensor_types = tuple((t.dtype, t.ndim, leading_dim(t), is_wide(t)) for t in tensors)
    return arch, tensor_types, tuple((type(c), c) for c in constants)


class CompiledKernels:
    """Compiled functions by key. compile: makes one; key: identifies it; both take the tensors of a call."""

    def __init__(self, compile: Callable[..., Callable[..., Any]], key: Callable[..., Hashable]) -> None:
        self.compile, self.key = compile, key
        self.kept: dict[Hashable, Callable[..., Any]] = {}

    def __call__(self, *tensors: "Tensor") -> Any:
        key = self.key(*tensors)
        if key not in self.kept:
            self.kept[key] = self.compile(*tensors)
        return self.kept[key](*tensors)


def for_torch(host: Callable[..., None], *arguments: Any) -> Callable[..., None]:
    """A @cute.jit function compiled once for all arguments like these, whose tensors it then takes as torch has them.

    arguments: torch tensors, and what cute.compile takes as it is. Raises what cute.compile raises.
    """
    import torch
    from cutlass.cute.runtime import from_dlpack

    def stand_in(argument: Any) -> Any:
        if not isinstance(argument, torch.Tensor):
            return argument
        return from_dlpack(argument, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=leading_dim(argument))

    return cute.compile(host, *map(stand_in, arguments), options="--enable-tvm-ffi")


def load_or_compile(folder: Path, name: str, compile: Callable[[], Any]) -> Callable[..., None]:
    """The function of this name that a folder holds as an object file; compiled, and saved there, where it does not.

    compile: makes one with --enable-tvm-ffi.
    """
    file = folder / f"{name}.o"
    if not file.exists():
        compiled = compile()
        folder.mkdir(parents=True, exist_ok=True)
        handle, half = tempfile.mkstemp(suffix=".half", dir=folder)
        os.close(handle)
        compiled.export_to_c(half, name)
        os.replace(half, file)  # atomic: no other process reads half a file
    return cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name]
