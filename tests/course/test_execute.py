"""What an executed page keeps of its outputs."""

from nbformat import v4

from tutorlib.course.execute import WIDGET, without_traces


def test_a_dead_widget_leaves_its_picture_and_warnings_go():
    widget = v4.new_output(
        "display_data", {WIDGET: {"model_id": "7"}, "image/png": "picture", "text/plain": "Explorer(children=…)"}
    )
    cell = v4.new_code_cell("explore()", outputs=[widget, v4.new_output("stream", name="stderr", text="a warning")])
    cell.metadata["execution"] = {"iopub.execute_input": "now"}
    (output,) = without_traces(cell).outputs
    assert output.data == {"image/png": "picture", "text/plain": "A widget: run the cell to use it."}
    assert cell.metadata == {}
