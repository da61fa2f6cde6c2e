"""What an executed page keeps of its outputs."""

import nbformat
from nbformat import v4

from tutorlib.course.execute import WIDGET, run, without_traces


def test_a_dead_widget_leaves_its_picture_and_warnings_go():
    widget = v4.new_output(
        "display_data", {WIDGET: {"model_id": "7"}, "image/png": "picture", "text/plain": "Explorer(children=…)"}
    )
    cell = v4.new_code_cell("explore()", outputs=[widget, v4.new_output("stream", name="stderr", text="a warning")])
    cell.metadata["execution"] = {"iopub.execute_input": "now"}
    (output,) = without_traces(cell).outputs
    assert output.data == {"image/png": "picture", "text/plain": "A widget: run the cell to use it."}
    assert cell.metadata == {}


def test_outputs_that_are_there_are_kept(tmp_path):
    page = v4.new_notebook(cells=[v4.new_code_cell("n = 2"), v4.new_code_cell("n"), v4.new_code_cell("n + 1")])
    measured = v4.new_output("execute_result", {"text/plain": "measured on a GPU"}, execution_count=7)
    page.cells[1].update(execution_count=7, outputs=[measured])
    nbformat.write(page, tmp_path / "page.ipynb")
    run("page", tmp_path, fill=True)
    _, had, new = nbformat.read(tmp_path / "page.ipynb", as_version=4).cells
    assert had.outputs[0].data == {"text/plain": "measured on a GPU"}
    assert had.execution_count == had.outputs[0].execution_count == 2
    assert new.outputs[0].data == {"text/plain": "3"}
