"""Trying a kernel out on a page that is also read where there is no GPU."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tutorlib import device
from tutorlib.compile import TensorSpec, compile_cute

if TYPE_CHECKING:
    from torch import Tensor


def run_on_gpu(host: Callable[..., None], *tensors: "Tensor", dynamic: bool = False) -> bool:
    """Compile a @cute.jit host function for these contiguous tensors, call it, wait for the GPU. Whether it ran.

    Without a GPU it is compiled for sm_80, and a line says that it was not run.
    dynamic: leave the tensors' sizes to the call, so that one compilation serves them all.
    Raises CompileFailed.
    """
    reason = device.why_not("80")
    specs = [TensorSpec.like(tensor, dynamic) for tensor in tensors]
    compiled = compile_cute(host, specs, "sm_80" if reason else device.compile_target())
    if reason:
        print(f"{host.__name__}: compiled, not run: {reason}\n{compiled}")
        return False

    import torch
    from cutlass.cute.runtime import from_dlpack

    arguments = [from_dlpack(tensor, assumed_align=16) for tensor in tensors]
    if dynamic:
        arguments = [arg.mark_layout_dynamic(leading_dim=len(arg.shape) - 1) for arg in arguments]
    torch.cuda.synchronize()  # makes the context in which CuTe launches, where this is the first use of the GPU
    compiled.function(*arguments)
    torch.cuda.synchronize()
    return True
