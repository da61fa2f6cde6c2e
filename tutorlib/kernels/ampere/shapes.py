"""The shapes that one thread's tensors must have in notebooks 09 to 12: a mistake is reported where it is made."""

from typing import TYPE_CHECKING

import cutlass
from cutlass import cute

if TYPE_CHECKING:
    from tutorlib.kernels.ampere.thread_share import Accumulators, GlobalToShared, Steps


def need_parts(path: "GlobalToShared") -> None:
    """Raises ValueError where source or target is not a thread's part."""
    for name, tensor, last in (("source", path.source, "K tiles"), ("target", path.target, "buffers")):
        if cute.rank(tensor) != 4:
            part = f"(vector, rows, vectors of a row, {last})"
            raise ValueError(f"{name} has the shape {tensor.shape}; a thread's part of it is {part}")


def need_atoms(steps: "Steps") -> None:
    """Raises ValueError where the accumulators do not fit the operands."""
    atoms = tuple(cute.size(r.tCrX, mode=[1]) for r in (steps.rA, steps.rB))
    held = tuple(cute.size(steps.tCrC, mode=[mode]) for mode in range(1, cute.rank(steps.tCrC)))
    kind = steps.tCrC.element_type
    if held != atoms or kind is not cutlass.Float32:
        raise ValueError(f"tCrC has {held} atoms of {kind}; rA and rB have {atoms}, and accumulators are Float32")


def need_places(acc: "Accumulators") -> None:
    """Raises ValueError where tCgC and coordinates are not of one tile in one order.

    Page 16's reduction has one element for the whole tile, whose strides of 0 have no order.
    """
    one_element = cute.cosize(acc.tCgC.layout) == 1
    if not one_element and str(acc.coordinates.shape) != str(acc.tCgC.shape):
        raise ValueError(
            f"coordinates has the shape {acc.coordinates.shape} and tCgC {acc.tCgC.shape}: both must be this thread's "
            "part of the same tile, with its columns in the same order"
        )
