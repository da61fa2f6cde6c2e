"""The answers of a solved notebook with their source, and a changed source as answers again.

CuTe and cuTile read a kernel's source from its file, so every source is written to one.
"""

import ast
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from types import ModuleType
from typing import Any

from tutorlib.compiling.source_files import executed
from tutorlib.course.answers import checks, needed_cells
from tutorlib.course.source import SourceCell, parse
from tutorlib.paths import SOLUTIONS


@dataclass(frozen=True)
class Answer:
    """exercise: its id. name: what the notebook hands to `check`. functions: those of the cells that are its own,
    since the check before. source: of all that the notebook's answers need."""

    exercise: str
    name: str
    functions: frozenset[str]
    source: str


def answers(notebook: str) -> list[Answer]:
    """Of one solved notebook, such as "05_copy_kernels"."""
    cells = parse(SOLUTIONS / f"{notebook}.py")
    source = "\n\n\n".join(cell.solved for cell in needed_cells(cells)) + "\n"
    found, own = [], set()
    for cell in cells:
        if cell.kind == "code" and cell.role != "check":
            own |= functions_of(cell)
        if named := checks([cell]):
            ((exercise, name),) = named.items()
            found.append(Answer(exercise, name, frozenset(own), source))
            own = set()
    return found


def functions_of(cell: SourceCell) -> set[str]:
    try:
        tree = ast.parse(cell.solved)
    except SyntaxError:  # a cell with a line of IPython's own
        return set()
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def load(source: str, number: int) -> ModuleType:
    """The source as a module of its own."""
    with redirect_stdout(StringIO()):  # pages print
        return executed(source, f"mutant_{number}")


def value(source: str, name: str, number: int) -> Any:
    return getattr(load(source, number), name)
