"""A model of compiling: which calls compile again."""

from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple

Marked = Literal["static", "layout"] | int  # an integer: the mode that mark_compact_shape_dynamic was given


class DirectCall(NamedTuple):
    """A direct call f(tensor, factor) of a @cute.jit function, as CuTe sees it.

    align: assumed_align. marked: "static"; "layout" by mark_layout_dynamic; m by mark_compact_shape_dynamic(mode=m).
    factor: a Constexpr. The tensor is compact, and no mode has the size 1.
    """

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    align: int
    marked: Marked
    factor: Any


def compiled_for(call: DirectCall) -> Hashable:
    """A call's properties that the code compiled for it depends on."""
    dtype, shape, stride, align, marked, factor = call
    layout: Hashable = shape, stride
    if marked == "layout":
        layout = len(shape), stride.index(1)
    elif marked != "static":
        fixed = tuple(size for mode, size in enumerate(shape) if mode != marked)
        order = tuple(sorted(range(len(shape)), key=stride.__getitem__))
        layout = fixed, order
    return dtype, align, marked, layout, type(factor), factor


def compilations_of(calls: Sequence[DirectCall]) -> int:
    """How many compilations these calls need, one after the other."""
    return len({compiled_for(DirectCall(*call)) for call in calls})


def struct_layout(members: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], int]:
    """Each member's offset and the size of a struct, in bytes. members: (bytes, alignment) of each, in order.

    A member begins at the next multiple of its alignment; the size is a multiple of the strictest, so that an array of
    such structs is aligned, too.
    """
    offsets, end = [], 0
    for size, align in members:
        start = -(-end // align) * align
        offsets.append(start)
        end = start + size
    strictest = max(align for _, align in members)
    return tuple(offsets), -(-end // strictest) * strictest
