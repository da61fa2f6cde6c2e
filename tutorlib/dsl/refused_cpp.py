"""Advice for nvcc's refusals of Tile C++: one sentence for each kind that readers meet."""

import re
from collections.abc import Sequence

from tutorlib.dsl.refusals import advised

# The name in other tile languages, C and CUDA → the name here.
NAMES = {
    **{name: f"ct::{name}" for name in ("bid", "irange", "mma", "transpose", "element_cast", "zeros", "shape", "tile")},
    **{name: f"ct::{name}" for name in ("extents", "partition_view", "tensor_span", "assume_aligned", "select", "exp")},
    **dict.fromkeys(("range", "arange"), "ct::irange"),
    **dict.fromkeys(("where", "ct::where"), "ct::select"),
    **dict.fromkeys(("dot", "matmul", "ct::dot", "ct::matmul"), "ct::mma"),
    **dict.fromkeys(("astype", "ct::astype", "ct::cast"), "ct::element_cast"),
    **dict.fromkeys(("bfloat16", "bfloat16_t", "nv_bfloat16", "ct::bfloat16"), "bf16"),
}
TILE = r"ct::tile<([\w ]+), ct::extents<([\d, ?]*)>>"


def undeclared(found: re.Match[str]) -> str:
    name = found[1]
    if name in NAMES:
        return f"`{name}` is `{NAMES[name]}` here."
    return f"`{name}` is not declared: is it misspelled, or without its type, as in `int {name} = …`?"


def no_member(found: re.Match[str]) -> str:
    name = f"ct::{found[1]}"
    return f"`{name}` is `{NAMES[name]}` here." if name in NAMES else f"There is no `{name}`: is it misspelled?"


def sizes(text: str) -> list[str]:
    """ "128, 64" → ["128", "64"]"""
    return [size.strip() for size in text.split(",") if size.strip()]


def in_brackets(shape: Sequence[str]) -> str:
    return f"({', '.join(shape)})"


def arguments_of(arguments: str) -> list[str]:
    """The types of a call's arguments, cut at commas outside of angle brackets."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def cuts_badly(found: re.Match[str]) -> str:
    """About partition_view{span, shape}."""
    array, tile = sizes(found[1]), sizes(found[2])
    if len(array) != len(tile):
        return f"A tile has as many modes as its array: {len(array)}, and this shape has {len(tile)}."
    if "?" in tile:
        return "A tile's sides are known while compiling: `ct::shape{128_ic}`, where 128 is a number of the run."
    if odd := next((side for side in tile if int(side) & int(side) - 1), None):
        return f"Every side of a tile is a power of two, and {odd} is none: take the next, and mask the edge tiles."
    return ""


def moves_badly(found: re.Match[str]) -> str:
    """About a view's load and store, masked or not: their arguments against the view's own type."""
    name, const, dtype, array, tile, given = found.groups()
    arguments, modes = arguments_of(given or ""), sizes(array)
    if name.startswith("store"):
        if const:
            return "This array is const: the kernel may not write to it."
        held = re.fullmatch(TILE, arguments.pop(0)) if arguments else None
        if held is None:
            return f"The tile comes first, then its place: `{name}(tile, i)`."
        if sizes(held[2]) != sizes(tile):
            return f"The view has tiles of {in_brackets(sizes(tile))}, and this one is {in_brackets(sizes(held[2]))}."
        if held[1] != dtype:
            return f"The array holds {dtype}, and the tile {held[1]}: ct::element_cast<{dtype}>(tile) rounds it."
    if len(arguments) != len(modes):
        return f"A tile is found by one index for each mode of its array: {len(modes)}, and here are {len(arguments)}."
    return ""


def multiplies_badly(found: re.Match[str]) -> str:
    arguments = arguments_of(found[1] or "")
    if len(arguments) < 3:
        return "ct::mma takes three tiles and adds to the third: `acc = ct::mma(a, b, acc);`."
    tiles = [re.fullmatch(TILE, argument) for argument in arguments]
    if tiles[2] is None:
        return "The accumulator is a tile, too: `ct::zeros<ct::tile<float, ct::shape<128, 128>>>()`."
    if None in tiles:
        return "ct::mma multiplies tiles: load them first, `A.load_masked(i, step)`."
    a, b, sums = (sizes(tile[2]) for tile in tiles if tile)
    if a[-1:] != b[:1]:
        return (
            f"{in_brackets(a)} · {in_brackets(b)}: the first tile's last side and the second one's first must agree; "
            "ct::transpose turns a tile."
        )
    if sums != [a[0], b[-1]]:
        return f"The product has the shape {in_brackets([a[0], b[-1]])}, and the sums are {in_brackets(sums)}."
    if tiles[2][1] != "float":
        return f"The accumulator is float, and this one is {tiles[2][1]}: round them once, when they are stored."
    return (
        f"Both factors have one type, and these are {tiles[0][1]} and {tiles[1][1]}." if tiles[0] and tiles[1] else ""
    )


def operates_badly(found: re.Match[str]) -> str:
    sign, given = found.groups()
    if "partition_view" in given:
        return "A view does not compute; a tile that is loaded from it does: `A.load_masked(i)`."
    shapes = [sizes(shape) for _, shape in re.findall(TILE, given)]
    if sign in ("*", "*="):
        return f"`{sign}` goes element by element; a product of matrices is `acc = ct::mma(a, b, acc);`."
    if len(shapes) == 2 and shapes[0] != shapes[1]:
        return f"{in_brackets(shapes[0])} and {in_brackets(shapes[1])}: both sides of `{sign}` have one shape."
    return f"Both sides of `{sign}` have one type and one shape: ct::element_cast<float>(tile) changes the type."


CPP = advised("cpp", undeclared, no_member, cuts_badly, moves_badly, multiplies_badly, operates_badly)
