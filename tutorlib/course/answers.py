"""The solutions' answers as Python objects: the cells that they need, executed as a module.

CuTe and cuTile read the source of a kernel from its file, so the cells are written to a file.
"""

import symtable
from pathlib import Path
from typing import Any

from tutorlib.compiling.dsls import executed
from tutorlib.course.source import SourceCell, parse, read_check
from tutorlib.paths import SOLUTIONS


def load_answers(name: str, solutions: Path = SOLUTIONS) -> dict[str, Any]:
    """Exercise id → the answer that the solved notebook passes to `check`, in the notebook's order."""
    cells = parse(solutions / f"{name}.py")
    module = executed("\n\n\n".join(cell.solved for cell in needed_cells(cells)) + "\n", f"answers_{name}")
    return {id: getattr(module, answer) for id, answer in checks(cells).items()}


def checks(cells: list[SourceCell]) -> dict[str, str]:
    """Exercise id → the name of its answer."""
    return dict(found for cell in cells if (found := read_check(cell)))


def needed_cells(cells: list[SourceCell]) -> list[SourceCell]:
    """The code cells that bind the names that the answers use, directly or indirectly."""
    wanted = set(checks(cells).values())
    needed: list[SourceCell] = []
    for cell in reversed(cells):
        if cell.kind == "markdown" or cell.role == "check":
            continue
        table = symtable.symtable(cell.solved, "cell", "exec")
        if wanted & {symbol.get_name() for symbol in table.get_symbols() if binds(symbol)}:
            needed.insert(0, cell)
            wanted |= uses(table)
    return needed


def binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported()


def uses(table: symtable.SymbolTable) -> set[str]:
    """The global names that code reads, in nested functions too."""
    symbols = (s for s in table.get_symbols() if s.is_referenced() and (s.is_global() or table.get_type() == "module"))
    return {symbol.get_name() for symbol in symbols}.union(*map(uses, table.get_children()))
