"""Boxes: where a tile lies in an array, and what stands for the elements beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import cuda.tile as ct

from tutorlib.simulate.cutile.dtypes import Number

if TYPE_CHECKING:
    from tutorlib.simulate.cutile.array import Array


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
