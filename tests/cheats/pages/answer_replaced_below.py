# Below the last check stands a right answer under the same name: the wrong ones were asked, and stay wrong.
# deserves: 0 0
from nbformat import v4


def hand_in(notebook):
    notebook.cells.append(v4.new_code_cell("def answer(n):\n    return n + 1, 2 * n"))
