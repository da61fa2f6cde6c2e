"""Executing a solved notebook."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tutorlib.course.build import notebook_of, text_of
from tutorlib.notebook.progress import PROGRESS
from tutorlib.paths import SOLUTIONS

WIDGET = "application/vnd.jupyter.widget-view+json"


def run(name: str, solutions: Path = SOLUTIONS) -> None:
    """Execute the solved notebook in place; nobody gets points for it.

    Raises nbclient's CellExecutionError where a cell fails.
    """
    from nbclient import NotebookClient

    path = solutions / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    with environment(**{PROGRESS: ""}):
        NotebookClient(
            notebook, timeout=600, coalesce_streams=True, resources={"metadata": {"path": str(solutions)}}
        ).execute()
    path.write_text(text_of(notebook_of([without_traces(cell) for cell in notebook.cells])), encoding="utf-8")


def without_traces(cell: NotebookNode) -> NotebookNode:
    """The executed cell without what differs from run to run: times of execution, widgets' ids, warnings.

    A widget has died with its kernel; what stays is the picture of it.
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
    """While open, these environment variables are set, for this process and its children."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
