"""PTX's types (PTX ISA, 5.2) as NumPy's."""

from functools import cache

import numpy as np
from numpy.typing import DTypeLike

# Types that NumPy lacks, and the bits that hold one. Of floats of 6 bits each is in a byte of its own.
OTHERS = {"bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "e2m3": 8, "e3m2": 8, "e2m1": 4, "ue8m0": 8, "ue4m3": 8,
          "pred": 1}  # fmt: skip
NUMPY = {"b": "u", "u": "u", "s": "i", "f": "f"}  # letters of types


@cache
def bits_of(kind: str) -> int:
    """32 for "s32", "b32", "f32" and "f16x2"."""
    if kind.endswith("x2"):
        return 2 * bits_of(kind.removesuffix("x2"))
    return OTHERS[kind] if kind in OTHERS else int(kind.lstrip("bsuf"))


@cache
def is_type(part: str) -> bool:
    """Whether a part of an opcode names a type."""
    kind = part.removesuffix("x2")
    return kind in OTHERS or (kind[:1] in NUMPY and kind[1:].isdigit() and int(kind[1:]) in (8, 16, 32, 64, 128))


@cache
def numpy_type(kind: str) -> DTypeLike:
    """The NumPy dtype of a register of this type. bf16, tf32, fp8 and pairs are bits: unsigned."""
    if kind == "pred":
        return np.bool_
    letter = "u" if kind in OTHERS or kind.endswith("x2") else NUMPY[kind[0]]
    return np.dtype(f"{letter}{bits_of(kind) // 8}")
