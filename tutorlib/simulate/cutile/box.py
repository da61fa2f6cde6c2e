"""Boxes: where a tile lies in memory, and what stands for the elements beyond it."""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import cuda.tile as ct
import torch
from torch import Tensor

from tutorlib.simulate.cutile.accesses import LOAD, STORE, How
from tutorlib.simulate.cutile.dtypes import CARRIER, Number, fit
from tutorlib.simulate.cutile.memory import Memory


@dataclass(frozen=True)
class Box:
    """A box of elements of memory, which may reach beyond it.

    start, size: by axis.
    inside: the elements of it that exist, part: their places in the box.
    """

    memory: Memory
    start: tuple[int, ...]
    size: tuple[int, ...]

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """From and to by axis, cut at the array's ends."""
        limits = zip(self.start, self.size, self.memory.data.shape, strict=True)
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

    def read(self, padding: ct.PaddingMode, how: How = LOAD) -> Tensor:
        """In the dtype's carrier, what is outside filled by the padding mode."""
        memory = self.memory
        if self.outside:
            memory.launch.notice("outside", memory.name, f"loads {self}, which lies outside {memory}")
        memory.launch.poll(memory.name, self, (memory.name, self.start, self.size), how.strong)
        memory.note_load(self.inside, self, how)
        data = fit(memory.data[self.inside], memory.dtype)
        memory.launch.count_load(memory.name, data.numel(), prod(self.size))
        if self.whole:
            return data.clone()
        what = None if self.outside else self  # which is a finding already
        padded = torch.full(self.size, padding_value(padding, memory, what), dtype=CARRIER[memory.dtype])
        padded[self.part] = data
        return padded

    def write(self, data: Tensor, how: How = STORE) -> None:
        """Store the part of the data that is inside. data: in the dtype's carrier, of the box's size."""
        memory = self.memory
        if self.outside:
            memory.launch.notice("outside", memory.name, f"stores {self}, which lies outside {memory}")
        new = data[self.part].to(memory.data.dtype)
        memory.note_store(self.inside, self, how, new)
        memory.data[self.inside] = new

    def __str__(self) -> str:
        starts = [start + o for start, o in zip(self.start, self.memory.origin, strict=True)]
        places = (f"{start}:{start + size}" for start, size in zip(starts, self.size, strict=True))
        return f"{self.memory.name}[{', '.join(places)}]"


def padding_value(mode: ct.PaddingMode, memory: Memory, what: object) -> Number:
    """What stands for the elements of a tile that lie outside of the array. what: the tile, if its use is a finding."""
    if mode == ct.PaddingMode.UNDETERMINED and what is None:
        return memory.launch.undetermined(memory.dtype)
    if mode == ct.PaddingMode.UNDETERMINED:
        says = f"loads {what}, which {memory} does not have all of: the rest is undetermined without a padding_mode"
        return memory.launch.padding_of(memory.name, memory.dtype, says)
    return {
        ct.PaddingMode.ZERO: 0,
        ct.PaddingMode.NEG_ZERO: -0.0,
        ct.PaddingMode.NAN: float("nan"),
        ct.PaddingMode.POS_INF: float("inf"),
        ct.PaddingMode.NEG_INF: float("-inf"),
    }[mode]
