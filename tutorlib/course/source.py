"""A notebook's source: jupytext's py:percent, read and held to the exercise contract.

In it

    ### BEGIN SOLUTION (about 6 lines)
    ...
    ### END SOLUTION

marks (a part of) an answer, and the next code cell consists of `check("03.5", function)`. `course.build` derives ids,
roles and expected outputs.
"""

import ast
import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import jupytext
import yaml
from nbformat import NotebookNode

from tutorlib.exercises import UnknownExercise, find, of_notebook

BEGIN = re.compile(r"(?P<indent>\s*)### BEGIN SOLUTION \((?P<size>about \d+ lines?)\)")
END = re.compile(r"\s*### END SOLUTION")
MARKER = re.compile(r"\s*#+ *(BEGIN|END) SOLUTION")
CELL = re.compile(r"# %%(?!%)")
SKIP_FORMATTING = "  # fmt: skip"  # ruff's, after imports that share lines; not for readers
Role = Literal["answer", "check"]


class BuildError(Exception):
    """The source breaks the exercise contract. Each line of the message names the file, the line and the remedy."""


@dataclass(frozen=True)
class Region:
    """An answer's lines between two markers; `first` and `last` are the marker lines, counted from 0 in the cell."""

    first: int
    last: int
    indent: str
    size: str


@dataclass(frozen=True)
class SourceCell:
    """A cell of the source. `line` is the line of the file (from 1) at which its text begins."""

    kind: Literal["code", "markdown"]
    text: str
    line: int
    regions: tuple[Region, ...] = ()
    role: Role | None = None
    exercise: str = ""

    @property
    def id(self) -> str:
        """A stable id: from the exercise for its cells, from the text for others."""
        if self.role:
            return f"{self.role}-{self.exercise.replace('.', '-')}"
        return "c" + hashlib.sha256(f"{self.kind}\n{self.text}".encode()).hexdigest()[:12]

    @property
    def solved(self) -> str:
        """The cell's text without its marker lines."""
        drop = {n for region in self.regions for n in (region.first, region.last)}
        return "\n".join(line for n, line in enumerate(self.text.split("\n")) if n not in drop)

    @property
    def unsolved(self) -> str:
        """The cell's text for students: a comment and a raise in place of each answer.

        Outside of functions there is no raise: the cell must run.
        """
        lines = self.text.split("\n")
        for region in reversed(self.regions):
            placeholder = f'raise NotImplementedError("Exercise {self.exercise}")'
            if in_cutile_kernel(lines, region):
                placeholder = f'raise ct.static_exception(NotImplementedError("Exercise {self.exercise}"))'
            raises = [f"{region.indent}{placeholder}"] if region.indent else []
            lines[region.first : region.last + 1] = [f"{region.indent}# YOUR CODE HERE ({region.size})", *raises]
        return "\n".join(lines)

    def answer(self, region: Region) -> list[str]:
        """The lines of one region, without the markers."""
        return self.text.split("\n")[region.first + 1 : region.last]


def in_cutile_kernel(lines: list[str], region: Region) -> bool:
    """Whether the innermost function around the region is cuTile code, which refuses a plain raise."""
    for n in range(region.first - 1, -1, -1):
        line = lines[n]
        if line.lstrip().startswith("def ") and len(line) - len(line.lstrip()) < len(region.indent):
            return n > 0 and lines[n - 1].lstrip().startswith(("@ct.kernel", "@ct.function"))
    return False


def read(source: Path) -> NotebookNode:
    """The source as jupytext reads it. Raises BuildError if the lines between `# ---` are not YAML."""
    try:
        text = source.read_text(encoding="utf-8").replace(SKIP_FORMATTING, "")
        return jupytext.reads(text, fmt="py:percent")
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise BuildError(f"{source}:{line}: not YAML: {error.problem}") from None


def parse(source: Path) -> list[SourceCell]:
    """The cells of a source, checked against the contract. Raises BuildError with every fault found."""
    lines = source.read_text(encoding="utf-8").split("\n")
    starts = [n for n, line in enumerate(lines, 1) if CELL.match(line)]
    notebook = read(source)
    if len(starts) != len(notebook.cells):
        raise BuildError(f"{source}:1: text before the first cell; start the file with # %% [markdown]")
    faults: list[str] = []
    cells = []
    for start, node in zip(starts, notebook.cells, strict=True):
        line = start + 1
        if "title" in node.metadata:  # jupytext's name for it; notebooks do not show it
            faults.append(f"{start}: text after the marker of a cell; begin it on a new line: {node.metadata.title}")
        if node.cell_type == "markdown":
            cells.append(SourceCell("markdown", node.source, line))
            continue
        regions, found = find_regions(node.source.split("\n"), line)
        faults += found
        cells.append(SourceCell("code", node.source, line, regions))
    if not faults:
        cells, faults = pair_checks(cells, source.stem)
    if faults:
        raise BuildError("\n".join(f"{source}:{fault}" for fault in faults))
    return cells


def find_regions(lines: list[str], start: int) -> tuple[tuple[Region, ...], list[str]]:
    """The answers marked in a cell's lines, and the faults of the markers as "LINE: what is wrong"."""
    regions, faults = [], []
    opened: re.Match | None = None
    first = 0
    for n, line in enumerate(lines):
        if begin := BEGIN.fullmatch(line):
            if opened:
                faults.append(f"{start + n}: BEGIN SOLUTION inside the one of line {start + first}; end that first")
            opened, first = begin, n
        elif END.fullmatch(line):
            if not opened:
                faults.append(f"{start + n}: END SOLUTION without a BEGIN SOLUTION before it in this cell")
            elif not "".join(lines[first + 1 : n]).strip():
                faults.append(f"{start + first}: the solution is empty; write the answer between the markers")
            else:
                regions.append(Region(first, n, opened["indent"], opened["size"]))
            opened = None
        elif MARKER.match(line):
            faults.append(
                f"{start + n}: not a marker; write '### BEGIN SOLUTION (about 6 lines)' or '### END SOLUTION'"
            )
    if opened:
        faults.append(f"{start + first}: BEGIN SOLUTION is never closed; add ### END SOLUTION in the same cell")
    return tuple(regions), faults


def pair_checks(cells: list[SourceCell], name: str) -> tuple[list[SourceCell], list[str]]:
    """Give each answer and the check after it their exercise and role; faults as "LINE: what is wrong"."""
    faults: list[str] = []
    paired = list(cells)
    waiting: int | None = None  # index of the answer cell whose check has not come yet
    seen: list[str] = []
    for n, cell in enumerate(cells):
        found = read_check(cell)
        if cell.regions and waiting is not None:
            faults.append(f"{cells[waiting].line}: this answer has no check before the next answer, line {cell.line}")
        if cell.regions:
            waiting = n
        elif found:
            exercise, _ = found
            if waiting is None:
                faults.append(f'{cell.line}: check("{exercise}", …) has no answer cell before it')
                continue
            try:
                find(exercise)
            except UnknownExercise as error:
                faults.append(f"{cell.line}: {error}")
            if exercise in seen:
                faults.append(f'{cell.line}: check("{exercise}", …) is in this notebook twice')
            if exercise[:2] != name[:2]:
                faults.append(f"{cell.line}: exercise {exercise} belongs to another notebook than {name}")
            seen.append(exercise)
            paired[waiting] = replace(cells[waiting], role="answer", exercise=exercise)
            paired[n] = replace(cell, role="check", exercise=exercise)
            waiting = None
        elif cell.kind == "code" and re.search(r"^\s*check\(", cell.text, re.MULTILINE):
            faults.append(f'{cell.line}: a check is alone in its cell, as check("{name[:2]}.1", function)')
    if waiting is not None:
        faults.append(f"{cells[waiting].line}: this answer has no check after it")
    missing = [exercise.id for exercise in of_notebook(name) if exercise.id not in seen]
    faults += [f"1: exercise {id} is registered and the notebook does not ask for it" for id in missing]
    return paired, faults


def read_check(cell: SourceCell) -> tuple[str, str] | None:
    """("03.5", "answer") if the cell consists of `check("03.5", answer)`."""
    if cell.kind != "code":
        return None
    try:
        body = ast.parse(cell.text).body
    except SyntaxError:  # cell magic
        return None
    match body:
        case [ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(str() as id), ast.Name(answer)], []))]:
            return id, answer
    return None


def telling_lines(lines: list[str]) -> list[str]:
    """The lines of code, without comments and blank lines."""
    code = (line.split("#")[0].strip() for line in lines)
    return [line for line in code if line]
