"""Wrong answers made of right ones: the right function's file with a named change, as a module of its own.

CuTe and cuTile read a kernel's source from its file, so the changed text is written to one. A change that does not
fit the source any more is an error, so a wrong answer cannot silently become a right one.
"""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import util
from types import ModuleType
from typing import Any

Change = Callable[[list[str]], list[str]]  # the lines of a function → as they are then


class DoesNotApply(LookupError):
    """The source has no such place, or several. The message shows which was looked for."""


def swap(old: str, new: str, times: int = 1) -> Change:
    """Put `new` where `old` stands, which must be `times` places; both may have several lines."""

    def change(lines: list[str]) -> list[str]:
        text = "\n".join(lines)
        if text.count(old) != times:
            raise DoesNotApply(f"{old!r} stands {text.count(old)} times, not {times}, in\n{text}")
        return text.replace(old, new).split("\n")

    return change


def without(*parts: str) -> Change:
    """Leave out the one line that has each part."""
    return lambda lines: [line for n, line in enumerate(lines) if n not in {place(lines, part) for part in parts}]


def place(lines: list[str], part: str) -> int:
    """The number of the one line that has the part."""
    found = [n for n, line in enumerate(lines) if part in line]
    if len(found) != 1:
        raise DoesNotApply(f"{part!r} stands in {len(found)} lines of\n" + "\n".join(lines))
    return found[0]


def copy_of(module: ModuleType) -> ModuleType:
    """The same text as a module of its own: what answers call of it does not belong to the checks."""
    spec = util.spec_from_file_location(f"copy_of_{module.__name__.rpartition('.')[2]}", module.__file__)
    copy = util.module_from_spec(spec)
    sys.modules[spec.name] = copy  # dataclasses look for it there
    spec.loader.exec_module(copy)
    return copy


def code_of(answer: Any) -> Any:
    """The code of a function, of what is under @cute.jit or of what is in a @ct.kernel, as it stands in its file."""
    plain = getattr(answer, "_pyfunc", getattr(answer, "__wrapped__", answer))
    return getattr(plain, "_original_code", plain.__code__)


@cache
def functions(text: str) -> dict[str, tuple[int, int]]:
    """Functions and classes of a file's top level: name → first line, decorators included, and that behind the last."""
    found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {
        node.name: (min(line.lineno for line in (node, *node.decorator_list)) - 1, node.end_lineno) for node in found
    }
