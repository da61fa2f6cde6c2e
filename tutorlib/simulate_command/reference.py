"""A kernel's output against a reference's, where nothing but the dtypes says how far apart they may be."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

WIDE = {torch.float64: 2**-24, torch.float32: 2**-11}  # kernels compute in fp32; tensor cores round that to tf32


def too_far_off(got: "Tensor", want: "Tensor", dtypes: "Iterable[torch.dtype]") -> "Tensor":
    """The mask of the elements that are farther off than one rounding.

    want: in fp64, of the same shape. dtypes: of all the kernel's tensors. The rounding is that of the coarsest, of the
    element and of the largest one: |error| ≤ u·(|want| + max |want|). Integers must be equal.
    """
    floats = [kind for kind in dtypes if kind.is_floating_point] if got.dtype.is_floating_point else []
    u = max((WIDE.get(kind, torch.finfo(kind).eps / 2) for kind in floats), default=0.0)
    exact = want.double().abs()
    return ~((got.double() - want).abs() <= u * (exact + (exact.max() if exact.numel() else 0)))


def sentence(name: str, got: "Tensor", want: "Tensor", wrong: "Tensor", unwritten: "Tensor") -> str:
    """About the first wrong element, and how many there are."""
    place = first_place(unwritten if unwritten.any() else wrong)
    at = f"{name}[{', '.join(map(str, place))}]"
    if unwritten.any():
        says, mask = "is still NaN: the kernel never wrote it. Unwritten", unwritten
    else:
        says, mask = f"is {got[place].item():.6g} and should be {want[place].item():.6g}. Wrong", wrong
    return f"{at} {says}: {int(mask.sum()):,} of {mask.numel():,} elements."


def first_place(mask: "Tensor") -> tuple[int, ...]:
    return tuple(mask.nonzero()[0].tolist())
