"""Recorded measurements on a solved page are those of figures/ today."""

import ast

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import v4

from tutorlib.course.shown import SHOWS, outputs_of, show_again, shown_by
from tutorlib.course.source import parse
from tutorlib.paths import SOLUTIONS, notebook_names

IMPORTS = (
    "from tutorlib.measuring import counters\n"
    "from tutorlib.measuring.counters import STALLED as STILL\n"
    "from tutorlib.notebook.launches import show_new_processes\n"
    "from tutorlib.notebook.measured import show_counts, show_figure, show_ladder, show_sweep"
)
CALLS = (
    'show_ladder("05", "07")',  # a table of several GPUs, too wide for a line
    'show_sweep("cpp_promises", threads=counters.BLOCK_SIZE, stalled=STILL)',
    'show_sweep("nobody_measured_this")',  # says so
    'show_figure("banks")',
    "show_new_processes()",  # prints
)


def page(*sources, outputs=()):
    cells = [v4.new_code_cell(source, outputs=list(outputs), execution_count=3) for source in sources]
    return v4.new_notebook(cells=cells)


def test_the_outputs_are_a_kernels():
    ran = page(IMPORTS, *CALLS)
    NotebookClient(ran, kernel_name="python3").execute()
    for cell in ran.cells[1:]:
        assert outputs_of(shown_by(cell.source), [IMPORTS], cell.execution_count) == cell.outputs


def test_what_a_page_quotes_is_todays():
    old = nbformat.v4.new_output("stream", text="older\n")
    several = 'show_ladder("05")\nprint()'
    kept = ("print()", several, 'table = show_ladder("05")', 'show_source("05")')
    solved = page(IMPORTS, *CALLS, *kept, outputs=[old])
    show_again(solved)
    told = {cell.source: cell.outputs for cell in solved.cells}
    assert all(told[call] != [old] for call in CALLS)
    assert all(told[text] == [old] for text in (IMPORTS, *kept))
    assert "0.98" in told[CALLS[0]][-1].data["text/html"]


@pytest.mark.parametrize("name", notebook_names())
def test_no_table_of_recorded_measurements_is_forgotten(name):
    """It would have to stand alone in its cell."""
    for cell in parse(SOLUTIONS / f"{name}.py"):
        if cell.kind == "code" and shown_by(cell.solved) is None:
            called = {
                getattr(node.func, "id", "") for node in ast.walk(ast.parse(cell.solved)) if hasattr(node, "func")
            }
            assert not called & SHOWS
