"""Values that no kernel writes: an output begins with them, so that elements that nothing wrote are known."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

# By an element's bytes: a NaN as a floating number, whose other bits no arithmetic gives.
POISON = {1: 0x7F, 2: 0x7FEB, 4: 0x7FEBEBEB, 8: 0x7FFBEBEBEBEBEBEB}


def as_integers(tensor: "Tensor") -> "Tensor":
    """The tensor's bits, as integers of the same width."""
    import torch

    return tensor.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()])


def poison(tensor: "Tensor") -> None:
    as_integers(tensor).fill_(POISON[tensor.element_size()])


def is_poison(tensor: "Tensor") -> "Tensor":
    """The mask of the elements that still are poison."""
    return as_integers(tensor) == POISON[tensor.element_size()]
