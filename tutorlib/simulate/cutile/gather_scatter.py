"""Loads and stores of single elements: gather, scatter and advanced indexing."""

from dataclasses import dataclass, replace

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.accesses import LOAD, STORE
from tutorlib.simulate.cutile.box import padding_value
from tutorlib.simulate.cutile.dtypes import CARRIER, fit
from tutorlib.simulate.cutile.memory import Memory
from tutorlib.simulate.cutile.tile import Tile, Value, convert, tile_of


@dataclass(frozen=True)
class Places:
    """Single elements of an array.

    index: one int64 tensor for each axis, all of one shape, moved inside where an element is not wanted.
    wanted: which of them exist and are not masked out.
    """

    array: Memory
    index: tuple[Tensor, ...]
    wanted: Tensor

    def chosen(self) -> tuple[Tensor, ...]:
        return tuple(axis[self.wanted] for axis in self.index)

    @property
    def first(self) -> list[int]:
        """The indices of the first of them in the parameter."""
        return [int(axis[0]) + o for axis, o in zip(self.chosen(), self.array.origin, strict=True)]

    def __str__(self) -> str:
        others = " and others" if self.wanted.sum() > 1 else ""
        return f"{self.array.name}[{', '.join(map(str, self.first))}]{others}"


def places(array: Memory, indices, mask: Value | None, check_bounds: bool) -> Places:
    parts = indices if isinstance(indices, tuple) else (indices,)
    if not array.ndim:  # torch indexes the one element of a 0-d tensor as that of a vector
        array, parts = replace(array, data=array.data.view(1), history=array.history.view(1), origin=(0,)), (0,)
    index = torch.broadcast_tensors(*(tile_of(part).data.to(torch.int64) for part in parts))
    exists = torch.ones(index[0].shape, dtype=torch.bool)
    for axis, size in zip(index, array.data.shape, strict=True):
        exists &= (axis >= 0) & (axis < size)
    wanted = exists if mask is None else exists & convert(mask, ct.bool_)
    beyond = ~exists if mask is None else ~exists & convert(mask, ct.bool_)
    if not check_bounds and beyond.any():
        array.launch.notice("outside", array.name, f"indexes beyond {array} with check_bounds=False")
    return Places(array, tuple(torch.where(exists, axis, 0) for axis in index), wanted)


def gather(array: Memory, indices, /, *, mask=None, padding_value=0, check_bounds=True, latency=None) -> Tile:
    return Tile(take(places(array, indices, mask, check_bounds), convert(padding_value, array.dtype)), array.dtype)


def take(at: Places, padding: Tensor) -> Tensor:
    array = at.array
    array.launch.scattered.add(array.name)
    array.launch.count_load(array.name, int(at.wanted.sum()), at.wanted.numel())
    if not at.wanted.any():
        return padding.expand(at.wanted.shape).clone()
    array.launch.poll(array.name, at, (array.name, *at.first), LOAD.strong)
    array.note_load(at.chosen(), at, LOAD)
    return torch.where(at.wanted, fit(array.data[at.index], array.dtype), padding)


def scatter(array: Memory, indices, value: Value, /, *, mask=None, check_bounds=True, latency=None) -> None:
    put(places(array, indices, mask, check_bounds), convert(value, array.dtype))


def put(at: Places, value: Tensor) -> None:
    at.array.launch.scattered.add(at.array.name)
    if not at.wanted.any():
        return
    array, where = at.array, at.chosen()
    new = value.broadcast_to(at.wanted.shape)[at.wanted].to(array.data.dtype)
    array.note_store(where, at, STORE, new)
    bits(array.data)[where] = bits(new)


def bits(data: Tensor) -> Tensor:
    """fp8 as bytes, because torch cannot write to single elements of each of its fp8 dtypes."""
    return data.view(torch.uint8) if data.is_floating_point() and data.itemsize == 1 else data


@dataclass(frozen=True)
class Slice:
    """ct.Slice: `length` elements from `start` on."""

    start: Value
    length: int


def advanced_places(array: Memory, indices: tuple) -> Places:
    """One index tile and slices: every combination of their elements."""
    spread = []
    for axis, part in enumerate(indices):
        along = int(part.start) + torch.arange(int(part.length)) if isinstance(part, Slice) else part.data
        spread.append(Tile(along.reshape([-1 if n == axis else 1 for n in range(array.ndim)]), ct.int64))
    return places(array, tuple(spread), None, True)


def load_advanced_indexing(
    array: Memory, indices, /, *, padding_mode=ct.PaddingMode.UNDETERMINED, latency=None, allow_tma=None
) -> Tile:
    at = advanced_places(array, indices)
    padding = 0 if at.wanted.all() else padding_value(padding_mode, array, at)
    return Tile(take(at, torch.tensor(padding, dtype=CARRIER[array.dtype])), array.dtype)


def store_advanced_indexing(array: Memory, indices, tile: Value, /, *, latency=None, allow_tma=None) -> None:
    put(advanced_places(array, indices), convert(tile, array.dtype))
