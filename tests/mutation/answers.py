"""The answers of a solved notebook with their source, and a changed source as answers again.

CuTe and cuTile read a kernel's source from its file, so every source is written to one.
"""

import ast
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import util
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

from tutorlib.compiling.source_files import lasting_folder
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


@cache
def folder() -> Path:
    return lasting_folder()


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
    name = f"mutant_{number}"
    file = folder() / f"{name}.py"
    file.write_text(source, encoding="utf-8")
    spec = util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    module = util.module_from_spec(spec)
    sys.modules[name] = module
    with redirect_stdout(StringIO()):  # pages print
        spec.loader.exec_module(module)
    return module


def value(source: str, name: str, number: int) -> Any:
    return getattr(load(source, number), name)
