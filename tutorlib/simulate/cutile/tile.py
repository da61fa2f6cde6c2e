"""A tile: an immutable torch tensor with a cuTile dtype, its operators, and elementwise functions.

A Python number among the operands is a constant. Constants are loosely typed (see dtypes.promote), and an
operation of constants alone gives a constant.
"""

import math
import operator
from collections.abc import Callable

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.dtypes import CARRIER, STORAGE, Number, category, dtype_of, dtype_of_number, fit, promote
from tutorlib.simulate.ptx.findings import NotSimulated


class Tile:
    """data: a tensor of the dtype's carrier (dtypes.CARRIER), never written to."""

    __slots__ = ("data", "dtype")
    __hash__ = None  # type: ignore[assignment]  # its == gives a tile

    def __init__(self, data: Tensor, dtype: ct.DType) -> None:
        self.data, self.dtype = data, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    @property
    def ndim(self) -> int:
        return self.data.ndim

    def item(self) -> "Tile":
        return self.reshape(())

    def reshape(self, shape) -> "Tile":
        return Tile(self.data.reshape(as_shape(shape)), self.dtype)

    def permute(self, axes) -> "Tile":
        return Tile(self.data.permute([int(axis) for axis in axes]), self.dtype)

    def transpose(self, axis0=None, axis1=None) -> "Tile":
        axes = (0, 1) if axis0 is None else (int(axis0), int(axis1))
        return Tile(self.data.transpose(*axes), self.dtype)

    def astype(self, dtype, *, rounding_mode=None) -> "Tile":
        check_rounding(rounding_mode)
        dtype = dtype_of(dtype)
        return self if dtype == self.dtype else Tile(fit(self.data, dtype), dtype)

    def extract(self, index, shape) -> "Tile":
        size = as_shape(shape) or (1,) * self.ndim
        return Tile(self.data[subtile(index, size)].reshape(as_shape(shape)), self.dtype)

    def mapped(self, function: Callable[[Tensor], Tensor]) -> "Tile":
        """The same dtype, each element by one of torch's functions."""
        return Tile(fit(function(self.data), self.dtype), self.dtype)

    def __getitem__(self, key) -> "Tile":
        """New axes of size 1: x[:, None]."""
        return Tile(self.data[key], self.dtype)

    def __index__(self) -> int:
        return operator.index(self.data.item())  # type: ignore[arg-type]  # raises TypeError for a float, as it should

    def __bool__(self) -> bool:
        return bool(self.data.item())

    def __format__(self, spec: str) -> str:
        def show(value) -> str:
            return f"[{', '.join(map(show, value))}]" if isinstance(value, list) else format(value, spec)

        return show(self.data.tolist())

    def __str__(self) -> str:
        return format(self)

    def __neg__(self) -> "Tile":
        return (+self).mapped(torch.neg)

    def __pos__(self) -> "Tile":
        return self.astype(ct.int32) if self.dtype == ct.bool_ else self

    def __invert__(self) -> "Tile":
        return self.mapped(torch.bitwise_not)

    def __abs__(self) -> "Tile":
        return self if self.dtype == ct.bool_ else self.mapped(torch.abs)

    def __matmul__(self, other: "Tile") -> "Tile":
        return matmul(self, other)


def as_shape(shape) -> tuple[int, ...]:
    """A shape or index as cuTile takes it, one integer for one mode, as a tuple of Python integers."""
    return tuple(int(n) for n in shape) if isinstance(shape, tuple | list) else (int(shape),)


def subtile(index, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """The slices of the subtile with this index, in a tile that is cut into subtiles of this shape."""
    return tuple(slice(i * n, (i + 1) * n) for i, n in zip(as_shape(index), shape, strict=True))


def scalar(n: Number, dtype: ct.DType = ct.int32) -> Tile:
    """A number that is known at run time only."""
    return Tile(torch.tensor(n, dtype=CARRIER[dtype]), dtype)


def tile_of(value: "Tile | Number") -> Tile:
    if isinstance(value, Tile):
        return value
    dtype = dtype_of_number(value)
    return Tile(convert(value, dtype), dtype)


def convert(value: "Tile | Number", dtype: ct.DType) -> Tensor:
    """A tile's or a number's data in the dtype's carrier."""
    if isinstance(value, Tile):
        return value.data if value.dtype == dtype else fit(value.data, dtype)
    if isinstance(value, float):
        return fit(torch.tensor(value, dtype=torch.float64), dtype)
    return fit(torch.tensor(value if value < 2**63 else value - 2**64), dtype)  # uint64's 64 bits in int64


def common(x: "Tile | Number", y: "Tile | Number") -> ct.DType:
    return promote(*(v.dtype if isinstance(v, Tile) else v for v in (x, y)))


Value = Tile | Number


def binary(function: Callable, x: Value, y: Value, to_float: bool = False) -> Value:
    """Operands promoted to one dtype and broadcast; the result has that dtype, a comparison's is bool."""
    if not isinstance(x, Tile) and not isinstance(y, Tile):
        return function(x, y)
    dtype = common(x, y)
    if to_float and category(dtype) < 2:
        dtype = ct.float32
    result = function(convert(x, dtype), convert(y, dtype))
    if result.dtype == torch.bool:
        return Tile(result, ct.bool_)
    return Tile(fit(result, dtype), dtype)


def floor_divide(x, y):
    if isinstance(x, Tensor) and x.is_floating_point():
        return torch.floor(x / y)
    return x // y


def check_rounding(mode) -> None:
    """Nearest-even, and the fast modes that may differ from it by a rounding, are all computed as nearest-even."""
    if mode not in (None, ct.RoundingMode.RN, ct.RoundingMode.FULL, ct.RoundingMode.APPROX):
        raise NotSimulated(f"rounding_mode={mode}")


def elementwise(function: Callable, to_float: bool = False) -> Callable:
    """A function of cuTile's of two operands, of Python's operator."""

    def apply(x, y, /, *, rounding_mode=None, flush_to_zero=False):
        check_rounding(rounding_mode)
        return binary(function, x, y, to_float)

    return apply


def power(x: Value, y: Value, /) -> Value:
    """A float to an integer power keeps the base's dtype."""
    if isinstance(x, Tile) and category(x.dtype) == 2 and category(tile_of(y).dtype) == 1:
        y = tile_of(y).astype(x.dtype)
    return binary(operator.pow, x, y)


def extreme(of_numbers: Callable, with_nan: Callable, without_nan: Callable) -> Callable:
    """A NaN loses against a number unless it is to propagate."""

    def apply(x: Value, y: Value, /, *, flush_to_zero=False, propagate_nan=False) -> Value:
        of_tensors = with_nan if propagate_nan else without_nan
        return binary(lambda x, y: of_tensors(x, y) if isinstance(x, Tensor) else of_numbers(x, y), x, y)

    return apply


minimum = extreme(min, torch.minimum, torch.fmin)
maximum = extreme(max, torch.maximum, torch.fmax)


def where(condition: Value, x: Value, y: Value, /) -> Tile:
    dtype = common(x, y)
    return Tile(torch.where(convert(condition, ct.bool_), convert(x, dtype), convert(y, dtype)), dtype)


def accumulation_dtype(acc: ct.DType) -> torch.dtype:
    """The dtype of accumulators. fp16 results, too, are rounded once from fp32, which is at least as exact."""
    return torch.float64 if acc == ct.float64 else torch.int32 if acc == ct.int32 else torch.float32


def matmul(x: Tile, y: Tile, /) -> Tile:
    dtype = promote(x.dtype, y.dtype)
    acc = {ct.float64: ct.float64, ct.int8: ct.int32, ct.uint8: ct.int32}.get(dtype, ct.float32)
    wide = accumulation_dtype(acc)
    return Tile(torch.matmul(convert(x, dtype).to(wide), convert(y, dtype).to(wide)), acc).astype(dtype)


def float_function(function: Callable) -> Callable:
    """Integers become float32 first."""

    def apply(x, /, *, rounding_mode=None, flush_to_zero=False):
        check_rounding(rounding_mode)
        if not isinstance(x, Tile):
            return function(torch.tensor(float(x), dtype=torch.float64)).item()
        return (x if category(x.dtype) == 2 else x.astype(ct.float32)).mapped(function)

    return apply


def rounded(name: str) -> Callable:
    """floor and ceil: of a tile a tile of its dtype, of a Python number an integer."""
    return lambda x, /: x.mapped(getattr(torch, name)) if isinstance(x, Tile) else getattr(math, name)(x)


def bitcast(x: Value, /, dtype) -> Tile:
    """The same bits read as another dtype of the same width."""
    x, dtype = tile_of(x), dtype_of(dtype)
    before, after = (STORAGE.get(kind, CARRIER[kind]) for kind in (x.dtype, dtype))  # tf32's bits are an fp32's
    return Tile(x.data.to(before).contiguous().view(after).to(CARRIER[dtype]), dtype)


# Functions that torch has by the same names, and comparisons by others.
FLOATS = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")
COMPARED = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
COMPARISONS = dict(zip(("eq", "ne", "lt", "le", "gt", "ge"), COMPARED, strict=True))
OPERATORS = {  # Python's name of a method: cuTile's of the function
    **{name: name for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "divmod")},
    **{name: f"bitwise_{name}" for name in ("and", "or", "xor", "lshift", "rshift")},
}
FUNCTIONS: dict[str, Callable] = {
    **{name: float_function(getattr(torch, name)) for name in FLOATS},
    **{name: elementwise(getattr(operator, name)) for name in ("add", "sub", "mul", "mod")},
    **{OPERATORS[name]: elementwise(getattr(operator, name)) for name in ("xor", "lshift", "rshift")},
    **{name: elementwise(getattr(operator, short)) for short, name in COMPARISONS.items()},
    "bitwise_and": elementwise(operator.and_),
    "bitwise_or": elementwise(operator.or_),
    "truediv": elementwise(operator.truediv, to_float=True),
    "floordiv": elementwise(floor_divide),
    "cdiv": elementwise(lambda x, y: -(-x // y)),
    "pow": power,
    "divmod": lambda x, y, /: (FUNCTIONS["floordiv"](x, y), FUNCTIONS["mod"](x, y)),
    "minimum": minimum,
    "maximum": maximum,
    "where": where,
    "matmul": matmul,
    "floor": rounded("floor"),
    "ceil": rounded("ceil"),
    "abs": operator.abs,
    "negative": operator.neg,
    "bitwise_not": operator.invert,
    "isnan": lambda x, /: Tile(torch.isnan(x.data), ct.bool_) if isinstance(x, Tile) else math.isnan(x),
    "bitcast": bitcast,
}


def method(name: str, swapped: bool = False) -> Callable:
    function = FUNCTIONS[name]

    def operate(self: Tile, other: object):
        if not isinstance(other, Value):
            return NotImplemented
        return function(other, self) if swapped else function(self, other)

    return operate


for special, name in (OPERATORS | COMPARISONS).items():
    setattr(Tile, f"__{special}__", method(name))
for special, name in OPERATORS.items():
    setattr(Tile, f"__r{special}__", method(name, swapped=True))
