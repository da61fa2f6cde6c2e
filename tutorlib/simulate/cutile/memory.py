"""Memory: the tensor behind an array, with its bounds and what blocks did to each element."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.dtypes import fit
from tutorlib.simulate.cutile.launch import LOAD, STORE, Access, How, TileLaunch


@dataclass(frozen=True)
class Memory:
    """The target of loads and stores: a view of a tensor.

    data: the tensor in its storage dtype, written in place.
    history: by element, the number of what was done to it (`accesses.Histories`); the shape of data.
    origin: where a slice starts in its parameter, for messages.
    """

    name: str
    dtype: ct.DType
    data: Tensor
    history: Tensor
    launch: TileLaunch
    origin: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return self.data.ndim

    def box(self, start: Sequence[int], size: Sequence[int]) -> "Elements":
        """A box of elements, which may reach beyond the array. start, size: by axis."""
        limits = zip(start, size, self.data.shape, strict=True)
        bounds = [(min(max(first, 0), n), min(max(first + many, 0), n)) for first, many, n in limits]
        part = (slice(low - first, high - first) for (low, high), first in zip(bounds, start, strict=True))
        count = prod(high - low for low, high in bounds)
        return Elements(
            self, tuple(size), tuple(slice(*pair) for pair in bounds), tuple(part), count, start=tuple(start)
        )

    def elements(self, index: Sequence[Tensor], mask: Tensor | None = None) -> "Elements":
        """Those with these indices. index: integers for each axis, of one shape. mask: which of them are meant."""
        axes = tuple(torch.broadcast_tensors(*(axis.to(torch.int64) for axis in index))) if index else ()
        exist = torch.ones(axes[0].shape if axes else (), dtype=torch.bool)
        for axis, size in zip(axes, self.data.shape, strict=True):
            exist &= (axis >= 0) & (axis < size)
        wanted, meant = (exist, ~exist) if mask is None else (exist & mask, ~exist & mask)
        where = tuple(axis[wanted] for axis in axes)
        return Elements(self, tuple(exist.shape), where, wanted, int(wanted.sum()), bool(meant.any()))

    def differ(self, old: Tensor, new: Tensor) -> Tensor:
        """Which elements of two tensors of its dtype are not equal; NaN is equal to NaN."""
        return (fit(old, self.dtype) != fit(new, self.dtype)) & ~((old != old) & (new != new))

    def __str__(self) -> str:
        return f"{self.name} of shape {tuple(self.data.shape)}"


@dataclass(frozen=True)
class Elements:
    """The elements of memory that an instruction accesses, of a tile of this shape; some of them may not exist.

    where: those that exist, in the memory; part: the same in the tile, as torch takes both in brackets. count: how
    many. beyond: whether single elements are meant that do not exist. start: of a box.
    """

    memory: Memory
    shape: tuple[int, ...]
    where: Any
    part: Any
    count: int
    beyond: bool = False
    start: tuple[int, ...] | None = None

    @property
    def whole(self) -> bool:
        return self.count == prod(self.shape)

    @property
    def first(self) -> tuple[int, ...]:
        """The indices of the first of them in the parameter."""
        axes = (axis.start if isinstance(axis, slice) else int(axis[0]) for axis in self.where)
        return tuple(at + o for at, o in zip(axes, self.memory.origin, strict=True))

    def load(self, padding: Tensor, how: How = LOAD) -> Tensor:
        """The tile in its dtype's carrier, with `padding` in the place of what does not exist."""
        memory = self.memory
        memory.launch.count_load(memory.name, self.count, prod(self.shape))
        result = padding.expand(self.shape).clone()
        if self.count:
            self.poll(how)
            self.note(self.where, how, None)
            result[self.part] = fit(memory.data[self.where], memory.dtype)
        return result

    def store(self, data: Tensor, how: How = STORE) -> None:
        """data: in the dtype's carrier; it broadcasts to the tile."""
        if self.count:
            new = data.broadcast_to(self.shape)[self.part].to(self.memory.data.dtype)
            self.put(self.where, new, how)

    def put(self, where: Any, new: Tensor, how: How) -> None:
        """Write some of them at once. Storing what is there already is no fault, so values are compared."""
        memory = self.memory
        changed = memory.differ(memory.data[where], new)
        memory.launch.keep(memory.name)
        memory.launch.changes += bool(changed.any())
        self.note(where, how, changed)
        bits(memory.data)[where] = bits(new)

    def poll(self, how: How) -> None:
        name = self.memory.name
        self.memory.launch.poll(name, self, (name, *self.first, self.count), how.strong)

    def note(self, where: Any, how: How, changed: Tensor | None) -> None:
        """The running block accesses them, or some. changed: those that a write gives another value."""
        memory, launch = self.memory, self.memory.launch
        histories, me, before = launch.histories, launch.running, memory.history[where]
        numbers, which = distinct(before)
        for number in numbers:
            self.notice_repeat(histories.writer(number), how)
            other = histories.conflict(number, me, how)
            if other and (changed is None or changed[before == number].any()):
                self.notice_conflict(other, how)
        if how.acquires:
            me.known = histories.acquired(numbers, me.known)
        after = torch.tensor([histories.continued(number, me, how) for number in numbers], dtype=torch.int32)
        memory.history[where] = after[0] if which is None else after[which]

    def notice_repeat(self, writer: int, how: How) -> None:
        if writer >= 0 and how.writes and not how.strong:
            launch = self.memory.launch
            who = "it" if writer == launch.running.number else f"block {launch.show(writer)}"
            launch.notice("repeat", self.memory.name, f"stores {self}, where {who} has stored before")

    def notice_conflict(self, other: Access, how: How) -> None:
        launch, name = self.memory.launch, self.memory.name
        by = launch.show(other.block)
        if how.verb == other.how.verb == "stores":
            launch.notice("overlap", name, f"stores {self}, where block {by} stored other values: either may win")
        else:
            does = f"{how.verb} {self}, which block {by} {other.how.verb} in the same launch"
            launch.notice("race", name, f"{does}: before or after?")

    def __str__(self) -> str:
        if self.start is None:
            return f"{self.memory.name}[{', '.join(map(str, self.first))}]{' and others' * (self.count > 1)}"
        firsts = [start + o for start, o in zip(self.start, self.memory.origin, strict=True)]
        places = (f"{first}:{first + size}" for first, size in zip(firsts, self.shape, strict=True))
        return f"{self.memory.name}[{', '.join(places)}]"


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
