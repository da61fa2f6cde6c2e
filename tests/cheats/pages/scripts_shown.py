# Scripts for whoever looks at the page or at a report made of it.
# deserves: 0 0
from nbformat import v4

CELL = """
from IPython.display import HTML, Javascript, display
display(HTML("<script>document.title = 'left behind'</script>"), Javascript("document.title = 'left behind'"))
"""


def hand_in(notebook):
    notebook.metadata["title"] = "<script>alert(1)</script>"
    notebook.cells.insert(1, v4.new_code_cell(CELL))
    notebook.cells.append(v4.new_markdown_cell("<img src=x onerror=alert(1)>"))
