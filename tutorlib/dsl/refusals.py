"""What the compilers' errors say, and about which lines; and advice for their refusals: a sentence for each kind that
readers meet, from refusals.toml.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from tutorlib.dsl.failure import FailureKind, Flaw


def cute_message(error: Exception) -> str:
    """The cause of an error of the CuTe DSL in one line, without its colors and boxes."""
    from cutlass.base_dsl.common import DSLBaseError

    if not isinstance(error, DSLBaseError):
        return f"{type(error).__name__}: {error}"
    cause = str(error.cause or "")
    if "Verification failed" in cause:  # "… error: "source"("file":line:col): 'cute.memref.store' op expects …"
        return re.sub(r".*?error: (unknown|\".*?\"\(.*?\)): ", "", cause.split("\n note:")[0], flags=re.DOTALL)
    return error.message


def places_of(error: BaseException) -> list[tuple[Any, Any]]:
    """File and line of each place that an error names, the likeliest first; None where it leaves one out."""
    places = [(getattr(error, "filename", None), getattr(error, "line", None))]
    if (loc := getattr(error, "loc", None)) is not None:  # cuTile
        places.append((loc.filename, loc.line))
    places += reversed(re.findall(r'"([^"]+\.py)":(\d+):\d+', str(getattr(error, "cause", ""))))
    return places


NAMESPACES = ("cutlass.cute", "cutlass.cute.arch", "cutlass.cute.math", "cutlass", "cuda.tile")
SHORT = {"cutlass.cute": "cute", "cutlass.cute.arch": "cute.arch", "cutlass.cute.math": "cute.math", "cuda.tile": "ct"}


class RefusalKind(FailureKind):
    """A kind of code that a compiler refuses."""

    TILE_MODES = "modes of a tile"
    RANKS = "ranks of a copy"
    WIDTHS = "element types of a copy"
    RETILE = "modes of retile"
    LEADING = "leading dimension"
    ARGUMENT = "missing argument"
    SIZES = "mismatched sizes"
    MAJOR = "ldmatrix across rows"
    INLINED = "inlined PTX"
    CTA_GROUP = "cta_group of a block and of a pair"


Advice = Callable[[re.Match[str]], str]


@dataclass(frozen=True)
class Refusal:
    """words: a regular expression that the compiler's one line matches. advice: what to do, made of its groups.

    kind: for hints that name it.
    """

    words: str
    advice: str | Advice
    kind: RefusalKind | None = None

    def about(self, message: str) -> str:
        """Advice, or "" if this is another refusal."""
        if not (found := re.search(self.words, message)):
            return ""
        advice = found.expand(self.advice) if isinstance(self.advice, str) else self.advice(found)
        return Flaw(advice, self.kind) if self.kind else advice


def nearest_name(found: re.Match[str]) -> str:
    """Advice for a name that a module lacks: another module has it, or a similar name exists."""
    module, name = found.groups()
    places = [place for place in NAMESPACES if hasattr(import_module(place), name)]
    if places and module not in places:
        return f"It is `{SHORT.get(places[0], places[0])}.{name}`."
    names = [known for known in dir(import_module(module)) if not known.startswith("_")]
    shown = SHORT.get(module, module)
    plain = {known.replace("_", ""): known for known in names}
    near = plain.get(name.replace("_", "")) or next(iter(get_close_matches(name, names, 1)), "")
    return f"`{shown}` has no `{name}`." + (f" Did you mean `{shown}.{near}`?" if near else "")


def nearest_keyword(found: re.Match[str]) -> str:
    """Which keyword a function has in place of one that it does not have."""
    function, given = found.groups()
    if function == "__init__" and "LaunchConfig" in found.string:
        return f"launch takes grid=(x, y, z) and block=(x, y, z), and has no `{given}`."
    places = [place for place in map(import_module, NAMESPACES) if callable(getattr(place, function, None))]
    known = [name for place in places for name in signature(getattr(place, function)).parameters]
    near = next(iter(get_close_matches(given, known, 1)), "")
    return f"{function}() has no keyword `{given}`." + (f" Did you mean `{near}=`?" if near else "")


def keep_its_type(found: re.Match[str]) -> str:
    name, before, after = found.groups()
    if "list" in before:
        return (
            f"`{name}` is a Python list, which a run-time loop cannot extend. Unroll the loop with "
            "cutlass.range_constexpr, or keep the values in cute.make_rmem_tensor."
        )
    begin = f"`{name}` is {before} before and {after} after. Begin with the type that it keeps: `cutlass.{after}(…)`"
    return begin + (", or is `//` meant where `/` stands?" if (before, after) == ("Int32", "Float32") else ".")


def in_bytes(found: re.Match[str]) -> str:
    known, needed = (int(bits) // 8 for bits in found.groups())
    return (
        f"An access of {needed} bytes needs an address that is a multiple of {needed}, and here the compiler can be "
        f"sure of {known}. Do a thread's values fill one access, and is it at most 16 bytes? Memory of your own takes "
        "byte_alignment=."
    )


@cache
def advice_tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))


def advised(table: str, *functions: Advice) -> tuple[Refusal, ...]:
    """A table of refusals.toml. functions: that make an advice, which the table has by their names."""
    makes = {f"{function.__name__}()": function for function in functions}
    rows = advice_tables()[table]
    return tuple(Refusal(words, makes.get(advice, advice), *map(RefusalKind, kinds)) for words, advice, *kinds in rows)


CUTE = advised("cute", keep_its_type, in_bytes, nearest_keyword, nearest_name)
INLINED = advised("inlined")
CUTILE = advised("cutile", nearest_keyword, nearest_name)


def what_to_do(message: str, known: tuple[Refusal, ...] = (*CUTE, *advised("clear"), *INLINED, *CUTILE)) -> str:
    """About a compiler's one line: what to do, in a sentence or two; "" where it is none that is known."""
    return next((advice for refusal in known if (advice := refusal.about(message))), "")


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
