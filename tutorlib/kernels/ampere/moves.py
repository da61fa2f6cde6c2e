"""The methods of a main loop's `Steps` in notebooks 09 to 12: load, fetch, multiply."""

from typing import TYPE_CHECKING, Any

import cutlass
from cutlass import cute

if TYPE_CHECKING:
    from tutorlib.kernels.ampere.thread_share import GlobalToShared, Steps


def load(path: "GlobalToShared", k_tile: Any, buffer: Any) -> None:
    """Issue the copies of a K tile of one operand, global → shared memory; elements outside the matrix become zeros.

    Where `pred` is False, cp.async reads nothing and fills its 16 bytes with zeros.
    """
    source, target = path.source[None, None, None, k_tile], path.target[None, None, None, buffer]
    if path.places is None:
        cute.copy(path.tiled_copy, source, target)
        return
    rows, vectors = cute.size(target, mode=[1]), cute.size(target, mode=[2])
    inside = cute.make_rmem_tensor((1, rows, vectors), cutlass.Boolean)
    for row in range(rows):
        for vector in range(vectors):
            inside[0, row, vector] = cute.elem_less(path.places[0, row, vector, k_tile], path.limit)
    cute.copy(path.tiled_copy, source, target, pred=inside)


def fetch(steps: "Steps", k_block: int, buffer: Any) -> None:
    """ldmatrix: one K block of a buffer, shared memory → this K block's own registers."""
    for r in (steps.rA, steps.rB):
        cute.copy(r.s2r, r.tXsX[None, None, k_block, buffer], r.tXrX[None, None, k_block])


def multiply(steps: "Steps", k_block: int) -> None:
    """mma.sync: add the product of the fetched K block to the accumulators."""
    a, b = steps.rA.tCrX[None, None, k_block], steps.rB.tCrX[None, None, k_block]
    cute.gemm(steps.tiled_mma, steps.tCrC, a, b, steps.tCrC)
