"""Functions that make tiles, reshape them, reduce them and multiply matrices."""

import functools
import operator
from collections.abc import Callable

import cuda.tile as ct
import torch

from tutorlib.simulate.cutile import tile
from tutorlib.simulate.cutile.dtypes import CARRIER, dtype_of, promote
from tutorlib.simulate.cutile.tile import Tile, Value, accumulation_dtype, as_shape, check_rounding, convert, tile_of


def full(shape, fill_value: Value, dtype) -> Tile:
    dtype = dtype_of(dtype)
    return Tile(convert(fill_value, dtype).expand(as_shape(shape)).clone(), dtype)


def arange(size: int, /, *, dtype, start: Value = 0, step: Value = 1) -> Tile:
    dtype = dtype_of(dtype)
    places = Tile(torch.arange(int(size), dtype=CARRIER[dtype]), dtype)
    steps = tile.binary(operator.mul, places, astype(step, dtype))
    return tile_of(tile.binary(operator.add, steps, astype(start, dtype)))


def astype(x: Value, dtype, /, *, rounding_mode=None) -> Tile:
    check_rounding(rounding_mode)
    dtype = dtype_of(dtype)
    return Tile(convert(x, dtype), dtype)


def expand_dims(x: Value, /, axis: int) -> Tile:
    x = tile_of(x)
    return Tile(x.data.unsqueeze(int(axis)), x.dtype)


def broadcast_to(x: Value, /, shape) -> Tile:
    x = tile_of(x)
    return Tile(x.data.broadcast_to(as_shape(shape)), x.dtype)


def cat(tiles: tuple[Tile, ...], /, axis: int) -> Tile:
    dtype = functools.reduce(promote, (t.dtype for t in tiles))
    return Tile(torch.cat([convert(t, dtype) for t in tiles], int(axis)), dtype)


def mma(x: Tile, y: Tile, /, acc: Tile, *, use_fast_acc: bool = False) -> Tile:
    """x @ y + acc in acc's dtype. Products of fp16, bf16, tf32 and fp8 numbers are exact in the sum's fp32."""
    wide = accumulation_dtype(acc.dtype)
    total = torch.matmul(x.data.to(wide), y.data.to(wide)) + acc.data.to(wide)
    return Tile(total, ct.float32).astype(acc.dtype) if wide == torch.float32 else Tile(total, acc.dtype)


def reduction(combine: Callable) -> Callable:
    """A function of cuTile's that combines neighbors pairwise along axes: halves, quarters … as a tree of tiles."""

    def apply(x: Tile, /, axis=None, *, keepdims=False, rounding_mode=None, **options) -> Tile:
        x = x.astype(ct.int32) if x.dtype == ct.bool_ else x
        axes = sorted({axis % x.ndim for axis in (range(x.ndim) if axis is None else as_shape(axis))}, reverse=True)
        for axis in axes:
            while (size := x.shape[axis]) > 1:
                halves = (Tile(x.data.narrow(axis, at, size // 2), x.dtype) for at in (0, size // 2))
                x = combine(*halves, **options)
        return x if keepdims else Tile(x.data.squeeze(axes), x.dtype)

    return apply


def arg_extreme(find: Callable, take: Callable, worst: float) -> Callable:
    """A function of cuTile's: the first index of the extreme value, int32. A NaN loses unless it is to propagate.

    find: torch's function, for which NaN is the extreme value.
    """

    def apply(x: Tile, /, axis=None, *, keepdims=False, propagate_nan=False) -> Tile:
        data = x.data.to(torch.int32) if x.dtype == ct.bool_ else x.data
        dim = None if axis is None else int(axis)
        if not data.is_floating_point() or propagate_nan:
            return Tile(find(data, dim, keepdim=keepdims).to(torch.int32), ct.int32)
        nan = data.isnan()
        data = torch.where(nan, worst, data)
        extreme = (data == take(data, () if dim is None else dim, keepdim=True)) & ~nan  # none where all are NaN
        return Tile(torch.argmax(extreme.to(torch.int32), dim, keepdim=keepdims).to(torch.int32), ct.int32)

    return apply


def cumsum(x: Tile, /, axis=0, *, reverse=False, **hints) -> Tile:
    x = x.astype(ct.int32) if x.dtype == ct.bool_ else x
    data = torch.cumsum(x.data.flip(int(axis)) if reverse else x.data, int(axis), dtype=x.data.dtype)
    return Tile(data.flip(int(axis)) if reverse else data, x.dtype)


FUNCTIONS = {
    "zeros": lambda shape, dtype: full(shape, 0, dtype),
    "ones": lambda shape, dtype: full(shape, 1, dtype),
    "sum": reduction(lambda x, y, **hints: x + y),
    "prod": reduction(lambda x, y, **hints: x * y),
    "max": reduction(tile.maximum),
    "min": reduction(tile.minimum),
    "argmax": arg_extreme(torch.argmax, torch.amax, -torch.inf),
    "argmin": arg_extreme(torch.argmin, torch.amin, torch.inf),
}
