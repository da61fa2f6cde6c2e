"""Functions that make tiles, reshape them, reduce them and multiply matrices."""

import functools
import operator
from collections.abc import Callable

import cuda.tile as ct
import torch

from tutorlib.simulate.cutile.dtypes import CARRIER, dtype_of, from_fp4, promote, to_fp4
from tutorlib.simulate.cutile.tile import (
    Tile,
    Value,
    accumulation_dtype,
    as_shape,
    binary,
    check_rounding,
    convert,
    maximum,
    minimum,
    storage,
    tile_of,
)


def full(shape, fill_value: Value, dtype) -> Tile:
    dtype = dtype_of(dtype)
    return Tile(convert(fill_value, dtype).expand(as_shape(shape)).clone(), dtype)


def zeros(shape, dtype) -> Tile:
    return full(shape, 0, dtype)


def ones(shape, dtype) -> Tile:
    return full(shape, 1, dtype)


def arange(size: int, /, *, dtype, start: Value = 0, step: Value = 1) -> Tile:
    dtype = dtype_of(dtype)
    places = Tile(torch.arange(int(size), dtype=CARRIER[dtype]), dtype)
    return tile_of(binary(operator.add, binary(operator.mul, places, astype(step, dtype)), astype(start, dtype)))


def astile(value, /, *, dtype) -> Tile:
    """A nested tuple of scalars as a tile."""
    if not isinstance(value, tuple):
        return astype(value, dtype)
    parts = [astile(part, dtype=dtype) for part in value]
    return Tile(torch.stack([part.data for part in parts]), parts[0].dtype)


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


def mma_scaled(x: Tile, x_scale: Tile, y: Tile, y_scale: Tile, /, acc: Tile) -> Tile:
    """As mma, with a scale for every block of x along its columns and of y along its rows."""
    scaled_x = x.data * x_scale.data.repeat_interleave(x.shape[-1] // x_scale.shape[-1], -1)
    scaled_y = y.data * y_scale.data.repeat_interleave(y.shape[-2] // y_scale.shape[-2], -2)
    return Tile(torch.matmul(scaled_x, scaled_y) + acc.data, acc.dtype)


def fold(combine: Callable, x: Tile, axis, keepdims: bool) -> Tile:
    """Combine neighbors pairwise along the axes: halves, quarters … as a tree of tiles."""
    x = x.astype(ct.int32) if x.dtype == ct.bool_ else x
    axes = sorted({axis % x.ndim for axis in (range(x.ndim) if axis is None else as_shape(axis))}, reverse=True)
    for axis in axes:
        x = fold_axis(lambda a, b: (combine(a[0], b[0]),), (x,), axis)[0]
    return x if keepdims else Tile(x.data.squeeze(axes), x.dtype)


def fold_axis(combine: Callable, xs: tuple[Tile, ...], axis: int) -> tuple[Tile, ...]:
    """xs with this axis halved until its size is 1; `combine` takes and returns groups of tiles, elementwise."""
    while (size := xs[0].shape[axis]) > 1:
        first = tuple(Tile(x.data.narrow(axis, 0, size // 2), x.dtype) for x in xs)
        second = tuple(Tile(x.data.narrow(axis, size // 2, size // 2), x.dtype) for x in xs)
        xs = combine(first, second)
    return xs


def sum(x: Tile, /, axis=None, *, keepdims=False, **hints) -> Tile:
    return fold(operator.add, x, axis, keepdims)


def prod(x: Tile, /, axis=None, *, keepdims=False, **hints) -> Tile:
    return fold(operator.mul, x, axis, keepdims)


def max(x: Tile, /, axis=None, *, keepdims=False, **options) -> Tile:
    return fold(functools.partial(maximum, **options), x, axis, keepdims)


def min(x: Tile, /, axis=None, *, keepdims=False, **options) -> Tile:
    return fold(functools.partial(minimum, **options), x, axis, keepdims)


def argmax(x: Tile, /, axis=None, *, keepdims=False, propagate_nan=False) -> Tile:
    return arg_extreme(torch.argmax, torch.amax, -torch.inf, x, axis, keepdims, propagate_nan)


def argmin(x: Tile, /, axis=None, *, keepdims=False, propagate_nan=False) -> Tile:
    return arg_extreme(torch.argmin, torch.amin, torch.inf, x, axis, keepdims, propagate_nan)


def arg_extreme(
    find: Callable, take: Callable, worst: float, x: Tile, axis, keepdims: bool, propagate_nan: bool
) -> Tile:
    """The first index of the extreme value, int32. A NaN loses against a number unless it is to propagate.

    find: torch's function, for which NaN is the extreme value.
    """
    data = x.data.to(torch.int32) if x.dtype == ct.bool_ else x.data
    dim = None if axis is None else int(axis)
    if data.is_floating_point() and not propagate_nan:
        nan = data.isnan()
        data = torch.where(nan, worst, data)
        extreme = (data == take(data, () if dim is None else dim, keepdim=True)) & ~nan
        find, data = torch.argmax, extreme.to(torch.int32)  # all 0 where all are NaN
    found = find(data, dim, keepdim=keepdims)
    return Tile(found.to(torch.int32), ct.int32)


def reduce(x, /, axis: int, func: Callable, identity, *, keepdims=False):
    """The reader's own function along one axis. It is elementwise, so it is called on halves of the tile at once."""
    xs, combine = grouped(x, func)
    axis = int(axis) % xs[0].ndim
    xs = fold_axis(combine, xs, axis)
    return ungrouped(x, tuple(r if keepdims else Tile(r.data.squeeze(axis), r.dtype) for r in xs))


def scan(x, /, axis: int, func: Callable, identity, *, reverse=False):
    """Inclusive prefix combination by the reader's own function along one axis."""
    xs, combine = grouped(x, func)
    axis = int(axis) % xs[0].ndim
    places = range(xs[0].shape[axis])
    steps: list[tuple[Tile, ...]] = []
    for place in reversed(places) if reverse else places:
        here = tuple(Tile(t.data.narrow(axis, place, 1), t.dtype) for t in xs)
        steps.append(combine(steps[-1], here) if steps else here)
    columns = zip(*(reversed(steps) if reverse else steps), strict=True)
    return ungrouped(x, tuple(Tile(torch.cat([t.data for t in c], axis), c[0].dtype) for c in columns))


def grouped(x, func: Callable) -> tuple[tuple[Tile, ...], Callable]:
    """One tile or a tuple of them as a tuple of equal shapes, and the function on two such tuples."""
    if not isinstance(x, tuple):
        return (x,), lambda a, b: (tile_of(func(a[0], b[0])),)
    shape = torch.broadcast_shapes(*(t.shape for t in x))
    return tuple(broadcast_to(t, shape) for t in x), lambda a, b: tuple(map(tile_of, func(*a, *b)))


def ungrouped(x, xs: tuple[Tile, ...]):
    return xs if isinstance(x, tuple) else xs[0]


def cumsum(x: Tile, /, axis=0, *, reverse=False, **hints) -> Tile:
    return cumulate(torch.cumsum, x, int(axis), reverse)


def cumprod(x: Tile, /, axis=0, *, reverse=False, **hints) -> Tile:
    return cumulate(torch.cumprod, x, int(axis), reverse)


def cumulate(function: Callable, x: Tile, axis: int, reverse: bool) -> Tile:
    x = x.astype(ct.int32) if x.dtype == ct.bool_ else x
    data = x.data.flip(axis) if reverse else x.data
    data = function(data, axis, dtype=x.data.dtype)
    return Tile(data.flip(axis) if reverse else data, x.dtype)


def pack_to_bytes(x: Tile, /) -> Tile:
    if x.dtype == ct.float4_e2m1fn:
        low, high = to_fp4(x.data).reshape(-1, 2).unbind(1)
        return Tile(low | high << 4, ct.uint8)
    data = x.data.to(storage(x.dtype)).contiguous().reshape(-1)
    return Tile(data.view(torch.uint8), ct.uint8)


def unpack_from_bytes(x: Tile, /, dtype) -> Tile:
    dtype = dtype_of(dtype)
    if dtype == ct.float4_e2m1fn:
        return Tile(from_fp4(torch.stack([x.data & 15, x.data >> 4], 1).reshape(-1)), dtype)
    return Tile(x.data.contiguous().view(storage(dtype)).to(CARRIER[dtype]), dtype)
