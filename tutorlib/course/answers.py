"""The cells of a page that its answers need, decided by names alone; and the solutions' answers as Python objects.

A cell is needed where it binds or changes a name that a needed cell reads, wherever that stands. The others are the
page's demonstrations.
"""

import ast
import symtable
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tutorlib.compiling.dsls import executed
from tutorlib.course.source import SourceCell, parse, read_check
from tutorlib.paths import SOLUTIONS

LOOKUPS = {"eval", "exec", "globals", "locals", "vars", "get_ipython", "__import__"}  # of names that no text shows
MUTATORS = {"add", "append", "clear", "extend", "fill", "insert", "pop", "remove", "reverse", "sort", "update"}


def load_answers(name: str, solutions: Path = SOLUTIONS) -> dict[str, Any]:
    """Exercise id → the answer that the solved notebook passes to `check`, in the notebook's order.

    CuTe and cuTile read the source of a kernel from its file, so the cells are written to a file.
    """
    cells = parse(solutions / f"{name}.py")
    module = executed("\n\n\n".join(cell.solved for cell in needed_cells(cells)) + "\n", f"answers_{name}")
    return {id: getattr(module, answer) for id, answer in checks(cells).items()}


def checks(cells: Sequence[SourceCell]) -> dict[str, str]:
    """Exercise id → the name of its answer."""
    return dict(found for cell in cells if (found := read_check(cell)))


def needed_cells(cells: Sequence[SourceCell]) -> list[SourceCell]:
    """The code cells that the answers need, and theirs."""
    code = [cell for cell in cells if cell.kind == "code" and cell.role != "check"]
    needed, _ = needed_texts([cell.solved for cell in code], [bool(cell.role) for cell in code])
    return [cell for cell, stays in zip(code, needed, strict=True) if stays]


@dataclass(frozen=True)
class Names:
    """Names of the notebook in a cell. binds: those to which it may give a value, or change. reads: also when it calls
    its functions.
    """

    binds: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()


def needed_texts(
    texts: Sequence[str], wanted: Sequence[bool], known: Mapping[str, Names | None] = MappingProxyType({})
) -> tuple[list[bool], frozenset[str] | None]:
    """Which cells the wanted ones need, and the names that all of these read; all, and None, if that is unknown.

    known: the names of students' texts, which are read elsewhere, within limits.
    """
    names = [known[text] if text in known else names_of(text) for text in texts]
    found = [cell for cell in names if cell]
    if len(found) < len(texts) or any(cell.reads & LOOKUPS for cell in found):
        return [True] * len(texts), None
    needed = list(wanted)
    while True:
        read = frozenset().union(*(cell.reads for cell, stays in zip(found, needed, strict=True) if stays))
        more = [stays or bool(cell.binds & read) for cell, stays in zip(found, needed, strict=True)]
        if more == needed:
            return needed, read
        needed = more


@cache
def names_of(text: str) -> Names | None:
    """The names of a cell; None where it is not plain Python, as with a magic, or imports all that a module has."""
    try:
        tree, top = ast.parse(text), symtable.symtable(text, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    binds, reads = set(), set()
    scopes = [top]
    for scope in scopes:
        scopes += scope.get_children()
        for symbol in scope.get_symbols():
            if scope is top or symbol.is_global():
                binds |= {symbol.get_name()} if symbol.is_assigned() or symbol.is_imported() else set()
                reads |= {symbol.get_name()} if symbol.is_referenced() else set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias("*")]):
                return None
            case ast.Attribute(value, ctx=ast.Store()) | ast.Subscript(value, ctx=ast.Store()):
                binds |= root(value)
            case ast.Expr(ast.Call(ast.Attribute(value, method))) if method in MUTATORS or method.endswith("_"):
                binds |= root(value)
    return Names(frozenset(binds), frozenset(reads))


def root(node: ast.expr) -> set[str]:
    """The name from which a value is reached: {"a"} for a.b[c].d."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def trimmed(text: str, read: frozenset[str]) -> str:
    """A cell without the names that it imports and nothing reads."""
    kept = list[ast.stmt]()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [alias for alias in node.names if (alias.asname or alias.name.split(".")[0]) in read]
        if not isinstance(node, ast.Import | ast.ImportFrom) or node.names:
            kept.append(node)
    return ast.unparse(ast.Module(kept, []))


def names_for(call: ast.Call, code: str) -> dict[str, Any]:
    """The names that a call uses, bound by the imports and assignments of the code that they depend on."""
    needed: list[ast.stmt] = []
    wanted = names_used(call)
    for statement in reversed(ast.parse(code).body):
        if isinstance(statement, ast.ImportFrom) and wanted & {alias.asname or alias.name for alias in statement.names}:
            needed.insert(0, statement)
        elif isinstance(statement, ast.Assign) and wanted & set().union(*map(names_used, statement.targets)):
            needed.insert(0, statement)
            wanted |= names_used(statement.value)
    names: dict[str, Any] = {}
    exec(compile(ast.Module(needed, []), "<page>", "exec"), names)
    return names


def names_used(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
