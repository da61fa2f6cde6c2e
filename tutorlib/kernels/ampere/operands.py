"""How the operands of the GEMM of notebooks 09 to 12 come from shared memory into the registers of mma.sync."""

from typing import Any, NamedTuple

from cutlass import cute
from cutlass.cute.nvgpu import warp


class Operand(NamedTuple):
    """One operand's path into the MMA's registers, for one thread.

    tCrX: the registers in the MMA's view: (8 of A or 4 of B, M or N atoms, K blocks).
    s2r: ldmatrix.x4, laid out as this MMA reads the operand: one instruction for an atom of A or for two atoms of B.
    tXsX: the source of s2r in shared memory: (8, instructions, K blocks, buffers).
    tXrX: the registers of tCrX in ldmatrix's view: (8, instructions, K blocks).
    """

    tCrX: cute.Tensor
    s2r: cute.TiledCopy
    tXsX: cute.Tensor
    tXrX: cute.Tensor


def make_operands(tiled_mma: cute.TiledMma, thread: Any, sA: cute.Tensor, sB: cute.Tensor) -> tuple[Operand, Operand]:
    """A thread's share of sA (M, K, buffers) and of sB (N, K, buffers); the registers hold one buffer's operands."""
    math = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA)[None, None, None, 0])
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB)[None, None, None, 0])
    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), sA.element_type)
    s2r_a = cute.make_tiled_copy_A(ldmatrix, tiled_mma)
    s2r_b = cute.make_tiled_copy_B(ldmatrix, tiled_mma)
    a, b = s2r_a.get_slice(thread), s2r_b.get_slice(thread)
    rA = Operand(tCrA, s2r_a, a.partition_S(sA), a.retile(tCrA))
    rB = Operand(tCrB, s2r_b, b.partition_S(sB), b.retile(tCrB))
    return rA, rB
