"""PTX's types (PTX ISA, 5.2) as NumPy's."""

from functools import cache

import numpy as np
from numpy.typing import DTypeLike

UNSIGNED: dict[int, type[np.unsignedinteger]] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED: dict[int, type[np.signedinteger]] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
FLOAT: dict[int, type[np.floating]] = {16: np.float16, 32: np.float32, 64: np.float64}
PACKED = {"f32x2": 64, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "bf16": 16,
          "tf32": 32, "e4m3": 8, "e5m2": 8, "pred": 1}  # fmt: skip


@cache
def bits_of(kind: str) -> int:
    """32 for "s32", "b32", "f32" and "f16x2"."""
    return PACKED[kind] if kind in PACKED else int(kind.lstrip("bsuf"))


@cache
def is_type(part: str) -> bool:
    """Whether a part of an opcode names a type that NumPy or bits_of knows."""
    return part in PACKED or (part[:1] in "bsuf" and part[1:].isdigit() and int(part[1:]) in (8, 16, 32, 64, 128))


@cache
def numpy_type(kind: str) -> DTypeLike:
    """The NumPy dtype of a register of this type. bf16, tf32, fp8 and pairs are bits: unsigned."""
    if kind == "pred":
        return np.bool_
    width = bits_of(kind)
    if kind in PACKED or kind[0] in "ub":
        return UNSIGNED[width]
    return (SIGNED if kind[0] == "s" else FLOAT)[width]
