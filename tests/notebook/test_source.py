"""`show_source`: code on a page."""

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbconvert import HTMLExporter
from nbformat import v4

from tutorlib.kernels.attention.tiles import delta_rows
from tutorlib.models.banks import bank, bank_group
from tutorlib.notebook.source import show_source


def test_code_is_code_in_a_notebook_and_in_an_exported_page():
    InteractiveShell.instance()
    with capture_output() as shown:
        show_source(bank, bank_group)
    (output,) = shown.outputs
    assert "\n```python\ndef bank(offset: int" in output.data["text/markdown"]
    cell = v4.new_code_cell(
        "", outputs=[v4.new_output("display_data", {"text/markdown": output.data["text/markdown"]})]
    )
    page, _ = HTMLExporter().from_notebook_node(v4.new_notebook(cells=[cell]))
    monospaced, _, code = page.partition('<div class="highlight"><pre>')
    assert code
    assert monospaced.rstrip().endswith('monospace)">')  # of the element around it
    assert "bank_group" in page


def test_a_kernel_is_shown_with_its_decorator():
    InteractiveShell.instance()
    with capture_output() as shown:
        show_source(delta_rows)
    assert "\n@ct.kernel\ndef delta_rows(" in shown.outputs[0].data["text/markdown"]
