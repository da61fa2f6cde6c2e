"""CuTe kernels for tests of what happens where there is no GPU."""

from cutlass import cute
from cutlass._mlir.dialects import llvm


@cute.kernel
def breakpoint_kernel(src: cute.Tensor, dst: cute.Tensor):
    llvm.inline_asm(None, [], "brkpt;", "", has_side_effects=True)
    dst[0, 0] = src[0, 0]


@cute.jit
def stops_at_a_breakpoint(src: cute.Tensor, dst: cute.Tensor):
    """Uses what the simulator lacks."""
    breakpoint_kernel(src, dst).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def hello_kernel():
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    cute.printf("thread {} of block {}", thread, block)


@cute.jit
def hello():
    hello_kernel().launch(grid=(2, 1, 1), block=(3, 1, 1))
