# An instruction that no simulator has: what cannot be run here would leave the points to be had.
# exercise: 04.4
# deserves: 0
from cutlass._mlir.dialects import llvm


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    llvm.inline_asm(None, [], "brkpt;", "", has_side_effects=True)


@cute.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    add_kernel(a, b, c).launch(grid=(1, 1, 1), block=(32, 1, 1))
