"""torch's tensors on the CPU: values that no kernel writes, and how many threads torch computes with."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


# By an element's bytes: a NaN as a floating number, whose other bits no arithmetic gives.
POISON = {1: 0x7F, 2: 0x7FEB, 4: 0x7FEBEBEB, 8: 0x7FFBEBEBEBEBEBEB}


def bits_of(tensor: "Tensor") -> "Tensor":
    """Its elements' bits as integers, in its own memory."""
    import torch

    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.detach().view(integers[tensor.element_size()])


def poison(tensor: "Tensor") -> None:
    """Make the tensor's elements such values."""
    bits_of(tensor).fill_(POISON[tensor.element_size()])


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread in the block. Simulated work is small: more threads would cost ten times their gain."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
