"""Answers that must fail or pass, one a line: pNN.txt has those of page NN, pNN.py those that are whole functions.

A paragraph of the table is an exercise: its number, the one thing that it teaches, and its answers.

    05.1 neighboring threads take neighboring columns, unrolled
      right | row < rows and column < columns → column < columns and row < rows
      * outside | row < rows and column < columns → column < columns

In front of the | are the kinds of failure that the check must find, or `right`; * marks an answer without what the
exercise teaches. Behind it is the answer:

    old → new ;; ×2 old →   the solution with `new` for `old`, which occurs once, or twice; ⏎ is the end of a line
    - part                  the solution without the one line that has this part
    = expression            a function of the solution's parameters that returns this
    is expression           what this evaluates to
    @BASE old → new         another text than the solution's: BASE of pNN.py, whose BASES has those of exercises

Expressions see the names of pNN.py.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import pytest

from tests.pages.change import Change, DoesNotApply, code_of, functions, swap, without
from tutorlib.compiling.dsls import executed, lasting_folder
from tutorlib.course.answers import checks, needed_cells
from tutorlib.course.source import parse
from tutorlib.paths import SOLUTIONS, notebook_names

Base = Callable[[Sequence[Change], str], Any]  # changes and a name → the answer
FUNCTIONS: list["Answer"] = []  # those that `wrong` and `right` mark


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer to an exercise.

    text: its row, or its function's name. kinds: of failure, which its message must have; a right answer has none.
    lesson: whether it leaves out what the exercise teaches.
    """

    exercise: str
    text: str
    kinds: frozenset[str]
    lesson: bool
    build: Callable[[], Any]

    @property
    def name(self) -> str:
        return name_of(self.text)

    @cached_property
    def function(self) -> Any:
        """Raises DoesNotApply."""
        return self.build()


def wrong(exercise: str, kinds: str, lesson: bool = False) -> Callable[[Any], Any]:
    """Marks a function as a wrong answer; kinds: as in a row."""

    def mark(function: Any) -> Any:
        FUNCTIONS.append(Answer(exercise, function.__name__, kinds_of(kinds), lesson, lambda: function))
        return function

    return mark


def right(exercise: str) -> Callable[[Any], Any]:
    return wrong(exercise, "right")


def kinds_of(text: str) -> frozenset[str]:
    return frozenset(text.split(", ")) - {"right"}


def by_name(answers: Mapping[str, Sequence[Answer]]) -> list:
    """Parameters of a test."""
    return [pytest.param(one, id=f"{id}-{one.name}") for id in answers for one in answers[id]]


# Rows -----------------------------------------------------------------------------------------------------------


def read_rows(file: Path, names: Mapping[str, Any]) -> tuple[dict[str, str], list[Answer]]:
    """Exercise → what it teaches, and the answers. names: of the page's module."""
    teaches: dict[str, str] = {}
    answers = []
    exercise = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            kinds, _, text = line.strip().partition(" | ")
            make = partial(build, exercise, text, names)
            answers.append(Answer(exercise, text, kinds_of(kinds.removeprefix("* ")), kinds.startswith("* "), make))
        elif line and not line.startswith("#"):
            exercise, _, teaches[exercise] = line.partition(" ")
    return teaches, answers


def build(exercise: str, text: str, names: Mapping[str, Any]) -> Any:
    """A row's answer. Raises DoesNotApply."""
    name = name_of(text)
    if text.startswith("= "):
        return evaluated(f"{header(exercise)}\n    return {text[2:]}\n", name, names)[title(exercise)]
    if text.startswith("is "):
        return evaluated(f"answer = {text[3:]}\n", name, names)["answer"]
    base: Base = names.get("BASES", {}).get(exercise) or solution(exercise)
    if named := re.fullmatch(r"@(\w+)(?: (.+))?", text):
        base, text = names[named[1]], named[2] or ""
    return with_changes(base, text)


def with_changes(base: Base, text: str) -> Any:
    """The answer of a row that has these changes. Raises DoesNotApply."""
    return base([*map(change, text.split(" ;; "))] if text else [], name_of(text))


def name_of(text: str) -> str:
    """A name for files, and for the ids of tests."""
    return re.sub(r"\W+", "_", text).strip("_")[:60] or "symbols"


def change(text: str) -> Change:
    text = text.replace("⏎", "\n")
    if text.startswith("- "):
        return without(text[2:])
    found = re.fullmatch(r"(?:×(\d+) )?(.+?) →(?: (.+))?", text, re.DOTALL)
    if not found:
        raise DoesNotApply(f"{text!r} is no change")
    return swap(found[2], found[3] or "", times=int(found[1] or 1))


def evaluated(text: str, name: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """What the text defines; a name in it is the page's, even where the text defines the same.

    It is written to a file, where the DSLs read a kernel's source.
    """
    file = lasting_folder() / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    defined: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), {**names, "__name__": name, "__file__": str(file)}, defined)
    return defined


# What rows change -----------------------------------------------------------------------------------------------


def base_of(*rights: Any) -> Base:
    """One of these functions is changed, or another part of its file. Several make a tuple."""

    def patched(changes: Sequence[Change], name: str) -> Any:
        parts = [Part.of_function(one) for one in rights]
        apply(changes, parts)
        answers = [part.executed(name) for part in parts]
        return answers[0] if len(answers) == 1 else tuple(answers)

    return patched


def solution(exercise: str) -> Base:
    """The page's answer cell is changed, or another cell that it needs."""

    def patched(changes: Sequence[Change], name: str) -> Any:
        head, own, tail = page(exercise[:2]).partition(cell(exercise))
        part = Part([head, own, tail], title(exercise))
        apply(changes, [part])
        return part.executed(name)

    return patched


def solved(exercise: str) -> Any:
    """The page's own answer, in a file of its own."""
    return solution(exercise)([], "solved")


class Part:
    """A function's own text, between the rest of its file."""

    def __init__(self, text: list[str], name: str) -> None:
        self.text, self.name = text, name

    @classmethod
    def of_function(cls, function: Any) -> "Part":
        code = code_of(function)
        text = Path(code.co_filename).read_text(encoding="utf-8")
        first, end = functions(text)[code.co_name]
        lines = text.splitlines(keepends=True)
        return cls(["".join(lines[:first]), "".join(lines[first:end]), "".join(lines[end:])], code.co_name)

    def apply(self, change: Change, own: bool) -> None:
        """To the function, or to the one other part of the file that it fits. Raises DoesNotApply."""
        places = [n for n in ((1,) if own else (0, 2)) if applies(self.text[n], change)]
        if len(places) != 1:
            raise DoesNotApply(f"the change fits {len(places)} places beside {self.name}")
        self.text[places[0]] = changed(self.text[places[0]], change)

    def executed(self, name: str) -> Any:
        return getattr(executed("".join(self.text), name), self.name)


def changed(text: str, change: Change) -> str:
    return "\n".join(change(text.split("\n")))


def applies(text: str, change: Change) -> bool:
    try:
        changed(text, change)
    except DoesNotApply:
        return False
    return True


def apply(changes: Sequence[Change], parts: Sequence[Part]) -> None:
    """Each to the one function that it fits, or else to what is beside them in their files. Raises DoesNotApply."""
    for change in changes:
        fits = [part for part in parts if applies(part.text[1], change)]
        if len(fits) > 1:
            raise DoesNotApply(f"the change fits {len(fits)} functions of {len(parts)}")
        for part in fits or parts:
            part.apply(change, own=bool(fits))


@cache
def cells(number: str) -> tuple:
    (name,) = [name for name in notebook_names() if name.startswith(number)]
    return tuple(parse(SOLUTIONS / f"{name}.py"))


@cache
def page(number: str) -> str:
    """The solved cells that the page's answers need."""
    return "\n\n\n".join(cell.solved for cell in needed_cells([*cells(number)])) + "\n"


def cell(exercise: str) -> str:
    return next(one.solved for one in cells(exercise[:2]) if one.role == "answer" and one.exercise == exercise)


def title(exercise: str) -> str:
    """The name that the page's check passes."""
    return checks([*cells(exercise[:2])])[exercise]


def header(exercise: str) -> str:
    """ "def offset(coord, stride):"."""
    (function,) = (one for one in ast.parse(cell(exercise)).body if getattr(one, "name", "") == title(exercise))
    for one in ast.walk(function.args):
        if isinstance(one, ast.arg):
            one.annotation = None
    return f"def {function.name}({ast.unparse(function.args)}):"
