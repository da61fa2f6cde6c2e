"""source → notebooks: solutions/NN_name.py becomes the student's notebook and the solved one, which can be executed."""

import os
import re
from base64 import b64encode
from copy import deepcopy
from pathlib import Path
from unittest import mock

import nbformat
from nbformat import NotebookNode, v4

from tutorlib.course.glossary import link_terms
from tutorlib.course.source import SourceCell, parse
from tutorlib.exercises import find
from tutorlib.notebook.standing import PROGRESS
from tutorlib.paths import NOTEBOOKS, SOLUTIONS

NOT_RUN = Path(__file__).with_name("not_run.png")
NOT_RUN_SIZE = {"width": 104, "height": 20}  # half of its pixels, for sharp text


def student_notebook(cells: list[SourceCell]) -> NotebookNode:
    """Answers taken out; a check cell has the line that a right answer prints."""
    nodes = []
    for cell, id in zip(cells, unique_ids(cells), strict=True):
        node = empty_node(cell, id, cell.unsolved)
        if cell.role == "check":
            node.outputs = [v4.new_output("stream", name="stdout", text=find(cell.exercise).passed_line + "\n")]
            node.execution_count = 1  # nbval compares outputs only of cells with a count
        nodes.append(node)
    return notebook_of(nodes)


def mark_unrun(notebook: NotebookNode) -> NotebookNode:
    """The student's notebook, whose checks show "not run yet", also without a kernel: on GitHub, exported as HTML.

    nbval compares all text that a front end could show, but neither PNGs nor metadata, and it compares a stream under
    the stream's name. So the note is a PNG, and the expected line is the value of "stdout", which is no media type:
    front ends ignore it. nbval compares no cell without an execution count; JupyterLab shows 0 as an empty prompt, and
    saves it as null (`nbval_plugin`).
    """
    note = b64encode(NOT_RUN.read_bytes()).decode()
    for cell in notebook.cells:
        if cell.metadata.get("tutorlib", {}).get("role") == "check":
            (expected,) = cell.outputs
            data = {"image/png": note, "stdout": expected.text}
            cell.outputs = [v4.new_output("display_data", data, metadata={"image/png": NOT_RUN_SIZE})]
            cell.execution_count = 0
    return notebook


def solved_notebook(cells: list[SourceCell], previous: NotebookNode | None = None) -> NotebookNode:
    """Answers included, with the outputs that `previous` holds for cells whose code is the same."""
    old = {cell.id: cell for cell in previous.cells} if previous else {}
    nodes = []
    for cell, id in zip(cells, unique_ids(cells), strict=True):
        node = empty_node(cell, id, cell.solved)
        if cell.kind == "code" and id in old and old[id].source == node.source:
            node.outputs = old[id].outputs
            node.execution_count = old[id].execution_count
        nodes.append(node)
    return notebook_of(nodes)


def unique_ids(cells: list[SourceCell]) -> list[str]:
    """Cell ids; the second cell with the same text gets "-2" appended."""
    ids: list[str] = []
    for cell in cells:
        id, n = cell.id, 1
        while id in ids:
            n += 1
            id = f"{cell.id}-{n}"
        ids.append(id)
    return ids


def empty_node(cell: SourceCell, id: str, text: str) -> NotebookNode:
    node = v4.new_markdown_cell(text) if cell.kind == "markdown" else v4.new_code_cell(text)
    node.id = id
    if cell.role:
        node.metadata["tutorlib"] = {"exercise": cell.exercise, "role": cell.role}
    if cell.role == "check" and find(cell.exercise).needs is None:  # without a GPU a kernel's line says "not run"
        node.metadata["tags"] = ["nbval-check-output"]
    return node


def notebook_of(nodes: list[NotebookNode]) -> NotebookNode:
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return v4.new_notebook(cells=nodes, metadata=metadata)


def text_of(notebook: NotebookNode) -> str:
    """The notebook as a file: sorted keys, one trailing newline."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def build(name: str, solutions: Path = SOLUTIONS, notebooks: Path = NOTEBOOKS) -> dict[Path, str]:
    """The two notebooks of a source: path → text. Writes nothing. Raises BuildError."""
    cells = parse(solutions / f"{name}.py")
    solved = solutions / f"{name}.ipynb"
    previous = nbformat.read(solved, as_version=4) if solved.exists() else None
    return {
        notebooks / f"{name}.ipynb": text_of(link_terms(mark_unrun(student_notebook(cells)))),
        solved: text_of(link_terms(solved_notebook(cells, previous))),
    }


# Executing a solved notebook -----------------------------------------------------------------------------------------

WIDGET = "application/vnd.jupyter.widget-view+json"
OF_RECORDS = re.compile(  # what a cell calls that shows recorded measurements
    r"show_(figure|ladder|levers|limits|speeds|sweep|costs|model|periods|steps|ranking|verdicts|later_calls|pairs)\("
    r"|all_sweep_results\("
)


def run(name: str, solutions: Path = SOLUTIONS, fill: bool = False) -> None:
    """Execute the solved notebook in place, without recording points.

    fill: keep the outputs of cells that have been executed, for example on a GPU that is not at hand, but for those
    that show recorded measurements.
    Raises nbclient's CellExecutionError if a cell fails.
    """
    from nbclient import NotebookClient

    path = solutions / f"{name}.ipynb"
    before = nbformat.read(path, as_version=4)
    notebook = deepcopy(before)
    with mock.patch.dict(os.environ, {PROGRESS: ""}):
        NotebookClient(
            notebook, timeout=600, coalesce_streams=True, resources={"metadata": {"path": str(solutions)}}
        ).execute()
    cells = [without_traces(cell) for cell in notebook.cells]
    if fill:
        ran = (cell for cell in before.cells if cell.get("execution_count") is not None)
        had = {cell.id: cell.outputs for cell in ran if not OF_RECORDS.search(cell.source)}
        for cell in cells:
            if cell.id in had:
                cell.outputs = had[cell.id]
                for output in cell.outputs:
                    if output.output_type == "execute_result":  # it alone has its cell's number
                        output.execution_count = cell.execution_count
    path.write_text(text_of(notebook_of(cells)), encoding="utf-8")


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
