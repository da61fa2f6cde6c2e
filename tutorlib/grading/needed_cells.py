"""Which of a page's own cells its answers need: a demonstration that nothing later depends on need not run.

Decided by names alone, without running anything. From the page's end upwards, a cell stays where it binds or changes a
name that is read below it, or inside a function that stays. Of an import the names that anybody reads stay.
"""

import ast
import symtable
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TypeGuard

from nbformat import NotebookNode

LOOKUPS = {"eval", "exec", "globals", "locals", "vars", "get_ipython", "__import__"}  # of names that no text shows
MUTATORS = {"add", "append", "clear", "extend", "fill", "insert", "pop", "remove", "reverse", "sort", "update"}
AT_ONCE = {"listcomp", "setcomp", "dictcomp", "genexpr"}  # scopes that run where they stand


@dataclass(frozen=True)
class Names:
    """What a cell does with names of the notebook.

    binds: those that it may give a value to, or change; sets: those that it gives a new value in any case.
    reads: those that it reads as it runs. later: those that its functions read when they are called.
    """

    binds: frozenset[str]
    sets: frozenset[str]
    reads: frozenset[str]
    later: frozenset[str]


NO_NAMES = Names(*[frozenset[str]()] * 4)


def without_demos(
    page: Iterable[NotebookNode], known: Mapping[str, Names | None] = MappingProxyType({})
) -> list[NotebookNode]:
    """The code cells that must run, imports trimmed, for those that have a role; all where names cannot be followed.

    page: its cells; those with tutorlib's metadata are the answers, the checks and whatever else must run.
    known: the names of students' texts, which are read elsewhere, within limits.
    """
    code = [cell for cell in page if cell.cell_type == "code"]

    def names(text: str) -> Names | None:
        return known[text] if text in known else names_of(text)

    found_names = [names(cell.source) for cell in code]
    if any(one is None or (one.reads | one.later) & LOOKUPS for one in found_names):
        return code
    late: frozenset[str] = frozenset()
    while True:
        kept, found = stays(code, late, names)
        if found == late:
            return [cell if role(cell) else trimmed_cell(cell, wanted) for cell, wanted in reversed(kept)]
        late = found


def stays(
    code: list[NotebookNode], late: frozenset[str], names_in: Callable[[str], Names | None]
) -> tuple[list[tuple[NotebookNode, frozenset[str]]], frozenset[str]]:
    """The cells that stay, the last one first, each with the names that are wanted of it; and what functions read.

    late: names that functions may read at any time.
    """
    kept, live = [], frozenset[str]()
    found = late
    for cell in reversed(code):
        names = names_in(cell.source)
        assert names
        wanted = live | late
        if role(cell) or names.binds & wanted:
            if not role(cell):
                names = names_of(trimmed(cell.source, wanted)) or names
            kept.append((cell, wanted))
            live = (live if role(cell) else live - names.sets) | names.reads  # an answer may fail before it sets any
            found |= names.later
    return kept, found


def role(cell: NotebookNode) -> bool:
    return "tutorlib" in cell.metadata


@cache
def names_of(text: str) -> Names | None:
    """The names of a cell; None where it is not plain Python, as with a magic, or imports all that a module has."""
    try:
        tree, table = ast.parse(text), symtable.symtable(text, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    own = table.get_symbols()
    binds = {one.get_name() for one in own if one.is_assigned() or one.is_imported()}
    reads = {one.get_name() for one in own if one.is_referenced()}
    later: set[str] = set()
    scopes = [(child, False) for child in table.get_children()]
    while scopes:
        scope, called = scopes.pop()
        called = called or (scope.get_type() == "function" and scope.get_name() not in AT_ONCE)
        for one in scope.get_symbols():
            if one.is_global():
                (later if called else reads).add(one.get_name())
                binds |= {one.get_name()} if one.is_assigned() else set()
        scopes += [(child, called) for child in scope.get_children()]
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias("*")]):
                return None
            case ast.Attribute(value, ctx=ast.Store()) | ast.Subscript(value, ctx=ast.Store()):
                binds |= root(value)
            case ast.AugAssign(target):
                reads |= root(target)
            case ast.Expr(ast.Call(ast.Attribute(value, method))) if method in MUTATORS or method.endswith("_"):
                binds |= root(value)
    return Names(frozenset(binds), frozenset(set_names(tree.body)), frozenset(reads), frozenset(later))


def set_names(body: list[ast.stmt]) -> Iterator[str]:
    """The names that these statements set, whatever happens."""
    for node in body:
        match node:
            case ast.Assign(targets):
                yield from (one.id for target in targets for one in ast.walk(target) if is_target(one))
            case ast.FunctionDef(name) | ast.ClassDef(name):
                yield name
            case ast.Import(aliases) | ast.ImportFrom(names=aliases):
                yield from map(bound, aliases)


def is_target(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.split(".")[0]


def root(node: ast.expr) -> set[str]:
    """The name from which a value is reached: {"a"} for a.b[c].d."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def trimmed(text: str, wanted: frozenset[str]) -> str:
    """A cell without the names that it imports for nobody: neither `wanted` nor read in the cell itself."""
    names = names_of(text)
    assert names
    tree, used = ast.parse(text), wanted | names.reads | names.later
    kept: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [alias for alias in node.names if bound(alias) in used]
            kept += [node] if node.names else []
        else:
            kept.append(node)
    return ast.unparse(ast.Module(kept, tree.type_ignores))


def trimmed_cell(cell: NotebookNode, wanted: frozenset[str]) -> NotebookNode:
    copied = cell.copy()
    copied.source = trimmed(cell.source, wanted)
    return copied
