"""Splits a cell into the answers that a student merged in it.

The checks in a cell show where one answer ends and the next begins. Without a check between two answers, the
definitions of the names that the course's checks take show it.
"""

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nbformat import NotebookNode

from tutorlib.grading.repaired_json import CHECK

LINK = re.compile(r"\[([^\[\]]+)\]\(glossary\.ipynb#[\w.-]+\)")  # which the built page adds to a term
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class AnswerPart:
    """A stretch of a cell. exercise: whose answer it is, or ""."""

    exercise: str
    text: str


def names_checked(pristine: NotebookNode) -> dict[str, str]:
    """Exercise → the name that the course's own check of it is called with."""
    found = (CHECK.match(cell.source) for cell in pristine.cells if cell.cell_type == "code")
    return {match[1]: match[2] for match in found if match}


def without_page(text: str, pristine: NotebookNode) -> str:
    """A cell's text without the page's own paragraphs, which are there where cells of text were merged with it."""
    for cell in pristine.cells:
        if cell.cell_type == "markdown" and cell.source in (text := LINK.sub(r"\1", text)):
            text = text.replace(cell.source, "")
    return text


def answer_parts(text: str, exercise: str, checked: Mapping[str, str], missing: Collection[str]) -> list[AnswerPart]:
    """The parts of a cell, in order, without its checks.

    exercise: whose answer the cell is marked as, or "". checked: exercise → the name of its answer. missing: exercises
    that have no cell of their own.
    """
    parts: list[AnswerPart] = []
    for stretch, ended_by in split_at_checks(text, checked):
        if stretch.strip():
            found = {part.exercise for part in parts}
            wanted = [one for one in dict.fromkeys((ended_by, exercise, *missing)) if one == exercise or one in missing]
            parts += divided(stretch, "" if parts else exercise, [one for one in wanted if one not in found], checked)
    return parts


def split_at_checks(text: str, checked: Mapping[str, str]) -> list[tuple[str, str]]:
    """The stretches between the checks that stand at a cell's top level, each with the exercise whose check ends it."""
    lines = text.split("\n")
    stretches, start = [], 0
    for first, end, exercise in checks_in(text):
        if exercise in checked:
            stretches.append(("\n".join(lines[start:first]), exercise))
            start = end
    return [*stretches, ("\n".join(lines[start:]), "")]


def checks_in(text: str) -> list[tuple[int, int, str]]:
    """The checks in a text: the first line of each, the line behind it, its exercise.

    What is not plain Python, as where one of the answers in it has an error, is searched for lines that look like one.
    """
    try:
        body = ast.parse(text).body
    except UNREADABLE:
        return [
            (line, line + match[0].count("\n") + 1, match[1])
            for match in CHECK.finditer(text)
            for line in [text.count("\n", 0, match.start())]
        ]
    found = []
    for node in body:
        match node:
            case ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(str() as exercise), ast.Name()])):
                found.append((node.lineno - 1, node.end_lineno or node.lineno, exercise))
    return found


def divided(text: str, own: str, wanted: Sequence[str], checked: Mapping[str, str]) -> list[AnswerPart]:
    """A stretch without checks, cut behind each definition of a wanted answer but the last.

    own: whose it is where none is defined in it, or "". What stands above an answer in its own cell stays with it: it
    may need that.
    """
    places = defined_in(text) if wanted != [own] else {}
    at: dict[str, tuple[int, str]] = {}  # the name of an answer → behind which line it is defined, and whose it is
    for exercise in wanted:
        if (name := checked.get(exercise, "")) in places:
            at.setdefault(name, (places[name], exercise))
    if not at:
        return [AnswerPart(own, text)]
    lines, parts, start = text.split("\n"), [], 0
    ends = sorted(at.values())
    ends[-1] = len(lines), ends[-1][1]
    for end, exercise in ends:
        parts.append(AnswerPart(exercise, "\n".join(lines[0 if exercise == own else start : end])))
        start = end
    return parts


def defined_in(text: str) -> dict[str, int]:
    """Name → the number of lines up to the end of the last statement that gives it a value, at the top level.

    Of what is not plain Python: the line before the `def` behind it.
    """
    try:
        body = ast.parse(text).body
    except UNREADABLE:
        return defined_by_lines(text)
    found: dict[str, int] = {}
    for node in body:
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                names = [name]
            case ast.Assign(targets):
                names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            case ast.AnnAssign(ast.Name(name)):
                names = [name]
            case _:
                names = []
        found |= dict.fromkeys(names, node.end_lineno or node.lineno)
    return found


TOP = re.compile(r"^(?:@|(?:async )?def (\w+)|class (\w+)|(\w+) *=(?!=))", re.ASCII)


def defined_by_lines(text: str) -> dict[str, int]:
    lines = text.split("\n")
    tops = [(n, TOP.match(line)) for n, line in enumerate(lines)]
    starts = [(n, match[1] or match[2] or match[3]) for n, match in tops if match]
    found: dict[str, int] = {}
    for (_, name), (end, _) in pairwise([*starts, (len(lines), "")]):
        if name:
            found[name] = end
    return found
