"""A C++ kernel, tile or plain CUDA, loaded and launched through the CUDA driver."""

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.cpp import CompiledCpp

if TYPE_CHECKING:
    from torch import Tensor

LaunchGrid = tuple[int, ...]  # how many blocks along x, y and z
PARAMETER = {"ptr": ctypes.c_void_p, "u32": ctypes.c_int32, "u64": ctypes.c_int64}  # to PTX an int is a u32


def load(
    compiled: CompiledCpp, grid: LaunchGrid, args: "Sequence[Tensor | int]", block: LaunchGrid = (1,)
) -> Callable[[], None]:
    """The kernel on the GPU at hand, ready to be launched on the current stream with these arguments.

    args: what `compiled.parameters` takes, tensors and integers. block: threads of a block; a tile block counts as one.
    Raises RuntimeError where the driver refuses.
    """
    import torch
    from cuda.bindings import driver

    def done(result: tuple) -> Any:
        if result[0] != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(driver.cuGetErrorString(result[0])[1].decode())
        return result[1] if len(result) > 1 else None

    torch.cuda.synchronize()  # makes the context that the module is loaded into, where this is the first use of the GPU
    module = done(driver.cuModuleLoadData(compiled.cubin))
    function = done(driver.cuModuleGetFunction(module, compiled.name.encode()))
    kinds = tuple(PARAMETER[kind] for kind in compiled.parameters)
    blocks, threads = (*grid, 1, 1)[:3], (*block, 1, 1)[:3]

    def launch() -> None:
        values = tuple(arg if isinstance(arg, int) else arg.data_ptr() for arg in args)
        stream = torch.cuda.current_stream().cuda_stream
        done(driver.cuLaunchKernel(function, *blocks, *threads, 0, stream, (values, kinds), 0))

    return launch
