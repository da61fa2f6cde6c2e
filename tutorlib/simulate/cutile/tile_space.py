"""Loads and stores by an index that counts tiles."""

from dataclasses import dataclass

import cuda.tile as ct
import torch

from tutorlib.simulate.cutile.accesses import How
from tutorlib.simulate.cutile.atomics import ATOMICS
from tutorlib.simulate.cutile.box import Box
from tutorlib.simulate.cutile.memory import Memory
from tutorlib.simulate.cutile.tile import Tile, Value, as_shape, convert


def axis_order(order, ndim: int) -> tuple[int, ...]:
    """For each axis of a tile, the array's axis that it runs along."""
    named = {"C": range(ndim), "F": reversed(range(ndim))}
    return tuple(named[order]) if isinstance(order, str) else tuple(int(axis) % ndim for axis in order)


def box_at(array: Memory, index, shape: tuple[int, ...], steps: tuple[int, ...], order: tuple[int, ...]) -> Box:
    """The box of a tile: index, shape and steps by tile axis, the box by array axis."""
    if len(shape) != array.ndim:
        raise ValueError(f"the array has {array.ndim} modes and the tile {len(shape)}: ct.reshape gives it as many")
    start, size = [0] * array.ndim, [0] * array.ndim
    for axis, i, n, step in zip(order, as_shape(index), shape, steps, strict=True):
        start[axis], size[axis] = i * step, n
    return Box(array, tuple(start), tuple(size))


def num_tiles(array: Memory, /, axis: int, shape, order="C") -> Tile:
    shape = as_shape(shape) or (1,) * array.ndim
    size = array.data.shape[axis_order(order, array.ndim)[int(axis)]]
    return Tile(torch.tensor(-(-size // shape[int(axis)]), dtype=torch.int32), ct.int32)


def load(
    array: Memory,
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
    how = How.of(True, False, memory_order, memory_scope)
    axes = axis_order(order, array.ndim)
    size = as_shape(shape) or (1,) * array.ndim
    box = box_at(array, index, size, size, axes)
    require_inside(box, check_bounds, "loads")
    data = box.read(padding_mode, how).permute(axes)
    return Tile(data.reshape(as_shape(shape)), array.dtype)


def store(
    array: Memory,
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
    how = How.of(False, True, memory_order, memory_scope)
    axes = axis_order(order, array.ndim)
    data = convert(tile, array.dtype)
    data = data if data.ndim else data.reshape((1,) * array.ndim)
    box = box_at(array, index, tuple(data.shape), tuple(data.shape), axes)
    require_inside(box, check_bounds, "stores")
    box.write(data.permute(inverse(axes)), how)
    array.launch.running.epoch += how.releases


def inverse(axes: tuple[int, ...]) -> list[int]:
    return sorted(range(len(axes)), key=axes.__getitem__)


def require_inside(box: Box, check_bounds: bool, verb: str) -> None:
    if not check_bounds and not box.whole:
        array = box.memory
        array.launch.notice("outside", array.name, f"{verb} {box} with check_bounds=False; it is not all in {array}")


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

    def box(self, index) -> Box:
        size = self.tile_shape or (1,) * self.array.ndim
        return box_at(self.array, index, size, self.traversal_steps, axis_order("C", self.array.ndim))

    def num_tiles(self, axis: int) -> Tile:
        size, step = self.array.data.shape[int(axis)], self.traversal_steps[int(axis)]
        return Tile(torch.tensor(-(-size // step), dtype=torch.int32), ct.int32)

    def load(self, index, *, check_bounds=True, latency=None, allow_tma=None) -> Tile:
        box = self.box(index)
        require_inside(box, check_bounds, "loads")
        return Tile(box.read(self.padding_mode).reshape(self.tile_shape), self.dtype)

    def store(self, index, tile: Value, *, check_bounds=True, latency=None, allow_tma=None) -> None:
        box = self.box(index)
        require_inside(box, check_bounds, "stores")
        box.write(convert(tile, self.dtype).broadcast_to(self.tile_shape).reshape(box.size))

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
