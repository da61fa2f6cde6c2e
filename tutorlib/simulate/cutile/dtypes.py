"""cuTile's dtypes on torch: how values are held, rounded and promoted."""

from collections.abc import Callable
from typing import Any

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.ptx.findings import NotSimulated

WIDE = {ct.uint16: torch.int16, ct.uint32: torch.int32, ct.uint64: torch.int64}  # torch has few operations on its own
UNSIGNED = {ct.uint8, *WIDE}
INTEGERS = {ct.int8, ct.int16, ct.int32, ct.int64, *UNSIGNED}
FP8 = (ct.float8_e4m3fn, ct.float8_e5m2, ct.float8_e8m0fnu)
STORED = (ct.bool_, *INTEGERS, ct.float16, ct.bfloat16, ct.float32, ct.float64, *FP8)
FROM_TORCH: dict[Any, ct.DType] = {getattr(torch, dtype.name.rstrip("_")): dtype for dtype in STORED}
# What an array's elements are in memory, and what a tile computes with.
STORAGE: dict[ct.DType, torch.dtype] = {dtype: kind for kind, dtype in FROM_TORCH.items()} | WIDE
CARRIER = STORAGE | dict.fromkeys(WIDE, torch.int64) | dict.fromkeys((ct.tfloat32, *FP8), torch.float32)
LARGEST_FP8 = {ct.float8_e4m3fn: 448.0, ct.float8_e5m2: 57344.0}


class DTypeName:
    """Stands for ct.float32 in a kernel: equal to the dtype, and a function that converts to it, ct.float32(x)."""

    def __init__(self, dtype: ct.DType, convert: Callable[[Any, ct.DType], Any]) -> None:
        self.dtype, self.convert = dtype, convert

    def __call__(self, x: Any = 0, /) -> Any:
        return self.convert(x, self.dtype)

    def __eq__(self, other: object) -> bool:
        return self.dtype == (other.dtype if isinstance(other, DTypeName) else other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dtype, name)

    def __str__(self) -> str:
        return str(self.dtype)


Number = bool | int | float


def dtype_of(value: object) -> ct.DType:
    """cuTile's dtype for a dtype of cuTile, torch or NumPy.

    Raises NotSimulated for a dtype that the interpreter's tiles cannot hold, such as float8_e5m3fnu.
    """
    value = value.dtype if isinstance(value, DTypeName) else value
    if isinstance(value, type):  # np.float32, np.bool
        value = getattr(ct, value.__name__, None) or getattr(ct, f"{value.__name__}_", value)
    dtype = FROM_TORCH.get(value, value)
    if not isinstance(dtype, ct.DType) or dtype not in CARRIER:
        raise NotSimulated(str(value))
    return dtype


def category(dtype: ct.DType) -> int:
    """boolean < integral < floating-point, the order in which cuTile promotes."""
    return 0 if dtype == ct.bool_ else 1 if dtype in INTEGERS else 2


def dtype_of_number(number: Number) -> ct.DType:
    """The dtype that cuTile picks for a constant which meets no other operand of its category."""
    if isinstance(number, bool):
        return ct.bool_
    if isinstance(number, float):
        return ct.float32
    return ct.int32 if -(2**31) <= number < 2**31 else ct.int64 if number < 2**63 else ct.uint64


def promote(x: ct.DType | Number, y: ct.DType | Number) -> ct.DType:
    """The common dtype of two operands; a Python number is a constant, which is loosely typed.

    The higher category wins. Within one category a constant takes the other's dtype, and of two dtypes the wider
    one wins (cuTile, "Data Model": Arithmetic Promotion). What cuTile refuses its compiler has refused by now.
    """
    loose_x, loose_y = not isinstance(x, ct.DType), not isinstance(y, ct.DType)
    x = dtype_of_number(x) if loose_x else x
    y = dtype_of_number(y) if loose_y else y
    if category(x) != category(y):
        return max(x, y, key=category)
    if loose_x != loose_y:
        return y if loose_x else x
    return max(x, y, key=lambda dtype: dtype.bitwidth)


def fit(data: Tensor, dtype: ct.DType) -> Tensor:
    """Values of any torch dtype as this dtype's carrier: cut to its bits or rounded to its nearest number.

    uint64 is carried in 64 signed bits: sums, products and bits are right, comparisons and quotients below 2^63.
    Values beyond fp8's range become its largest number, as cvt.satfinite does on the hardware.
    """
    if dtype == ct.bool_:
        return data != 0 if data.dtype != torch.bool else data
    carried = data.to(CARRIER[dtype])
    if dtype in UNSIGNED and carried.dtype == torch.int64:
        return carried if dtype == ct.uint64 else carried & (2**dtype.bitwidth - 1)
    if dtype == ct.tfloat32:
        return round_tf32(carried)
    if dtype in LARGEST_FP8:
        carried = carried.clamp(-LARGEST_FP8[dtype], LARGEST_FP8[dtype])
    return carried.to(STORAGE[dtype]).to(carried.dtype) if STORAGE[dtype] != carried.dtype else carried


def round_tf32(data: Tensor) -> Tensor:
    """fp32 rounded to tf32's 10 bits of mantissa, ties to even; infinities and NaN stay."""
    bits = data.view(torch.int32)
    rounded = (bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF
    return torch.where(data.isfinite(), rounded.view(torch.float32), data)


def poison(dtype: ct.DType) -> Number:
    """Stands where cuTile leaves a value undetermined: NaN, or an implausible number."""
    if category(dtype) == 2:
        return float("nan")
    return True if dtype == ct.bool_ else (2 ** (dtype.bitwidth - 1) - 1) // 3
