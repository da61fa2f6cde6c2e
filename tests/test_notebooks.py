"""The committed notebooks: built from their sources, not large, and plain nbval agrees with the contract."""

import ast
import re
import subprocess
import sys

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tutorlib.course.build import build
from tutorlib.course.source import parse
from tutorlib.paths import NOTEBOOKS, SOLUTIONS, notebook_names

LARGEST = 1_000_000  # bytes


@pytest.mark.parametrize(
    "path", [*SOLUTIONS.glob("*.ipynb"), *NOTEBOOKS.glob("*.ipynb")], ids=lambda p: str(p.parent.name + "/" + p.name)
)
def test_the_size_of_a_notebook(path):
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("name", notebook_names())
def test_a_notebook_is_what_its_source_says(name):
    assert [path for path, text in build(name).items() if path.read_text(encoding="utf-8") != text] == []


@pytest.mark.parametrize("name", notebook_names())
def test_no_line_of_a_paragraph_opens_a_list(name):
    """Markdown takes "1) as well" at the beginning of a line for the first item of a list."""
    cells = nbformat.read(SOLUTIONS / f"{name}.ipynb", 4).cells
    prose = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert re.findall(r"^(?![\s>|#*-]|\d+[.)] ).+\n\d+[.)] .*$", prose, re.MULTILINE) == []


@pytest.mark.parametrize("name", notebook_names())
def test_a_solved_page_shows_what_each_of_its_cells_printed(name):
    """A build drops the output of a cell whose text has changed: `tutor build --fill` puts it back."""
    cells = nbformat.read(SOLUTIONS / f"{name}.ipynb", 4).cells
    assert [cell.source for cell in cells if cell.cell_type == "code" and not cell.execution_count] == []


@pytest.mark.parametrize("name", notebook_names())
def test_solving_only_adds_lines(name):
    """Without its placeholder lines, a student's cell is the solved one with lines missing, in the same order."""
    for cell in parse(SOLUTIONS / f"{name}.py"):
        kept = [
            line
            for line in cell.unsolved.split("\n")
            if "# YOUR CODE HERE (" not in line and f'NotImplementedError("Exercise {cell.exercise}")' not in line
        ]
        solved = iter(cell.solved.split("\n"))
        assert all(line in solved for line in kept)  # `in` on an iterator consumes it: a subsequence test
        assert bool(cell.regions) == (cell.unsolved != cell.text)


@pytest.mark.parametrize("name", notebook_names())
def test_the_cell_of_an_unwritten_answer_runs(name):
    """Its placeholder raises when it is called: then `check` says "not written yet"."""
    for cell in parse(SOLUTIONS / f"{name}.py"):
        if cell.role == "answer":
            bodies = (n.body for n in ast.walk(ast.parse(cell.unsolved)) if isinstance(n, ast.Module | ast.ClassDef))
            assert not any(isinstance(line, ast.Raise) for body in bodies for line in body)


def only_00_shortly(*pages):
    """Notebooks by number, all where none is named; but for 00 they run only where there is time for them."""
    names = [name for name in notebook_names() if not pages or name[:2] in pages]
    return [pytest.param(name, marks=() if name[:2] == "00" else pytest.mark.long) for name in names]


def nbval(path):
    """Indices of the code cells that fail under plain nbval, and how many ran."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--nbval-lax", "--tb=no", "-rA", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    failed = {int(n) for n in re.findall(r"^FAILED .*::Cell (\d+)", done.stdout, re.MULTILINE)}
    passed = {int(n) for n in re.findall(r"^PASSED .*::Cell (\d+)", done.stdout, re.MULTILINE)}
    return failed, failed | passed


def checks(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    return {n for n, cell in enumerate(cells) if cell.metadata.get("tutorlib", {}).get("role") == "check"}, len(cells)


def uses_of_answers(path):
    """Indices of the code cells that use an answer, or what another such cell defines: they cannot run yet."""
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    unwritten, found = set(), set()
    for n, cell in enumerate(cells):
        tree = list(ast.walk(ast.parse(TransformerManager().transform_cell(cell.source))))
        named = {node.id for node in tree if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        is_answer = cell.metadata.get("tutorlib", {}).get("role") == "answer"
        if named & unwritten and not is_answer:
            found.add(n)
        if named & unwritten or is_answer:
            unwritten |= {node.name for node in tree if isinstance(node, ast.FunctionDef | ast.ClassDef)}
            unwritten |= {node.id for node in tree if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return found


# Cells that use no answer are the solved page's, which all run below: here a page for each kind of exercise is enough.
@pytest.mark.parametrize("name", only_00_shortly("00", "02", "07", "09", "14", "20"))
def test_a_students_notebook_fails_at_every_check_and_nowhere_but_where_an_answer_is_used(name):
    path = NOTEBOOKS / f"{name}.ipynb"
    expected, cells = checks(path)
    failed, ran = nbval(path)
    assert len(ran) == cells
    assert expected <= failed <= expected | uses_of_answers(path)


@pytest.mark.parametrize("count", [0, None])
def test_an_expected_line_is_compared(tmp_path, count):
    """Once the answer is written, nbval ignores the note "not run yet"; a check that prints another line fails.

    count: None as JupyterLab saves the page if its checks were not run.
    """
    notebook = nbformat.read(NOTEBOOKS / "00_start.ipynb", as_version=4)
    answers = {cell.id: cell.solved for cell in parse(SOLUTIONS / "00_start.py") if cell.role == "answer"}
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, cell.source)
    right = next(cell for cell in notebook.cells if cell.id == "check-00-1")
    another = nbformat.from_dict({**right, "id": "another", "source": 'print("not run: the package torch is missing")'})
    notebook.cells.append(another)
    for cell in (right, another):
        cell.execution_count = count
    nbformat.write(notebook, path := tmp_path / "solved.ipynb")
    _, cells = checks(path)
    failed, ran = nbval(path)
    assert (failed, len(ran)) == ({cells - 1}, cells)


@pytest.mark.parametrize("name", only_00_shortly())
def test_a_solved_notebook_passes(name):
    """All of its cells: `make grade` runs only those that an answer needs."""
    path = SOLUTIONS / f"{name}.ipynb"
    _, cells = checks(path)
    failed, ran = nbval(path)
    assert len(ran) == cells
    assert failed == set()
