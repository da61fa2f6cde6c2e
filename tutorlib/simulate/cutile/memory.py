"""Arrays in memory: loads, stores, gathers, scatters and atomics, with bounds and who stored what."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.dtypes import CARRIER, FROM_TORCH, STORAGE, Number, fit
from tutorlib.simulate.cutile.errors import NotSimulated
from tutorlib.simulate.cutile.findings import Launch
from tutorlib.simulate.cutile.tile import Tile, Value, as_shape, convert, tile_of

NOBODY = -1  # in Array.writer: no block has stored here


@dataclass(frozen=True)
class Array:
    """A parameter of a kernel, or a slice of one: a view of a tensor.

    data: the tensor in its storage dtype, written in place.
    writer: which block (by its place in the order) stored each element last; the shape of data.
    index_dtype: of shapes and strides, int32 unless the parameter is annotated.
    static_shape, static_strides: axes whose size or stride the annotation made a constant.
    origin: where a slice starts in its parameter, for messages.
    """

    name: str
    dtype: ct.DType
    data: Tensor
    writer: Tensor
    launch: Launch
    origin: tuple[int, ...]
    index_dtype: ct.DType = ct.int32
    static_shape: frozenset[int] = frozenset()
    static_strides: frozenset[int] = frozenset()

    @classmethod
    def of(cls, name: str, tensor: Tensor, launch: Launch, annotation: ct.ArrayAnnotation) -> "Array":
        dtype, n = FROM_TORCH[tensor.dtype], tensor.ndim
        data = tensor if tensor.dtype == STORAGE[dtype] else tensor.view(STORAGE[dtype])
        return cls(
            name,
            dtype,
            data,
            torch.full(tensor.shape, NOBODY, dtype=torch.int32),
            launch,
            (0,) * n,
            annotation.index_dtype,
            frozenset(axis % n for axis in annotation.static_shape_dims),
            frozenset(axis % n for axis in annotation.static_stride_dims),
        )

    @property
    def ndim(self) -> int:
        return self.data.ndim

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
        cut = [t.narrow(axis, start, stop - start) for t in (self.data, self.writer)]
        return replace(self, data=cut[0], writer=cut[1], origin=origin)

    def tiled_view(self, tile_shape, *, padding_mode=ct.PaddingMode.UNDETERMINED, traversal_steps=None) -> "TiledView":
        shape = as_shape(tile_shape) or (1,) * self.ndim
        steps = shape if traversal_steps is None else as_shape(traversal_steps)
        return TiledView(self, as_shape(tile_shape), steps, padding_mode)

    def get_raw_memory(self) -> "RawMemory":
        if not self.data.is_contiguous() or any(self.origin):
            raise NotSimulated("get_raw_memory of a slice or of an array with gaps")
        return RawMemory(replace(self, data=self.data.view(-1), writer=self.writer.view(-1), origin=(0,)))

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSimulated(f"Array.{name}")

    def read(self, box: "Box", padding: ct.PaddingMode) -> Tensor:
        """The box in the dtype's carrier, what is outside filled by the padding mode."""
        if box.outside:
            self.launch.notice("outside", self.name, f"loads {box}, which lies outside {self}")
        self.notice_race(box.inside, box)
        data = fit(self.data[box.inside], self.dtype)
        if box.whole:
            return data.clone()
        padded = torch.full(box.size, padding_value(padding, self), dtype=CARRIER[self.dtype])
        padded[box.part] = data
        return padded

    def write(self, box: "Box", data: Tensor) -> None:
        """Store the part of the data that is inside. data: in the dtype's carrier, of the box's size."""
        if box.outside:
            self.launch.notice("outside", self.name, f"stores {box}, which lies outside {self}")
        new = data[box.part].to(self.data.dtype)
        self.notice_overlap(box.inside, new, box)
        self.data[box.inside] = new
        self.writer[box.inside] = self.launch.number

    def notice_race(self, where: tuple, what: "Box | Places") -> None:
        others = foreign(self.writer[where], self.launch.number)
        if others.any():
            by = self.launch.show(int(self.writer[where][others][0]))
            self.launch.notice(
                "race", self.name, f"loads {what}, which block {by} stores in the same launch: before or after?"
            )

    def notice_overlap(self, where: tuple, new: Tensor, what: "Box | Places") -> None:
        """Storing once more what is there already is no fault, so values are compared, NaN equal to NaN."""
        others = foreign(self.writer[where], self.launch.number)
        if not others.any():
            return
        old = self.data[where]
        changed = others & (fit(old, self.dtype) != fit(new, self.dtype)) & ~((old != old) & (new != new))
        if changed.any():
            by = self.launch.show(int(self.writer[where][changed][0]))
            self.launch.notice(
                "overlap", self.name, f"stores {what}, where block {by} stored other values: either may win"
            )

    def __str__(self) -> str:
        return f"{self.name} of shape {tuple(self.data.shape)}"


def foreign(writer: Tensor, me: int) -> Tensor:
    return (writer != NOBODY) & (writer != me)


@dataclass(frozen=True)
class Box:
    """A box of elements of an array, which may reach beyond it.

    start, size: by array axis.
    inside: the elements of it that exist, part: their places in the box.
    """

    array: Array
    start: tuple[int, ...]
    size: tuple[int, ...]

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """From and to by axis, cut at the array's ends."""
        limits = zip(self.start, self.size, self.array.data.shape, strict=True)
        cut = ((min(max(start, 0), n), min(max(start + size, 0), n)) for start, size, n in limits)
        return list(cut)

    @property
    def inside(self) -> tuple[slice, ...]:
        return tuple(slice(low, high) for low, high in self.bounds)

    @property
    def part(self) -> tuple[slice, ...]:
        return tuple(
            slice(low - start, high - start) for (low, high), start in zip(self.bounds, self.start, strict=True)
        )

    @property
    def whole(self) -> bool:
        return all(high - low == size for (low, high), size in zip(self.bounds, self.size, strict=True))

    @property
    def outside(self) -> bool:
        return any(high == low for low, high in self.bounds)

    def __str__(self) -> str:
        starts = [start + o for start, o in zip(self.start, self.array.origin, strict=True)]
        places = (f"{start}:{start + size}" for start, size in zip(starts, self.size, strict=True))
        return f"{self.array.name}[{', '.join(places)}]"


def padding_value(mode: ct.PaddingMode, array: Array) -> Number:
    return {
        ct.PaddingMode.UNDETERMINED: array.launch.undetermined(array.dtype),
        ct.PaddingMode.ZERO: 0,
        ct.PaddingMode.NEG_ZERO: -0.0,
        ct.PaddingMode.NAN: float("nan"),
        ct.PaddingMode.POS_INF: float("inf"),
        ct.PaddingMode.NEG_INF: float("-inf"),
    }[mode]


def axis_order(order, ndim: int) -> tuple[int, ...]:
    """For each axis of a tile, the array's axis that it runs along."""
    named = {"C": range(ndim), "F": reversed(range(ndim))}
    return tuple(named[order]) if isinstance(order, str) else tuple(int(axis) % ndim for axis in order)


def box_at(array: Array, index, shape: tuple[int, ...], steps: tuple[int, ...], order: tuple[int, ...]) -> Box:
    """The box of a tile: index, shape and steps by tile axis, the box by array axis."""
    start, size = [0] * array.ndim, [0] * array.ndim
    for axis, i, n, step in zip(order, as_shape(index), shape, steps, strict=True):
        start[axis], size[axis] = i * step, n
    return Box(array, tuple(start), tuple(size))


def num_tiles(array: Array, /, axis: int, shape, order="C") -> Tile:
    shape = as_shape(shape) or (1,) * array.ndim
    size = array.data.shape[axis_order(order, array.ndim)[int(axis)]]
    return Tile(torch.tensor(-(-size // shape[int(axis)]), dtype=torch.int32), ct.int32)


def load(
    array: Array,
    /,
    index,
    shape,
    *,
    order="C",
    padding_mode=ct.PaddingMode.UNDETERMINED,
    check_bounds=True,
    latency=None,
    allow_tma=None,
    memory_order=ct.MemoryOrder.WEAK,
    memory_scope=ct.MemoryScope.NONE,
) -> Tile:
    synchronise(array, memory_order)
    axes = axis_order(order, array.ndim)
    size = as_shape(shape) or (1,) * array.ndim
    box = box_at(array, index, size, size, axes)
    require_inside(box, check_bounds, "loads")
    data = array.read(box, padding_mode).permute(axes)
    return Tile(data.reshape(as_shape(shape)), array.dtype)


def store(
    array: Array,
    /,
    index,
    tile: Value,
    *,
    order="C",
    check_bounds=True,
    latency=None,
    allow_tma=None,
    memory_order=ct.MemoryOrder.WEAK,
    memory_scope=ct.MemoryScope.NONE,
) -> None:
    synchronise(array, memory_order)
    axes = axis_order(order, array.ndim)
    data = convert(tile, array.dtype)
    data = data if data.ndim else data.reshape((1,) * array.ndim)
    box = box_at(array, index, tuple(data.shape), tuple(data.shape), axes)
    require_inside(box, check_bounds, "stores")
    array.write(box, data.permute(inverse(axes)))


def inverse(axes: tuple[int, ...]) -> list[int]:
    return sorted(range(len(axes)), key=axes.__getitem__)


def synchronise(array: Array, memory_order: ct.MemoryOrder) -> None:
    array.launch.synchronised |= memory_order != ct.MemoryOrder.WEAK


def require_inside(box: Box, check_bounds: bool, verb: str) -> None:
    if not check_bounds and not box.whole:
        array = box.array
        array.launch.notice("outside", array.name, f"{verb} {box} with check_bounds=False; it is not all in {array}")


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

    def box(self, index) -> Box:
        size = self.tile_shape or (1,) * self.array.ndim
        return box_at(self.array, index, size, self.traversal_steps, axis_order("C", self.array.ndim))

    def num_tiles(self, axis: int) -> Tile:
        size, step = self.array.data.shape[int(axis)], self.traversal_steps[int(axis)]
        return Tile(torch.tensor(-(-size // step), dtype=torch.int32), ct.int32)

    def load(self, index, *, check_bounds=True, latency=None, allow_tma=None) -> Tile:
        box = self.box(index)
        require_inside(box, check_bounds, "loads")
        return Tile(self.array.read(box, self.padding_mode).reshape(self.tile_shape), self.dtype)

    def store(self, index, tile: Value, *, check_bounds=True, latency=None, allow_tma=None) -> None:
        box = self.box(index)
        require_inside(box, check_bounds, "stores")
        self.array.write(box, convert(tile, self.dtype).broadcast_to(self.tile_shape).reshape(box.size))

    def __getattr__(self, name: str):
        """atomic_store_add and its siblings: the atomic of that name at every element of a tile."""
        if not name.startswith("atomic_store_"):
            raise AttributeError(name)
        update_by = ATOMICS[name.replace("_store", "")]

        def apply(index, update: Value, /) -> None:
            places = offsets(self.box(index))
            shape = self.tile_shape or (1,) * self.array.ndim
            update_by(self.array, places, Tile(convert(update, self.dtype).broadcast_to(shape), self.dtype))

        return apply


def offsets(box: Box) -> tuple[Tile, ...]:
    """Index tiles that address every element of a box, by axis."""
    axes = [
        torch.arange(start, start + size).reshape([-1 if n == axis else 1 for n in range(len(box.size))])
        for axis, (start, size) in enumerate(zip(box.start, box.size, strict=True))
    ]
    return tuple(Tile(axis, ct.int64) for axis in axes)


@dataclass(frozen=True)
class Places:
    """Single elements of an array.

    index: one int64 tensor for each axis, all of one shape, moved inside where an element is not wanted.
    wanted: which of them exist and are not masked out.
    """

    array: Array
    index: tuple[Tensor, ...]
    wanted: Tensor

    def chosen(self) -> tuple[Tensor, ...]:
        return tuple(axis[self.wanted] for axis in self.index)

    def __str__(self) -> str:
        first = [int(axis[0]) + o for axis, o in zip(self.chosen(), self.array.origin, strict=True)]
        return (
            f"{self.array.name}[{', '.join(map(str, first))}] and others"
            if self.wanted.sum() > 1
            else (f"{self.array.name}[{', '.join(map(str, first))}]")
        )


def places(array: Array, indices, mask: Value | None, check_bounds: bool) -> Places:
    parts = indices if isinstance(indices, tuple) else (indices,)
    if not array.ndim:  # torch indexes the one element of a 0-d tensor as that of a vector
        array, parts = replace(array, data=array.data.view(1), writer=array.writer.view(1), origin=(0,)), (0,)
    index = torch.broadcast_tensors(*(tile_of(part).data.to(torch.int64) for part in parts))
    exists = torch.ones(index[0].shape, dtype=torch.bool)
    for axis, size in zip(index, array.data.shape, strict=True):
        exists &= (axis >= 0) & (axis < size)
    wanted = exists if mask is None else exists & convert(mask, ct.bool_)
    beyond = ~exists if mask is None else ~exists & convert(mask, ct.bool_)
    if not check_bounds and beyond.any():
        array.launch.notice("outside", array.name, f"indexes beyond {array} with check_bounds=False")
    return Places(array, tuple(torch.where(exists, axis, 0) for axis in index), wanted)


def gather(array: Array, indices, /, *, mask=None, padding_value=0, check_bounds=True, latency=None) -> Tile:
    return Tile(take(places(array, indices, mask, check_bounds), convert(padding_value, array.dtype)), array.dtype)


def take(at: Places, padding: Tensor) -> Tensor:
    array = at.array
    if not at.wanted.any():
        return padding.expand(at.wanted.shape).clone()
    array.notice_race(at.chosen(), at)
    return torch.where(at.wanted, fit(array.data[at.index], array.dtype), padding)


def scatter(array: Array, indices, value: Value, /, *, mask=None, check_bounds=True, latency=None) -> None:
    put(places(array, indices, mask, check_bounds), convert(value, array.dtype))


def put(at: Places, value: Tensor) -> None:
    if not at.wanted.any():
        return
    array, where = at.array, at.chosen()
    new = value.broadcast_to(at.wanted.shape)[at.wanted].to(array.data.dtype)
    array.notice_overlap(where, new, at)
    bits(array.data)[where] = bits(new)
    array.writer[where] = array.launch.number


def bits(data: Tensor) -> Tensor:
    """fp8 as bytes, because torch cannot write to single elements of each of its fp8 dtypes."""
    return data.view(torch.uint8) if data.is_floating_point() and data.itemsize == 1 else data


@dataclass(frozen=True)
class Slice:
    """ct.Slice: `length` elements from `start` on."""

    start: Value
    length: int


def advanced_places(array: Array, indices: tuple) -> Places:
    """One index tile and slices: every combination of their elements."""
    spread = []
    for axis, part in enumerate(indices):
        along = int(part.start) + torch.arange(int(part.length)) if isinstance(part, Slice) else part.data
        spread.append(Tile(along.reshape([-1 if n == axis else 1 for n in range(array.ndim)]), ct.int64))
    return places(array, tuple(spread), None, True)


def load_advanced_indexing(
    array: Array, indices, /, *, padding_mode=ct.PaddingMode.UNDETERMINED, latency=None, allow_tma=None
) -> Tile:
    padding = torch.tensor(padding_value(padding_mode, array), dtype=CARRIER[array.dtype])
    return Tile(take(advanced_places(array, indices), padding), array.dtype)


def store_advanced_indexing(array: Array, indices, tile: Value, /, *, latency=None, allow_tma=None) -> None:
    put(advanced_places(array, indices), convert(tile, array.dtype))


def atomic(change: Callable[..., Tensor], gives_first: bool = False) -> Callable:
    """An atomic function of cuTile.

    change: the old elements and the operands to the new elements.
    gives_first: where there is no element, it gives the first operand; else cuTile leaves open what it gives.
    """

    def apply(
        array: Array, indices, /, *operands: Value, mask=None, check_bounds=True, memory_order=None, memory_scope=None
    ):
        array.launch.synchronised = True
        at = places(array, indices, mask, check_bounds)
        flat = ravel(at)
        spread = [convert(v, array.dtype).broadcast_to(at.wanted.shape) for v in operands]
        values = [v[at.wanted] for v in spread]
        old = torch.empty_like(flat, dtype=CARRIER[array.dtype])
        for turn in turns(flat):
            where = tuple(axis[turn] for axis in at.chosen())
            old[turn] = fit(array.data[where], array.dtype)
            array.data[where] = fit(change(old[turn], *(v[turn] for v in values)), array.dtype).to(array.data.dtype)
            array.writer[where] = array.launch.number
        nothing = array.launch.undetermined(array.dtype)
        result = spread[0].clone() if gives_first else torch.full_like(spread[0], nothing)
        result[at.wanted] = old
        return Tile(result, array.dtype)

    return apply


def ravel(at: Places) -> Tensor:
    """One number for each chosen element, equal where the elements are the same."""
    flat = torch.zeros(int(at.wanted.sum()), dtype=torch.int64)
    for axis, size in zip(at.chosen(), at.array.data.shape, strict=True):
        flat = flat * size + axis
    return flat


def turns(flat: Tensor):
    """Positions in groups without repeated elements, so that repeated ones take turns."""
    left = torch.arange(len(flat))
    while len(left):
        elements, inverse = torch.unique(flat[left], return_inverse=True)
        first = torch.full((len(elements),), len(left)).scatter_reduce(0, inverse, torch.arange(len(left)), "amin")
        yield left[first]
        rest = torch.ones(len(left), dtype=torch.bool)
        rest[first] = False
        left = left[rest]


ATOMICS = {
    "atomic_add": atomic(lambda old, x: old + x),
    "atomic_max": atomic(torch.maximum),
    "atomic_min": atomic(torch.minimum),
    "atomic_and": atomic(lambda old, x: old & x),
    "atomic_or": atomic(lambda old, x: old | x),
    "atomic_xor": atomic(lambda old, x: old ^ x),
    "atomic_xchg": atomic(lambda old, x: x),
    "atomic_cas": atomic(lambda old, expected, desired: torch.where(old == expected, desired, old), gives_first=True),
}


@dataclass(frozen=True)
class RawMemory:
    """An array's memory by offsets in elements, whatever its shape: what Array.get_raw_memory gives.

    flat: all of the memory as an array of one axis.
    """

    flat: Array

    @property
    def dtype(self) -> ct.DType:
        return self.flat.dtype

    def load_offset(self, offset: Value, /, *, mask=None, padding_value=0, latency=None) -> Tile:
        return gather(self.flat, offset, mask=mask, padding_value=padding_value, check_bounds=False)

    def store_offset(self, offset: Value, value: Value, /, *, mask=None, latency=None) -> None:
        scatter(self.flat, offset, value, mask=mask, check_bounds=False)

    def __getattr__(self, name: str):
        """atomic_add_offset and its siblings."""
        if not (name.startswith("atomic_") and name.endswith("_offset")):
            raise AttributeError(name)
        return partial(ATOMICS[name.removesuffix("_offset")], self.flat, check_bounds=False)


def never_stored(array: Array) -> str:
    """A sentence about the elements that no block stored; "" where all were, or none."""
    missing = array.writer == NOBODY
    if not missing.any() or missing.all():
        return ""
    where = missing.nonzero()
    spans = (f"{int(low)}:{int(high) + 1}" for low, high in zip(where.amin(0), where.amax(0), strict=True))
    return (
        f"{len(where):,} of the {missing.numel():,} elements of {array.name} are never stored: "
        f"they lie in {array.name}[{', '.join(spans)}]"
    )
