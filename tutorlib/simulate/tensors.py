"""torch's and NumPy's tensors on the CPU: values that no kernel writes, and how many threads torch computes with."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


# By an element's bytes: a NaN as a floating number, whose other bits no arithmetic gives.
POISON = {1: 0x7F, 2: 0x7FEB, 4: 0x7FEBEBEB, 8: 0x7FFBEBEBEBEBEBEB}


def patterns_of(tensor: "Tensor | np.ndarray") -> "np.ndarray":
    """Its elements' bits, in its own memory."""
    import numpy as np

    if isinstance(tensor, np.ndarray):
        return tensor.view(f"u{tensor.itemsize}")
    import torch

    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.detach().view(integers[tensor.element_size()]).numpy()


def poison(tensor: "Tensor | np.ndarray") -> None:
    bits = patterns_of(tensor)
    bits[...] = POISON[bits.itemsize]


def is_poison(tensor: "Tensor | np.ndarray") -> "np.ndarray":
    """The mask of the elements that still are poison."""
    bits = patterns_of(tensor)
    return bits == POISON[bits.itemsize]


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
