"""Recorded measurements on the solved pages, brought up to date from figures/.

A page also shows measurements of other pages, which are repeated on other days. So a cell that consists of one call of
a function in SHOWS, which read only files, gets its output from these files whenever the notebooks are built.
"""

import ast
import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

from nbformat import NotebookNode, v4

SHOWS = frozenset(  # of tutorlib.notebook: measured, hunt, launches, tuner
    (
        *("show_counts", "show_figure", "show_ladder", "show_levers"),
        *("show_speeds", "show_sweep"),
        *("show_costs", "show_model", "show_verdicts"),
        *("show_later_calls", "show_new_processes"),
    )
)
LIKE_A_KERNEL = ("display.max_columns", 20, "display.width", 80)  # pandas checks whether it runs in a terminal


def show_again(notebook: NotebookNode) -> None:
    """Replace the output of each such cell that has one."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code:
        if cell.outputs and (call := shown_by(cell.source)):
            cell.outputs = outputs_of(call, [one.source for one in code], cell.execution_count)


def shown_by(source: str) -> ast.Call | None:
    """The call of one of SHOWS of which a cell consists, else None."""
    match ast.parse(source).body:
        case [ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call)] if name in SHOWS:
            return call
    return None


def outputs_of(call: ast.Call, page: list[str], execution_count: int | None) -> list[NotebookNode]:
    """The outputs that a kernel would return for the call on this page."""
    import pandas
    from IPython.core.formatters import DisplayFormatter

    names: dict[str, Any] = {}
    for statement in imports_of({node.id for node in ast.walk(call) if isinstance(node, ast.Name)}, page):
        exec(compile(ast.Module([statement], []), "<page>", "exec"), names)
    with redirect_stdout(io.StringIO()) as printed, pandas.option_context(*LIKE_A_KERNEL):
        value = eval(compile(ast.Expression(call), "<page>", "eval"), names)
        data, metadata = DisplayFormatter().format(value)
    outputs = []
    if text := printed.getvalue():
        outputs.append(v4.new_output("stream", name="stdout", text=text))
    if value is not None:
        outputs.append(v4.new_output("execute_result", data=data, metadata=metadata, execution_count=execution_count))
    return outputs


def imports_of(names: set[str], page: list[str]) -> Iterator[ast.ImportFrom]:
    """Import statements that bind these names, as the page's own do."""
    for source in page:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom):
                wanted = [alias for alias in node.names if (alias.asname or alias.name) in names]
                if wanted:
                    yield ast.copy_location(ast.ImportFrom(node.module, wanted, node.level), node)
