# A cell of its own has no end.
# deserves: 0 0
from nbformat import v4


def hand_in(notebook):
    notebook.cells.insert(1, v4.new_code_cell("while True:\n    pass"))
