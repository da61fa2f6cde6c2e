"""The members of a class decorated with @cute.struct."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StructMember:
    """offset: in bytes. size, elements, dtype: of a MemRange, size in bytes; None for other members."""

    offset: int
    size: int | None
    elements: int | None
    dtype: Any | None


def struct_members(struct: Any) -> dict[str, StructMember]:
    """By name; an Align is looked into."""
    return {name: member(struct._offsets[name], struct._annotations[name]) for name in struct._offsets}


def member(offset: int, annotation: Any) -> StructMember:
    from cutlass import cute

    inside = annotation.dtype if isinstance(annotation, cute.struct._AlignMeta) else annotation
    if isinstance(inside, cute.struct._MemRangeMeta):
        return StructMember(offset, inside.size_in_bytes, inside.size, inside._dtype)
    return StructMember(offset, None, None, None)
