"""Leaves out those of a page's own cells, its demonstrations, that no answer needs.

Decided by names alone, without running anything. A cell stays where it binds or changes a name that a cell which stays
reads, wherever that stands. Of an import the names that anything reads stay.
"""

import ast
import symtable
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from nbformat import NotebookNode

LOOKUPS = {"eval", "exec", "globals", "locals", "vars", "get_ipython", "__import__"}  # of names that no text shows
MUTATORS = {"add", "append", "clear", "extend", "fill", "insert", "pop", "remove", "reverse", "sort", "update"}


@dataclass(frozen=True)
class Names:
    """Names of the notebook in a cell. binds: those to which it may give a value, or change. reads: also when it calls
    its functions.
    """

    binds: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()


def without_demos(
    page: Iterable[NotebookNode], known: Mapping[str, Names | None] = MappingProxyType({})
) -> list[NotebookNode]:
    """The code cells that must run, imports trimmed, for those that have a role; all where names cannot be followed.

    page: its cells; those with tutorlib's metadata are the answers, the checks and whatever else must run.
    known: the names of students' texts, which are read elsewhere, within limits.
    """
    code = [cell for cell in page if cell.cell_type == "code"]
    names = [known[cell.source] if cell.source in known else names_of(cell.source) for cell in code]
    found = [one for one in names if one]
    if len(found) < len(code) or any(one.reads & LOOKUPS for one in found):
        return code
    kept = ["tutorlib" in cell.metadata for cell in code]
    while True:
        read = frozenset().union(*(one.reads for one, stays in zip(found, kept, strict=True) if stays))
        more = [stays or bool(one.binds & read) for one, stays in zip(found, kept, strict=True)]
        if more == kept:
            return [
                cell if "tutorlib" in cell.metadata else trimmed(cell, read)
                for cell, stays in zip(code, kept, strict=True)
                if stays
            ]
        kept = more


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
        for one in scope.get_symbols():
            if scope is top or one.is_global():
                binds |= {one.get_name()} if one.is_assigned() or one.is_imported() else set()
                reads |= {one.get_name()} if one.is_referenced() else set()
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


def trimmed(cell: NotebookNode, read: frozenset[str]) -> NotebookNode:
    """A copy of a cell without the names that it imports and nothing reads."""
    copied, kept = cell.copy(), list[ast.stmt]()
    for node in ast.parse(cell.source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [alias for alias in node.names if (alias.asname or alias.name.split(".")[0]) in read]
        if not isinstance(node, ast.Import | ast.ImportFrom) or node.names:
            kept.append(node)
    copied.source = ast.unparse(ast.Module(kept, []))
    return copied
