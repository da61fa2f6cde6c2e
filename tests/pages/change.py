"""Wrong answers made of right ones: the right function's file with a named change, as a module of its own.

CuTe and cuTile read a kernel's source from its file, so the changed text is written to one. A change that does not
fit the source any more is an error, so a wrong answer cannot silently become a right one.
"""

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

from tutorlib.compiling.dsls import executed

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


def without_last(part: str) -> Change:
    """Leave out the last of the lines that have the part."""
    return lambda lines: [line for n, line in enumerate(lines) if n != places(lines, part)[-1]]


def without_first(part: str) -> Change:
    return lambda lines: [line for n, line in enumerate(lines) if n != places(lines, part)[0]]


def move_last(part: str, after: str) -> Change:
    """Take the last of the lines that have the part, and put it behind the last that has `after`."""

    def change(lines: list[str]) -> list[str]:
        at = places(lines, part)[-1]
        rest = lines[:at] + lines[at + 1 :]
        behind = places(rest, after)[-1] + 1
        return [*rest[:behind], lines[at], *rest[behind:]]

    return change


def places(lines: list[str], part: str) -> list[int]:
    """The numbers of the lines that have the part, of which there is one at least."""
    if found := [n for n, line in enumerate(lines) if part in line]:
        return found
    raise DoesNotApply(f"{part!r} is nowhere in\n" + "\n".join(lines))


def place(lines: list[str], part: str) -> int:
    first, *others = places(lines, part)
    if others:
        raise DoesNotApply(f"{part!r} stands in {len(others) + 1} lines of\n" + "\n".join(lines))
    return first


def derive(right: Any, name: str, what: str, *changes: Change, within: str = "", words: Sequence[str] = ()) -> Any:
    """The right answer with these changes, under a name of its own; what: is wrong with it.

    within: the function of the same file that is changed, where that is not the answer itself.
    words: which the message about it must have.
    Raises DoesNotApply.
    """
    code = code_of(right)
    edits = {within or code.co_name: [*changes]}
    edits.setdefault(code.co_name, []).append(swap(f"def {code.co_name}(", f"def {name}("))
    text = edited(Path(code.co_filename).read_text(encoding="utf-8"), edits)
    wrong = getattr(executed(text, name), name)
    wrong.__name__, wrong.__doc__, wrong.says = name, what, tuple(words)
    return wrong


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


def edited(text: str, edits: Mapping[str, Sequence[Change]]) -> str:
    """The text of a file with these functions of its top level changed, decorators included."""
    lines = text.split("\n")
    spans = {name: functions(text)[name] for name in edits}
    for name in sorted(edits, key=spans.__getitem__, reverse=True):
        first, end = spans[name]
        part = lines[first:end]
        for change in edits[name]:
            part = change(part)
        lines[first:end] = part
    return "\n".join(lines)


@cache
def functions(text: str) -> dict[str, tuple[int, int]]:
    """Functions and classes of a file's top level: name → first line, decorators included, and that behind the last."""
    found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {
        node.name: (min(line.lineno for line in (node, *node.decorator_list)) - 1, node.end_lineno) for node in found
    }
