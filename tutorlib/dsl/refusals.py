"""Cause and place of the compilers' errors, and the advice of refusals.toml for those that do not say what to do."""

import re
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tutorlib.dsl.failure import Fault, Flaw


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


def advice_about(message: str, words: str, advice: str, kind: str = "") -> str:
    """The advice of a row of refusals.toml for this message, or the message; "" if it is another refusal.

    words: a regular expression that the compiler's one line matches. advice: what to do, made of the groups of the
    match; "" where the line says it itself. kind: of failure, for hints that name it, or "".
    """
    if not (found := re.search(words, message)):
        return ""
    advice = nearest_name(*found.groups()) if advice == "nearest_name()" else found.expand(advice)
    return Flaw(advice or message, Fault(kind)) if kind else advice


def nearest_name(module: str, name: str) -> str:
    """Advice for a name that a module lacks: another module has it, or a similar name exists."""
    places = [place for place in NAMESPACES if hasattr(import_module(place), name)]
    if places and module not in places:
        return f"It is `{SHORT.get(places[0], places[0])}.{name}`."
    names = [known for known in dir(import_module(module)) if not known.startswith("_")]
    shown = SHORT.get(module, module)
    plain = {known.replace("_", ""): known for known in names}
    near = plain.get(name.replace("_", "")) or next(iter(get_close_matches(name, names, 1)), "")
    return f"`{shown}` has no `{name}`." + (f" Did you mean `{shown}.{near}`?" if near else "")


@cache
def advice_tables() -> dict[str, list[list[str]]]:
    """The tables of refusals.toml, by name."""
    return tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))


def what_to_do(message: str, tables: Sequence[str] = ("cute", "clear", "inlined", "cutile")) -> str:
    """Advice about a compiler's one line, in a sentence or two; "" for a refusal that is not known."""
    rows = (row for table in tables for row in advice_tables()[table])
    return next(filter(None, (advice_about(message, *row) for row in rows)), "")
