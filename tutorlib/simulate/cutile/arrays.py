"""Arrays, memory as a kernel's parameters show it: their bounds, what blocks did to each element, and the functions
that load, store and update elements, by tiles and by single indices.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.dtypes import CARRIER, FROM_TORCH, STORAGE, fit, poison
from tutorlib.simulate.cutile.launch import LOAD, NEVER, STORE, Access, How, TileLaunch
from tutorlib.simulate.cutile.tile import Tile, Value, as_shape, convert, scalar, tile_of
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.opcodes.loads import turns

UNDETERMINED = ct.PaddingMode.UNDETERMINED


@dataclass(frozen=True)
class Array:
    """A parameter of a kernel: the target of loads and stores.

    data: the tensor in its storage dtype, written in place.
    history: by element, the number of what was done to it (`launch.Histories`); the shape of data.
    """

    name: str
    dtype: ct.DType
    data: Tensor
    history: Tensor
    launch: TileLaunch

    @classmethod
    def of(cls, name: str, tensor: Tensor, launch: TileLaunch) -> "Array":
        dtype = FROM_TORCH[tensor.dtype]
        data = tensor if tensor.dtype == STORAGE[dtype] else tensor.view(STORAGE[dtype])
        return cls(name, dtype, data, torch.full(tensor.shape, NEVER, dtype=torch.int32), launch)

    # for the interpreter

    @property
    def ndim(self) -> int:
        return self.data.ndim

    def differ(self, old: Tensor, new: Tensor) -> Tensor:
        """Which elements of two tensors of its dtype are not equal; NaN is equal to NaN."""
        return (fit(old, self.dtype) != fit(new, self.dtype)) & ~((old != old) & (new != new))

    def __str__(self) -> str:
        return f"{self.name} of shape {tuple(self.data.shape)}"

    # for the kernel

    @property
    def shape(self) -> tuple[Value, ...]:
        return tuple(map(scalar, self.data.shape))

    @property
    def strides(self) -> tuple[Value, ...]:
        return tuple(map(scalar, self.data.stride()))

    def tiled_view(self, tile_shape, *, padding_mode=UNDETERMINED, traversal_steps=None) -> "TiledView":
        shape = as_shape(tile_shape) or (1,) * self.ndim
        steps = shape if traversal_steps is None else as_shape(traversal_steps)
        return TiledView(self, as_shape(tile_shape), steps, padding_mode)

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSimulated(f"Array.{name}")


@dataclass(frozen=True)
class TiledView:
    """An array cut into tiles of one shape, whose origins are `traversal_steps` elements apart."""

    array: Array
    tile_shape: tuple[int, ...]
    traversal_steps: tuple[int, ...]
    padding_mode: ct.PaddingMode

    @property
    def dtype(self) -> ct.DType:
        return self.array.dtype

    def num_tiles(self, axis: int) -> Tile:
        return num_tiles(self.array, axis, self.traversal_steps)

    def load(self, index, **options) -> Tile:
        how = {"steps": self.traversal_steps, "padding_mode": self.padding_mode}
        return load(self.array, index, self.tile_shape, **how, **options)

    def store(self, index, tile: Value, **options) -> None:
        part = Tile(convert(tile, self.dtype).broadcast_to(self.tile_shape), self.dtype)
        store(self.array, index, part, steps=self.traversal_steps, **options)

    def __getattr__(self, name: str) -> Any:
        raise NotSimulated(f"TiledView.{name}")


@dataclass(frozen=True)
class Elements:
    """The elements of memory that an instruction accesses, of a tile of this shape; some of them may not exist.

    where: those that exist, in the memory; part: the same in the tile, as torch takes both in brackets. count: how
    many. start: of a box.
    """

    array: Array
    shape: tuple[int, ...]
    where: Any
    part: Any
    count: int
    start: tuple[int, ...] | None = None

    @property
    def whole(self) -> bool:
        return self.count == prod(self.shape)

    @property
    def first(self) -> tuple[int, ...]:
        """The indices of the first of them."""
        return tuple(axis.start if isinstance(axis, slice) else int(axis[0]) for axis in self.where)

    def load(self, padding: Tensor, how: How = LOAD) -> Tensor:
        """The tile in its dtype's carrier, with `padding` in the place of what does not exist."""
        array = self.array
        array.launch.count_load(array.name, self.count, prod(self.shape))
        result = padding.expand(self.shape).clone()
        if self.count:
            array.launch.poll(array.name, self, (array.name, *self.first, self.count), how.strong)
            self.note(self.where, how, None)
            result[self.part] = fit(array.data[self.where], array.dtype)
        return result

    def store(self, data: Tensor, how: How = STORE) -> None:
        """data: in the dtype's carrier; it broadcasts to the tile."""
        if self.count:
            new = data.broadcast_to(self.shape)[self.part].to(self.array.data.dtype)
            self.put(self.where, new, how)

    def put(self, where: Any, new: Tensor, how: How) -> None:
        """Write some of them at once. Storing what is there already is no fault, so values are compared."""
        array = self.array
        changed = array.differ(array.data[where], new)
        if array.name not in array.launch.before:
            array.launch.before[array.name] = array.data.clone()
        array.launch.changes += bool(changed.any())
        self.note(where, how, changed)
        bits(array.data)[where] = bits(new)

    def note(self, where: Any, how: How, changed: Tensor | None) -> None:
        """The running block accesses them, or some. changed: those that a write gives another value."""
        array, launch = self.array, self.array.launch
        histories, me, before = launch.histories, launch.running, array.history[where]
        numbers, which = distinct(before)
        for number in numbers:
            writer = histories.writer(number)
            if writer >= 0 and how.writes and not how.strong:
                who = "it" if writer == me.number else f"block {launch.show(writer)}"
                launch.notice("repeat", array.name, f"stores {self}, where {who} has stored before")
            other = histories.conflict(number, me, how)
            if other and (changed is None or changed[before == number].any()):
                self.notice_conflict(other, how)
        if how.acquires:
            me.known = histories.acquired(numbers, me.known)
        after = torch.tensor([histories.continued(number, me, how) for number in numbers], dtype=torch.int32)
        array.history[where] = after[0] if which is None else after[which]

    def notice_conflict(self, other: Access, how: How) -> None:
        launch, name = self.array.launch, self.array.name
        by = launch.show(other.block)
        if how.verb == other.how.verb == "stores":
            launch.notice("overlap", name, f"stores {self}, where block {by} stored other values: either may win")
        else:
            does = f"{how.verb} {self}, which block {by} {other.how.verb} in the same launch"
            launch.notice("race", name, f"{does}: before or after?")

    def __str__(self) -> str:
        if self.start is None:
            return f"{self.array.name}[{', '.join(map(str, self.first))}]{' and others' * (self.count > 1)}"
        places = (f"{first}:{first + size}" for first, size in zip(self.start, self.shape, strict=True))
        return f"{self.array.name}[{', '.join(places)}]"


def bits(data: Tensor) -> Tensor:
    """fp8 as bytes, because torch cannot write to single elements of each of its fp8 dtypes."""
    return data.view(torch.uint8) if data.is_floating_point() and data.itemsize == 1 else data


def distinct(numbers: Tensor) -> tuple[list[int], Tensor | None]:
    """The numbers, each once, and where each element's is among them; None where all are the same."""
    low, high = torch.aminmax(numbers)
    if low == high:
        return [int(low)], None
    once, which = torch.unique(numbers, return_inverse=True)
    return once.tolist(), which


# Tiles ----------------------------------------------------------------------------------------------------------


def axis_order(order, ndim: int) -> tuple[int, ...]:
    """For each axis of a tile, the array's axis that it runs along."""
    named = {"C": range(ndim), "F": reversed(range(ndim))}
    return tuple(named[order]) if isinstance(order, str) else tuple(int(axis) % ndim for axis in order)


def box_at(array: Array, index, shape: tuple[int, ...], steps: tuple[int, ...], order: tuple[int, ...]) -> Elements:
    """The elements of a tile, a box that may reach beyond the array. index, shape, steps: by tile axis."""
    start, size = [0] * array.ndim, [0] * array.ndim
    for axis, i, n, step in zip(order, as_shape(index), shape, steps, strict=True):
        start[axis], size[axis] = i * step, n
    limits = zip(start, size, array.data.shape, strict=True)
    bounds = [(min(max(first, 0), n), min(max(first + many, 0), n)) for first, many, n in limits]
    where = tuple(slice(low, high) for low, high in bounds)
    part = tuple(slice(low - first, high - first) for (low, high), first in zip(bounds, start, strict=True))
    return Elements(array, tuple(size), where, part, prod(high - low for low, high in bounds), start=tuple(start))


def num_tiles(array: Array, /, axis: int, shape, order="C") -> Tile:
    """shape: of the tiles, or the steps from one to the next."""
    shape, along = as_shape(shape) or (1,) * array.ndim, axis_order(order, array.ndim)[int(axis)]
    return scalar(-(-array.data.shape[along] // shape[int(axis)]))


WEAK = {"memory_order": ct.MemoryOrder.WEAK, "memory_scope": ct.MemoryScope.NONE}
PADDING = {
    ct.PaddingMode.NEG_ZERO: -0.0,
    ct.PaddingMode.NAN: float("nan"),
    ct.PaddingMode.POS_INF: float("inf"),
    ct.PaddingMode.NEG_INF: float("-inf"),
}


def load(
    array: Array, /, index, shape, *, order="C", padding_mode=UNDETERMINED, check_bounds=True, steps=(), **options
) -> Tile:
    """steps: between the origins of tiles, where they are not the tile's shape.

    A use of what stands for elements that do not exist is a finding, if the tile has others.
    """
    axes, size = axis_order(order, array.ndim), as_shape(shape) or (1,) * array.ndim
    box, how = box_at(array, index, size, steps or size, axes), How.of(True, False, **(WEAK | options))
    look_at(box, check_bounds, "loads")
    number = PADDING.get(padding_mode, 0)
    if padding_mode == UNDETERMINED and not box.whole:
        says = f"loads {box}, which {array} does not have all of: the rest is undetermined without a padding_mode"
        number = array.launch.padding_of(array.name, array.dtype, says) if box.count else poison(array.dtype)
    data = box.load(torch.tensor(number, dtype=CARRIER[array.dtype]), how)
    return Tile(data.permute(axes).reshape(as_shape(shape)), array.dtype)


def store(array: Array, /, index, tile: Value, *, order="C", check_bounds=True, steps=(), **options) -> None:
    axes, data = axis_order(order, array.ndim), convert(tile, array.dtype)
    size = tuple(data.shape) or (1,) * array.ndim
    box, how = box_at(array, index, size, steps or size, axes), How.of(False, True, **(WEAK | options))
    look_at(box, check_bounds, "stores")
    box.store(data.reshape(size).permute(sorted(range(len(axes)), key=axes.__getitem__)), how)
    array.launch.running.epoch += how.releases


def look_at(box: Elements, check_bounds: bool, verb: str) -> None:
    array = box.array
    if not box.count:
        array.launch.notice("outside", array.name, f"{verb} {box}, which lies outside {array}")
    elif not check_bounds and not box.whole:
        array.launch.notice("outside", array.name, f"{verb} {box} with check_bounds=False; it is not all in {array}")


# Single elements ------------------------------------------------------------------------------------------------


def places(array: Array, indices, mask: Value | None, check_bounds: bool) -> Elements:
    """The elements with these indices. mask: which of them are meant."""
    parts = indices if isinstance(indices, tuple) else (indices,)
    index = [tile_of(part).data.to(torch.int64) for part in parts]
    axes = torch.broadcast_tensors(*index[: array.ndim]) if array.ndim else ()  # which is given an index all the same
    exist = torch.ones(axes[0].shape if axes else (), dtype=torch.bool)
    for axis, size in zip(axes, array.data.shape, strict=True):
        exist &= (axis >= 0) & (axis < size)
    meant = torch.ones((), dtype=torch.bool) if mask is None else convert(mask, ct.bool_)
    if not check_bounds and (~exist & meant).any():
        array.launch.notice("outside", array.name, f"indexes beyond {array} with check_bounds=False")
    wanted = exist & meant
    return Elements(array, tuple(exist.shape), tuple(axis[wanted] for axis in axes), wanted, int(wanted.sum()))


def gather(array: Array, indices, /, *, mask=None, padding_value=0, check_bounds=True, **hints) -> Tile:
    array.launch.scattered.add(array.name)
    some = places(array, indices, mask, check_bounds)
    return Tile(some.load(convert(padding_value, array.dtype)), array.dtype)


def scatter(array: Array, indices, value: Value, /, *, mask=None, check_bounds=True, **hints) -> None:
    array.launch.scattered.add(array.name)
    places(array, indices, mask, check_bounds).store(convert(value, array.dtype))


# Atomics --------------------------------------------------------------------------------------------------------

ATOMICALLY = {"memory_order": ct.MemoryOrder.ACQ_REL, "memory_scope": ct.MemoryScope.DEVICE}
CHANGES: dict[str, Callable[..., Tensor]] = {  # the old elements and the operands → the new elements
    "add": lambda old, x: old + x,
    "max": torch.maximum,
    "min": torch.minimum,
    "and": lambda old, x: old & x,
    "or": lambda old, x: old | x,
    "xor": lambda old, x: old ^ x,
    "xchg": lambda old, x: x,
    "cas": lambda old, expected, desired: torch.where(old == expected, desired, old),
}


def atomic(name: str, array: Array, indices, /, *operands: Value, mask=None, check_bounds=True, **options) -> Tile:
    """Gives the old elements; those that repeat take turns.

    Where there is no element, "cas" gives its first operand; for others cuTile leaves open what they give.
    """
    some = places(array, indices, mask, check_bounds)
    array.launch.count_load(array.name, some.count, prod(some.shape))
    spread = [convert(v, array.dtype).broadcast_to(some.shape) for v in operands]
    result = spread[0].clone() if name == "cas" else torch.full_like(spread[0], poison(array.dtype))
    if not some.count:
        return Tile(result, array.dtype)
    how = How.of(True, True, **(ATOMICALLY | options))
    array.launch.poll(array.name, some, (array.name, *some.first, some.count), how.strong)
    values = [v[some.part] for v in spread]
    old = torch.empty_like(values[0])
    flat = torch.zeros(some.count, dtype=torch.int64)  # a number for each element
    for axis, size in zip(some.where, array.data.shape, strict=True):
        flat = flat * size + axis
    for turn in map(torch.from_numpy, turns(flat.numpy())):
        where = tuple(axis[turn] for axis in some.where)
        old[turn] = fit(array.data[where], array.dtype)
        new = CHANGES[name](old[turn], *(v[turn] for v in values))
        some.put(where, fit(new, array.dtype).to(array.data.dtype), how)
    array.launch.running.epoch += how.releases
    result[some.part] = old
    return Tile(result, array.dtype)


ATOMICS = {f"atomic_{name}": partial(atomic, name) for name in CHANGES}
