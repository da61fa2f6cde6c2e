"""Layouts as the course writes them: "(4,3):(3,1)"."""

import ast
import re
from typing import Any, TypeAlias

from tensor_layouts import ComposedLayout, Layout, Swizzle, congruent

LONGEST = 200  # characters; it bounds the parser's recursion

Tree = int | tuple["Tree", ...]
Tiler: TypeAlias = Layout | tuple["Tiler | int", ...]


class NotationError(ValueError):
    """Text that is not a layout. The message is one line for the reader."""


def layout(source: Any) -> Layout | ComposedLayout:
    """The layout that a text or an object means.

    source: "(4,3):(3,1)", or a shape alone, "(4,3)" or (4, 3), whose strides are then CuTe's default, the compact
    column-major ones; or anything with a shape and a stride, such as a torch tensor. Layouts come back as they are.
    Raises NotationError.
    """
    if isinstance(source, Layout | ComposedLayout):
        return source
    if isinstance(source, str):
        shape, colon, stride = source.partition(":")
        return layout_of(tree(shape, "shape", source), tree(stride, "stride", source) if colon else None)
    if isinstance(source, int | tuple):
        return layout_of(source, None)
    if hasattr(source, "shape") and hasattr(source, "stride"):
        stride = source.stride() if callable(source.stride) else source.stride
        return layout_of(as_tree(source.shape), as_tree(stride))
    raise NotationError(f"{source!r} is not a layout; write one like (4,3):(3,1).")


def tiler(source: Any) -> Tiler:
    """A tiler of a layout: "(4,2)" or a tuple cuts mode by mode; "4:2" or 4 is a layout that picks flat indices.

    Raises NotationError.
    """
    if isinstance(source, tuple):
        return tuple(part if isinstance(part, int) else tiler(part) for part in source)
    if isinstance(source, str) and ":" not in source:
        cuts = tree(source, "tiler", source)
        whole = layout_of(cuts, None)  # complains about (4,-2)
        return cuts if isinstance(cuts, tuple) else whole
    return layout(source)


def calls(*written: str) -> list[tuple[Any, ...]]:
    """The arguments of calls, one call a text: "(4,8):(8,1) 6:1", "4:1 24" or "(8,8):(8,1) (None,4)".

    Raises NotationError.
    """
    return [tuple(layout(part) if ":" in part else ast.literal_eval(part) for part in call.split()) for call in written]


def text(thing: Any) -> str:
    """A layout, shape, coordinate or tiler as the course writes it, without blanks."""
    match thing:
        case Layout():
            return f"{text(thing.shape)}:{text(thing.stride)}"
        case Swizzle():
            return f"S<{thing.bits},{thing.base},{thing.shift}>"
        case ComposedLayout():
            return f"{text(thing.outer)}∘{text(thing.inner)}"
        case tuple():
            return f"({','.join(text(part) for part in thing)}{',' if len(thing) == 1 else ''})"
    return str(thing)


def tree(written: str, what: str, whole: str) -> Tree:
    """Integers in nested parentheses: "((2,4),8)" → ((2, 4), 8). `what` and `whole` are for the error's text."""
    if len(whole) > LONGEST:
        raise NotationError(f"That is {len(whole)} characters long; a layout here has at most {LONGEST}.")
    if not written.strip():
        raise NotationError(f"The {what} is missing in {whole!r}; write a layout like (4,3):(3,1).")
    if odd := re.search(r"[^\d(),\s-]", written):
        raise NotationError(f"{odd[0]!r} in {whole!r} is none of digits, commas, parentheses and one colon.")
    if missing := written.count("(") - written.count(")"):
        raise NotationError(f"The {what} {written.strip()} lacks a {')' if missing > 0 else '('}.")
    try:
        value = ast.literal_eval(written.strip())
    except (SyntaxError, ValueError, TypeError):
        raise NotationError(f"The {what} {written.strip()} is not written like (4,3) or ((2,2),3).") from None
    return value


def layout_of(shape: Tree, stride: Tree | None) -> Layout:
    """The layout, or a NotationError that says why there is none."""
    for extent in leaves(shape):
        if not isinstance(extent, int) or extent < 1:
            raise NotationError(f"The shape {text(shape)} holds {extent}; every extent is a whole number from 1 on.")
    if stride is None:
        return Layout(shape)
    for step in leaves(stride):
        if not isinstance(step, int):
            raise NotationError(f"The stride {text(stride)} holds {step}; every stride is a whole number.")
    if not congruent(shape, stride):
        raise NotationError(f"Shape {text(shape)} and stride {text(stride)} are not nested alike: one stride for each.")
    return Layout(shape, stride)


def leaves(nested: Tree) -> list[int]:
    if not isinstance(nested, tuple):
        return [nested]
    if not nested:
        raise NotationError("() holds no number; write a layout like (4,3):(3,1).")
    return [leaf for part in nested for leaf in leaves(part)]


def as_tree(nested: Any) -> Tree:
    """Tuples and ints for what only behaves like them (torch.Size, lists)."""
    return tuple(as_tree(part) for part in nested) if isinstance(nested, tuple | list) else nested
