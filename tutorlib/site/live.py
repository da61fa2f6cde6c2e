"""The explorers of a page as data: from it the browser builds the same inputs with the same values."""

import ast
import inspect
from collections.abc import Sequence
from typing import Any

import ipywidgets

PREFIX = "explore_"


def explorer_data(source: str, above: Sequence[str]) -> dict[str, Any] | None:
    """{"kind": "timeline", "arguments": {…}, "inputs": […]} of the explorer that a cell ends with; None without one.

    above: the code cells above it, from which the call's names come.
    """
    match ast.parse(source).body[-1:]:
        case [ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call)] if name.startswith(PREFIX):
            names = bound(call, "\n".join([*above, source]))
            explore = names[name]
            names[name] = inspect.signature(explore).bind
            given = eval(compile(ast.Expression(call), "<page>", "eval"), names)
            given.apply_defaults()
            boxes = explore(*given.args, **given.kwargs).inputs
            kind = name.removeprefix(PREFIX)
            return {"kind": kind, "arguments": given.arguments, "inputs": [input_of(box) for box in boxes]}
    return None


def bound(call: ast.Call, code: str) -> dict[str, Any]:
    """The names that a call uses, bound by the imports and assignments of the code that they depend on."""
    needed: list[ast.stmt] = []
    wanted = names_used(call)
    for statement in reversed(ast.parse(code).body):
        if isinstance(statement, ast.ImportFrom) and wanted & {one.asname or one.name for one in statement.names}:
            needed.insert(0, statement)
        elif isinstance(statement, ast.Assign) and wanted & set().union(*map(names_used, statement.targets)):
            needed.insert(0, statement)
            wanted |= names_used(statement.value)
    names: dict[str, Any] = {}
    exec(compile(ast.Module(needed, []), "<page>", "exec"), names)
    return names


def names_used(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def input_of(box: ipywidgets.ValueWidget) -> dict[str, Any]:
    """An input as an element of HTML: its kind, name and value, and its range or its options."""
    common = {"name": box.description, "value": box.value}
    match box:
        case ipywidgets.IntSlider() | ipywidgets.FloatSlider():
            return {"kind": "range", **common, "min": box.min, "max": box.max, "step": box.step}
        case ipywidgets.Dropdown():
            options = (
                box.options.items() if isinstance(box.options, dict) else zip(box.options, box.options, strict=True)
            )
            return {"kind": "select", **common, "options": [[str(label), value] for label, value in options]}
    return {"kind": "text", **common}
