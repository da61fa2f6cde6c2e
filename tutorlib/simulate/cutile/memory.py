"""Memory: the tensor behind an array, with its bounds and what blocks did to each element."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.accesses import LOAD, STORE, Access, How
from tutorlib.simulate.cutile.dtypes import fit
from tutorlib.simulate.cutile.launch import TileLaunch


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

    def elements(self, index: Sequence[Tensor], mask: Tensor | None = None) -> "Elements":
        """Those with these indices. index: integers for each axis, of one shape. mask: which of them are meant."""
        spread = tuple(torch.broadcast_tensors(*(axis.to(torch.int64) for axis in index))) if index else ()
        return Elements(self, spread, spread[0].shape if spread else torch.Size(), mask)

    def box(self, start: Sequence[int], size: Sequence[int]) -> "Elements":
        """A box of elements, which may reach beyond the array. start, size: by axis."""
        spread = (
            torch.arange(first, first + n).reshape([-1 if other == axis else 1 for other in range(self.ndim)])
            for axis, (first, n) in enumerate(zip(start, size, strict=True))
        )
        return Elements(self, tuple(spread), torch.Size(size), None, tuple(start))

    def differ(self, old: Tensor, new: Tensor) -> Tensor:
        """Which elements of two tensors of its dtype are not equal; NaN is equal to NaN."""
        return (fit(old, self.dtype) != fit(new, self.dtype)) & ~((old != old) & (new != new))

    def __str__(self) -> str:
        return f"{self.name} of shape {tuple(self.data.shape)}"


@dataclass(frozen=True)
class Elements:
    """The elements of memory that an instruction accesses; some of them may not exist.

    index: an int64 tensor for each axis; together they broadcast to `shape`. mask: which of them are meant; None: all.
    start: of a box.
    """

    memory: Memory
    index: tuple[Tensor, ...]
    shape: torch.Size
    mask: Tensor | None
    start: tuple[int, ...] | None = None

    @cached_property
    def exist(self) -> Tensor:
        """Whether each lies in the array."""
        exist = torch.ones(self.shape, dtype=torch.bool)
        for axis, size in zip(self.index, self.memory.data.shape, strict=True):
            exist &= (axis >= 0) & (axis < size)
        return exist

    @cached_property
    def wanted(self) -> Tensor:
        return self.exist if self.mask is None else self.exist & self.mask

    @cached_property
    def whole(self) -> bool:
        return bool(self.wanted.all())

    @cached_property
    def none(self) -> bool:
        return not bool(self.wanted.any())

    @property
    def beyond(self) -> bool:
        """Whether one that is meant lies outside of the array."""
        return bool((~self.exist if self.mask is None else ~self.exist & self.mask).any())

    @cached_property
    def where(self) -> tuple[Tensor, ...]:
        """The wanted ones' indices by axis: one for each where some are not wanted, else as `index` has them."""
        return self.index if self.whole else tuple(axis.expand(self.shape)[self.wanted] for axis in self.index)

    @property
    def first(self) -> tuple[int, ...]:
        """The indices of the first wanted one in the parameter."""
        axes = zip(self.where, self.memory.origin, strict=True)
        return tuple(int(axis.reshape(-1)[0]) + o for axis, o in axes)

    def load(self, padding: Tensor, how: How = LOAD) -> Tensor:
        """The elements in their dtype's carrier, with `padding` in the place of those that are not wanted."""
        memory = self.memory
        memory.launch.count_load(memory.name, int(self.wanted.sum()), self.wanted.numel())
        if self.none:
            return padding.expand(self.shape).clone()
        self.poll(how)
        self.note(how, None)
        data = fit(memory.data[self.where], memory.dtype)
        return data if self.whole else padding.expand(self.shape).masked_scatter(self.wanted, data)

    def store(self, data: Tensor, how: How = STORE) -> None:
        """data: in the dtype's carrier; it broadcasts to the elements' shape."""
        if not self.none:
            spread = data.broadcast_to(self.shape)
            self.put(self.where, (spread if self.whole else spread[self.wanted]).to(self.memory.data.dtype), how)

    def put(self, where: tuple[Tensor, ...], new: Tensor, how: How) -> None:
        """Write elements at once. Storing what is there already is no fault, so values are compared."""
        memory = self.memory
        changed = memory.differ(memory.data[where], new)
        memory.launch.keep(memory.name)
        memory.launch.changes += bool(changed.any())
        self.note(how, changed, where)
        bits(memory.data)[where] = bits(new)

    def poll(self, how: How) -> None:
        name = self.memory.name
        self.memory.launch.poll(name, self, (name, *self.first, self.wanted.numel()), how.strong)

    def note(self, how: How, changed: Tensor | None, where: tuple[Tensor, ...] = ()) -> None:
        """The running block accesses them, or those at `where`. changed: those that a write gives another value."""
        memory, launch, where = self.memory, self.memory.launch, where or self.where
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
            return f"{self.memory.name}[{', '.join(map(str, self.first))}]{' and others' * (self.wanted.sum() > 1)}"
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


def never_stored(name: str, writers: Any) -> str:
    """A sentence about the elements that no block stored (-1); "" where all were, or none."""
    missing = torch.as_tensor(writers) < 0
    if not missing.any() or missing.all():
        return ""
    where = missing.nonzero()
    spans = (f"{int(low)}:{int(high) + 1}" for low, high in zip(where.amin(0), where.amax(0), strict=True))
    return (
        f"{len(where):,} of the {missing.numel():,} elements of {name} are never stored: "
        f"they lie in {name}[{', '.join(spans)}]"
    )
