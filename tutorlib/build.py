"""source → notebooks: solutions/NN_name.py becomes the student's notebook and the solved one.

The source is jupytext's py:percent. In it

    ### BEGIN SOLUTION (about 6 lines)
    ...
    ### END SOLUTION

marks (a part of) an answer, and the next code cell is `check("02.5", function)`, alone. Nothing else has to be
said: ids, roles and expected outputs are derived here.
"""

import ast
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import jupytext
import nbformat
from nbformat import NotebookNode, v4

from tutorlib.course import NOTEBOOKS, SOLUTIONS
from tutorlib.exercises import UnknownExercise, find, of_notebook

BEGIN = re.compile(r"(?P<indent>\s*)### BEGIN SOLUTION \((?P<size>about \d+ lines?)\)")
END = re.compile(r"\s*### END SOLUTION")
MARKER = re.compile(r"\s*#+ *(BEGIN|END) SOLUTION")
CELL = re.compile(r"# %%(?!%)")

Role = Literal["answer", "check"]


class BuildError(Exception):
    """The source breaks the exercise contract. Each line of the message names file, line and what to do."""


@dataclass(frozen=True)
class Region:
    """An answer's lines between two markers; `first` and `last` are the marker lines, counted from 0 in the cell."""

    first: int
    last: int
    indent: str
    size: str


@dataclass(frozen=True)
class Cell:
    """A cell of the source. `line` is the file's line (from 1) where its first line of text stands."""

    kind: Literal["code", "markdown"]
    text: str
    line: int
    regions: tuple[Region, ...] = ()
    role: Role | None = None
    exercise: str = ""

    @property
    def id(self) -> str:
        """Stable: an exercise's cells are named after it, others after their text."""
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
        """The cell's text as students get it: a comment and a raise where each answer was."""
        lines = self.text.split("\n")
        for region in reversed(self.regions):
            placeholder = f'raise NotImplementedError("Exercise {self.exercise}")'
            if in_cutile_kernel(lines, region):
                placeholder = f'raise ct.static_exception(NotImplementedError("Exercise {self.exercise}"))'
            lines[region.first : region.last + 1] = [
                f"{region.indent}# YOUR CODE HERE ({region.size})",
                f"{region.indent}{placeholder}",
            ]
        return "\n".join(lines)

    def answer(self, region: Region) -> list[str]:
        """The lines of one region, without the markers."""
        return self.text.split("\n")[region.first + 1 : region.last]


def in_cutile_kernel(lines: list[str], region: Region) -> bool:
    """Whether the innermost function around the region is decorated with @ct.kernel: there a plain raise is refused."""
    for n in range(region.first - 1, -1, -1):
        line = lines[n]
        if line.lstrip().startswith("def ") and len(line) - len(line.lstrip()) < len(region.indent):
            return n > 0 and lines[n - 1].lstrip().startswith("@ct.kernel")
    return False


def parse(source: Path) -> list[Cell]:
    """The cells of a source, checked against the contract. Raises BuildError with every fault found."""
    text = source.read_text(encoding="utf-8")
    starts = [n for n, line in enumerate(text.split("\n"), 1) if CELL.match(line)]
    notebook = jupytext.reads(text, fmt="py:percent")
    if len(starts) != len(notebook.cells):
        raise BuildError(f"{source}:1: text before the first cell; start the file with # %% [markdown]")
    faults: list[str] = []
    cells = []
    for start, node in zip(starts, notebook.cells, strict=True):
        line = start + 1
        if node.cell_type == "markdown":
            cells.append(Cell("markdown", node.source, line))
            continue
        regions, found = find_regions(node.source.split("\n"), line)
        faults += found
        cells.append(Cell("code", node.source, line, regions))
    if not faults:
        cells, found = pair_checks(cells, source.stem)
        faults += found + leaks(cells)
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


def pair_checks(cells: list[Cell], name: str) -> tuple[list[Cell], list[str]]:
    """Give each answer and the check after it their exercise and role; faults as "LINE: what is wrong"."""
    faults: list[str] = []
    paired = list(cells)
    waiting: int | None = None  # index of the answer cell whose check has not come yet
    seen: list[str] = []
    for n, cell in enumerate(cells):
        exercise = checked_exercise(cell)
        if cell.regions and waiting is not None:
            faults.append(f"{cells[waiting].line}: this answer has no check before the next answer, line {cell.line}")
        if cell.regions:
            waiting = n
        elif exercise is not None:
            if waiting is None:
                faults.append(f'{cell.line}: check("{exercise}", …) has no answer cell before it')
                continue
            try:
                find(exercise)
            except UnknownExercise as error:
                faults.append(f"{cell.line}: {error}")
            if exercise in seen:
                faults.append(f'{cell.line}: check("{exercise}", …) stands twice in this notebook')
            if exercise[:2] != name[:2]:
                faults.append(f"{cell.line}: exercise {exercise} belongs to another notebook than {name}")
            seen.append(exercise)
            for index, role in ((waiting, "answer"), (n, "check")):
                old = cells[index]
                paired[index] = Cell(old.kind, old.text, old.line, old.regions, role, exercise)
            waiting = None
        elif cell.kind == "code" and re.search(r"^\s*check\(", cell.text, re.MULTILINE):
            faults.append(f'{cell.line}: a check stands alone in its cell, as check("{name[:2]}.1", function)')
    if waiting is not None:
        faults.append(f"{cells[waiting].line}: this answer has no check after it")
    for exercise in of_notebook(name):
        if exercise.id not in seen:
            faults.append(f"1: exercise {exercise.id} is registered and the notebook does not ask for it")
    return paired, faults


def checked_exercise(cell: Cell) -> str | None:
    """ "02.5" where the cell is `check("02.5", answer)` and nothing else."""
    if cell.kind != "code":
        return None
    try:
        body = ast.parse(cell.text).body
    except SyntaxError:  # cell magic
        return None
    match body:
        case [ast.Expr(ast.Call(func=ast.Name("check"), args=[ast.Constant(str() as id), ast.Name()], keywords=[]))]:
            return id
    return None


def leaks(cells: list[Cell]) -> list[str]:
    """Answers that stand a second time where students read them, as "LINE: what is wrong".

    An answer leaks when all of its lines that say something follow each other in another cell's text.
    """
    faults = []
    for owner in cells:
        for region in owner.regions:
            answer = telling_lines(owner.answer(region))
            if len("".join(answer)) < 16:  # "return a + b" is no secret
                continue
            for cell in cells:
                if cell.id != owner.id and contains(telling_lines(cell.text.split("\n")), answer):
                    faults.append(f"{cell.line}: this cell shows the answer to {owner.exercise} (line {owner.line})")
    return faults


def telling_lines(lines: list[str]) -> list[str]:
    code = (line.split("#")[0].strip() for line in lines)
    return [line for line in code if line]


def contains(lines: list[str], wanted: list[str]) -> bool:
    return any(lines[n : n + len(wanted)] == wanted for n in range(len(lines) - len(wanted) + 1))


def student_notebook(cells: list[Cell]) -> NotebookNode:
    """Answers taken out; a check cell shows the line that a right answer will print."""
    nodes = []
    for cell, id in zip(cells, unique_ids(cells), strict=True):
        node = empty_node(cell, id, cell.unsolved)
        if cell.role == "check":
            node.outputs = [v4.new_output("stream", name="stdout", text=find(cell.exercise).passed_line + "\n")]
            node.execution_count = 1  # nbval compares outputs only where a run is recorded
        nodes.append(node)
    return notebook_of(nodes)


def solved_notebook(cells: list[Cell], previous: NotebookNode | None = None) -> NotebookNode:
    """Answers included, with the outputs that `previous` holds for cells whose code is the same."""
    old = {cell.id: cell for cell in previous.cells} if previous else {}
    nodes = []
    for cell, id in zip(cells, unique_ids(cells), strict=True):
        node = empty_node(cell, id, cell.solved)
        if cell.kind == "code" and id in old and old[id].source == node.source:
            node.outputs, node.execution_count = old[id].outputs, old[id].execution_count
        nodes.append(node)
    return notebook_of(nodes)


def unique_ids(cells: list[Cell]) -> list[str]:
    """Cell ids; a text that stands twice gets "-2" behind its second id."""
    ids: list[str] = []
    for cell in cells:
        id, n = cell.id, 1
        while id in ids:
            n += 1
            id = f"{cell.id}-{n}"
        ids.append(id)
    return ids


def empty_node(cell: Cell, id: str, text: str) -> NotebookNode:
    node = v4.new_markdown_cell(text) if cell.kind == "markdown" else v4.new_code_cell(text)
    node.id = id
    if cell.role:
        node.metadata["tutorlib"] = {"exercise": cell.exercise, "role": cell.role}
    if cell.role == "check" and find(cell.exercise).needs == "cpu":  # elsewhere a kernel's line says "not run"
        node.metadata["tags"] = ["nbval-check-output"]
    return node


def notebook_of(nodes: list[NotebookNode]) -> NotebookNode:
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return v4.new_notebook(cells=nodes, metadata=metadata)


def text_of(notebook: NotebookNode) -> str:
    """The notebook as it is written to disk: sorted keys, one trailing newline."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def build(name: str, solutions: Path = SOLUTIONS, notebooks: Path = NOTEBOOKS) -> dict[Path, str]:
    """What the two notebooks of a source should be: path → text. Writes nothing. Raises BuildError."""
    cells = parse(solutions / f"{name}.py")
    solved = solutions / f"{name}.ipynb"
    previous = nbformat.read(solved, as_version=4) if solved.exists() else None
    return {
        notebooks / f"{name}.ipynb": text_of(student_notebook(cells)),
        solved: text_of(solved_notebook(cells, previous)),
    }


def stale(built: dict[Path, str]) -> list[Path]:
    """Those notebooks whose file is missing or says something else."""
    return [path for path, text in built.items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def run(name: str, solutions: Path = SOLUTIONS) -> None:
    """Execute the solved notebook in place. Raises nbclient's CellExecutionError where a cell fails."""
    from nbclient import NotebookClient

    path = solutions / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(solutions)}}).execute()
    path.write_text(text_of(notebook_of([without_traces(cell) for cell in notebook.cells])), encoding="utf-8")


def without_traces(cell: NotebookNode) -> NotebookNode:
    """The executed cell without what differs from run to run: times of execution, widgets' ids, warnings."""
    cell.metadata.pop("execution", None)
    if cell.cell_type == "code":
        cell.outputs = [
            output
            for output in cell.outputs
            if "application/vnd.jupyter.widget-view+json" not in output.get("data", {})
            and output.get("name") != "stderr"
        ]
    return cell
