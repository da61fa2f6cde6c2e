"""Executing a solved notebook."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tutorlib.course.build import notebook_of, text_of
from tutorlib.notebook.progress import PROGRESS
from tutorlib.paths import SOLUTIONS

WIDGET = "application/vnd.jupyter.widget-view+json"


def run(name: str, solutions: Path = SOLUTIONS, fill: bool = False) -> None:
    """Execute the solved notebook in place, without recording points.

    fill: keep the outputs of cells that have been executed, for example on a GPU that is not at hand.
    Raises nbclient's CellExecutionError if a cell fails.
    """
    from nbclient import NotebookClient

    path = solutions / f"{name}.ipynb"
    before = nbformat.read(path, as_version=4)
    notebook = deepcopy(before)
    with environment(**{PROGRESS: ""}):
        NotebookClient(
            notebook, timeout=600, coalesce_streams=True, resources={"metadata": {"path": str(solutions)}}
        ).execute()
    cells = [without_traces(cell) for cell in notebook.cells]
    if fill:
        had = {cell.id: cell.outputs for cell in before.cells if cell.get("execution_count") is not None}
        for cell in cells:
            if cell.id in had:
                cell.outputs = [with_number(output, cell.execution_count) for output in had[cell.id]]
    path.write_text(text_of(notebook_of(cells)), encoding="utf-8")


def with_number(output: NotebookNode, count: int) -> NotebookNode:
    """The output with its cell's number, which only results have."""
    if output.output_type == "execute_result":
        output.execution_count = count
    return output


def without_traces(cell: NotebookNode) -> NotebookNode:
    """The executed cell without parts that differ between runs: times of execution, widget ids, warnings.

    A widget needs its kernel, so only its picture stays.
    """
    cell.metadata.pop("execution", None)
    if cell.cell_type == "code":
        for output in cell.outputs:
            if output.get("data", {}).pop(WIDGET, None):
                output.data["text/plain"] = "A widget: run the cell to use it."
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return cell


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Set these environment variables for this process and its children while open."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
