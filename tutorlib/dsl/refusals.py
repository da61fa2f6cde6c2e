"""Advice for a compiler's refusals: a sentence for each kind that readers meet, from refusals.toml."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from tutorlib.dsl.failure import FailureKind, Flaw

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
