"""Arrays, memory as a kernel's parameters show it, and what a kernel calls to load, store and update elements: by
tiles, by single indices, and by raw offsets.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.dtypes import CARRIER, FROM_TORCH, STORAGE, fit
from tutorlib.simulate.cutile.launch import LOAD, NEVER, STORE, How, TileLaunch
from tutorlib.simulate.cutile.memory import Elements, Memory
from tutorlib.simulate.cutile.tile import Tile, Value, as_shape, convert, tile_of
from tutorlib.simulate.ptx.findings import NotSimulated

# Tiles ----------------------------------------------------------------------------------------------------------


def axis_order(order, ndim: int) -> tuple[int, ...]:
    """For each axis of a tile, the array's axis that it runs along."""
    named = {"C": range(ndim), "F": reversed(range(ndim))}
    return tuple(named[order]) if isinstance(order, str) else tuple(int(axis) % ndim for axis in order)


def box_at(array: Memory, index, shape: tuple[int, ...], steps: tuple[int, ...], order: tuple[int, ...]) -> Elements:
    """The elements of a tile: index, shape and steps by tile axis, the box by array axis."""
    if len(shape) != array.ndim:
        raise ValueError(f"the array has {array.ndim} modes and the tile {len(shape)}: ct.reshape gives it as many")
    start, size = [0] * array.ndim, [0] * array.ndim
    for axis, i, n, step in zip(order, as_shape(index), shape, steps, strict=True):
        start[axis], size[axis] = i * step, n
    return array.box(start, size)


def num_tiles(array: Memory, /, axis: int, shape, order="C") -> Tile:
    shape = as_shape(shape) or (1,) * array.ndim
    return tiles_along(array.data.shape[axis_order(order, array.ndim)[int(axis)]], shape[int(axis)])


def tiles_along(size: int, step: int) -> Tile:
    return Tile(torch.tensor(-(-size // step), dtype=torch.int32), ct.int32)


WEAK = {"memory_order": ct.MemoryOrder.WEAK, "memory_scope": ct.MemoryScope.NONE}


def load(
    array: Memory, /, index, shape, *, order="C", padding_mode=ct.PaddingMode.UNDETERMINED, check_bounds=True, **options
) -> Tile:
    axes, size = axis_order(order, array.ndim), as_shape(shape) or (1,) * array.ndim
    box, how = box_at(array, index, size, size, axes), How.of(True, False, **(WEAK | options))
    data = load_box(box, padding_mode, check_bounds, how).permute(axes)
    return Tile(data.reshape(as_shape(shape)), array.dtype)


def store(array: Memory, /, index, tile: Value, *, order="C", check_bounds=True, **options) -> None:
    axes, data = axis_order(order, array.ndim), convert(tile, array.dtype)
    data = data if data.ndim else data.reshape((1,) * array.ndim)
    box, how = box_at(array, index, tuple(data.shape), tuple(data.shape), axes), How.of(False, True, **(WEAK | options))
    store_box(box, data.permute(sorted(range(len(axes)), key=axes.__getitem__)), check_bounds, how)
    array.launch.running.epoch += how.releases


def load_box(box: Elements, padding_mode: ct.PaddingMode, check_bounds: bool, how: How) -> Tensor:
    look_at(box, check_bounds, "loads")
    return box.load(padding_of(padding_mode, box, is_use=box.count > 0), how)


def store_box(box: Elements, data: Tensor, check_bounds: bool, how: How) -> None:
    look_at(box, check_bounds, "stores")
    box.store(data, how)


def look_at(box: Elements, check_bounds: bool, verb: str) -> None:
    if not box.count:
        box.memory.launch.notice("outside", box.memory.name, f"{verb} {box}, which lies outside {box.memory}")
    elif not check_bounds and not box.whole:
        says = f"{verb} {box} with check_bounds=False; it is not all in {box.memory}"
        box.memory.launch.notice("outside", box.memory.name, says)


def padding_of(mode: ct.PaddingMode, some: Elements, is_use: bool = True) -> Tensor:
    """What stands for the elements that do not exist. is_use: whether a result that depends on it is a finding."""
    memory = some.memory
    number = {
        ct.PaddingMode.ZERO: 0,
        ct.PaddingMode.NEG_ZERO: -0.0,
        ct.PaddingMode.NAN: float("nan"),
        ct.PaddingMode.POS_INF: float("inf"),
        ct.PaddingMode.NEG_INF: float("-inf"),
    }.get(mode, 0)
    if mode == ct.PaddingMode.UNDETERMINED and not some.whole:
        says = f"loads {some}, which {memory} does not have all of: the rest is undetermined without a padding_mode"
        undetermined = memory.launch.undetermined
        number = memory.launch.padding_of(memory.name, memory.dtype, says) if is_use else undetermined(memory.dtype)
    return torch.tensor(number, dtype=CARRIER[memory.dtype])


# Single elements ------------------------------------------------------------------------------------------------


def places(array: Memory, indices, mask: Value | None, check_bounds: bool) -> Elements:
    parts = indices if isinstance(indices, tuple) else (indices,)
    index = [tile_of(part).data for part in parts][: array.ndim]  # one that has no axis is given an index all the same
    some = array.elements(index, None if mask is None else convert(mask, ct.bool_))
    if not check_bounds and some.beyond:
        array.launch.notice("outside", array.name, f"indexes beyond {array} with check_bounds=False")
    return some


def gather(array: Memory, indices, /, *, mask=None, padding_value=0, check_bounds=True, **hints) -> Tile:
    array.launch.scattered.add(array.name)
    some = places(array, indices, mask, check_bounds)
    return Tile(some.load(convert(padding_value, array.dtype)), array.dtype)


def scatter(array: Memory, indices, value: Value, /, *, mask=None, check_bounds=True, **hints) -> None:
    array.launch.scattered.add(array.name)
    places(array, indices, mask, check_bounds).store(convert(value, array.dtype))


@dataclass(frozen=True)
class Slice:
    """ct.Slice: `length` elements from `start` on."""

    start: Value
    length: int


def chosen(array: Memory, indices: tuple) -> Elements:
    """Advanced indexing: every combination of the elements of one index tile and of slices."""
    array.launch.scattered.add(array.name)
    along = [
        int(one.start) + torch.arange(int(one.length)) if isinstance(one, Slice) else one.data.long() for one in indices
    ]
    return array.elements(torch.meshgrid(*along, indexing="ij"))


def load_advanced_indexing(array: Memory, indices, /, *, padding_mode=ct.PaddingMode.UNDETERMINED, **hints) -> Tile:
    some = chosen(array, indices)
    return Tile(some.load(padding_of(padding_mode, some)), array.dtype)


def store_advanced_indexing(array: Memory, indices, tile: Value, /, **hints) -> None:
    chosen(array, indices).store(convert(tile, array.dtype))


# Atomics --------------------------------------------------------------------------------------------------------


def update(
    some: Elements, change: Callable[..., Tensor], operands: tuple[Value, ...], gives_first=False, **options
) -> Tile:
    """Elements that repeat take turns. Gives the old ones.

    change: the old elements and the operands to the new elements. gives_first: where there is no element, it gives the
    first operand; else cuTile leaves open what it gives.
    """
    array = some.memory
    array.launch.count_load(array.name, some.count, prod(some.shape))
    spread = [convert(v, array.dtype).broadcast_to(some.shape) for v in operands]
    nothing = array.launch.undetermined(array.dtype)
    result = spread[0].clone() if gives_first else torch.full_like(spread[0], nothing)
    if not some.count:
        return Tile(result, array.dtype)
    how = How.of(True, True, **(ATOMICALLY | options))
    some.poll(how)
    values = [v[some.part] for v in spread]
    old = torch.empty_like(values[0])
    flat = torch.zeros(some.count, dtype=torch.int64)  # a number for each element
    for axis, size in zip(some.where, array.data.shape, strict=True):
        flat = flat * size + axis
    for turn in turns(flat):
        where = tuple(axis[turn] for axis in some.where)
        old[turn] = fit(array.data[where], array.dtype)
        new = fit(change(old[turn], *(v[turn] for v in values)), array.dtype).to(array.data.dtype)
        some.put(where, new, how)
    array.launch.running.epoch += how.releases
    result[some.part] = old
    return Tile(result, array.dtype)


def turns(flat: Tensor) -> Iterator[Tensor]:
    """Positions in groups without repeated elements, so that repeated ones take turns."""
    left = torch.arange(len(flat))
    while len(left):
        elements, inverse = torch.unique(flat[left], return_inverse=True)
        first = torch.full((len(elements),), len(left)).scatter_reduce(0, inverse, torch.arange(len(left)), "amin")
        yield left[first]
        rest = torch.ones(len(left), dtype=torch.bool)
        rest[first] = False
        left = left[rest]


ATOMICALLY = {"memory_order": ct.MemoryOrder.ACQ_REL, "memory_scope": ct.MemoryScope.DEVICE}
CHANGES: dict[str, Callable[..., Tensor]] = {
    "add": lambda old, x: old + x,
    "max": torch.maximum,
    "min": torch.minimum,
    "and": lambda old, x: old & x,
    "or": lambda old, x: old | x,
    "xor": lambda old, x: old ^ x,
    "xchg": lambda old, x: x,
    "cas": lambda old, expected, desired: torch.where(old == expected, desired, old),
}


def atomic(name: str, array: Memory, indices, /, *operands: Value, mask=None, check_bounds=True, **options) -> Tile:
    return update(places(array, indices, mask, check_bounds), CHANGES[name], operands, name == "cas", **options)


ATOMICS = {f"atomic_{name}": partial(atomic, name) for name in CHANGES}

# Views ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TiledView:
    """An array cut into tiles of one shape, whose origins are `traversal_steps` elements apart."""

    array: Memory
    tile_shape: tuple[int, ...]
    traversal_steps: tuple[int, ...]
    padding_mode: ct.PaddingMode

    @property
    def dtype(self) -> ct.DType:
        return self.array.dtype

    def box(self, index) -> Elements:
        size = self.tile_shape or (1,) * self.array.ndim
        return box_at(self.array, index, size, self.traversal_steps, tuple(range(self.array.ndim)))

    def num_tiles(self, axis: int) -> Tile:
        return tiles_along(self.array.data.shape[int(axis)], self.traversal_steps[int(axis)])

    def load(self, index, *, check_bounds=True, **hints) -> Tile:
        data = load_box(self.box(index), self.padding_mode, check_bounds, LOAD)
        return Tile(data.reshape(self.tile_shape), self.dtype)

    def store(self, index, tile: Value, *, check_bounds=True, **hints) -> None:
        box = self.box(index)
        store_box(box, convert(tile, self.dtype).broadcast_to(self.tile_shape).reshape(box.shape), check_bounds, STORE)

    def __getattr__(self, name: str):
        """atomic_store_add and its siblings: the atomic of that name at every element of a tile."""
        change = CHANGES.get(name.removeprefix("atomic_store_"))
        if change is None:
            raise AttributeError(name)

        def apply(index, value: Value, /) -> None:
            box = self.box(index)
            along = [torch.arange(start, start + size) for start, size in zip(box.start or (), box.shape, strict=True)]
            update(self.array.elements(torch.meshgrid(*along, indexing="ij")), change, (value,))

        return apply


@dataclass(frozen=True)
class RawMemory:
    """An array's memory by offsets in elements, whatever its shape: what Array.get_raw_memory gives.

    flat: all of the memory as an array of one axis.
    """

    flat: Memory

    @property
    def dtype(self) -> ct.DType:
        return self.flat.dtype

    def load_offset(self, offset: Value, /, *, mask=None, padding_value=0, **hints) -> Tile:
        return gather(self.flat, offset, mask=mask, padding_value=padding_value, check_bounds=False)

    def store_offset(self, offset: Value, value: Value, /, *, mask=None, **hints) -> None:
        scatter(self.flat, offset, value, mask=mask, check_bounds=False)

    def __getattr__(self, name: str):
        """atomic_add_offset and its siblings."""
        found = ATOMICS.get(name.removesuffix("_offset"))
        if found is None:
            raise AttributeError(name)
        return partial(found, self.flat, check_bounds=False)


@dataclass(frozen=True)
class Array(Memory):
    """A parameter of a kernel, or a slice of one.

    index_dtype: of shapes and strides, int32 unless the parameter is annotated.
    static_shape, static_strides: axes whose size or stride the annotation made a constant.
    """

    index_dtype: ct.DType = ct.int32
    static_shape: frozenset[int] = frozenset()
    static_strides: frozenset[int] = frozenset()

    @classmethod
    def of(cls, name: str, tensor: Tensor, launch: TileLaunch, annotation: ct.ArrayAnnotation) -> "Array":
        dtype, n = FROM_TORCH[tensor.dtype], tensor.ndim
        launch.tensors[name] = tensor
        data = tensor if tensor.dtype == STORAGE[dtype] else tensor.view(STORAGE[dtype])
        return cls(
            name,
            dtype,
            data,
            torch.full(tensor.shape, NEVER, dtype=torch.int32),
            launch,
            (0,) * n,
            annotation.index_dtype,
            frozenset(axis % n for axis in annotation.static_shape_dims),
            frozenset(axis % n for axis in annotation.static_stride_dims),
        )

    @property
    def shape(self) -> tuple[Value, ...]:
        return self.run_time(self.data.shape, self.static_shape)

    @property
    def strides(self) -> tuple[Value, ...]:
        return self.run_time(self.data.stride(), self.static_strides)

    def run_time(self, sizes: tuple[int, ...], constant: frozenset[int]) -> tuple[Value, ...]:
        """Sizes as a kernel sees them: scalars known at run time only, but for the constant ones."""
        dtype = self.index_dtype
        return tuple(
            n if axis in constant else Tile(torch.tensor(n, dtype=CARRIER[dtype]), dtype)
            for axis, n in enumerate(sizes)
        )

    def slice(self, axis: int, start: Value, stop: Value) -> "Array":
        axis, start, stop = int(axis) % self.ndim, int(start), int(stop)
        if not 0 <= start <= stop <= self.data.shape[axis]:
            size = self.data.shape[axis]
            self.launch.notice("outside", self.name, f"slices {self.name} from {start} to {stop}; its size is {size}")
        origin = tuple(o + start if n == axis else o for n, o in enumerate(self.origin))
        cut = [t.narrow(axis, start, stop - start) for t in (self.data, self.history)]
        return replace(self, data=cut[0], history=cut[1], origin=origin)

    def tiled_view(self, tile_shape, *, padding_mode=ct.PaddingMode.UNDETERMINED, traversal_steps=None) -> TiledView:
        shape = as_shape(tile_shape) or (1,) * self.ndim
        steps = shape if traversal_steps is None else as_shape(traversal_steps)
        return TiledView(self, as_shape(tile_shape), steps, padding_mode)

    def get_raw_memory(self) -> RawMemory:
        if not self.data.is_contiguous() or any(self.origin):
            raise NotSimulated("get_raw_memory of a slice or of an array with gaps")
        return RawMemory(replace(self, data=self.data.view(-1), history=self.history.view(-1), origin=(0,)))

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSimulated(f"Array.{name}")
