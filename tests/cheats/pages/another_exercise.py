# Besides, a right answer to an exercise of this page that does not exist.
# deserves: 0 0
from nbformat import v4


def hand_in(notebook):
    role = {"tutorlib": {"exercise": "60.99", "role": "answer"}}
    notebook.cells.append(v4.new_code_cell("def answer(n):\n    return n + 1, 2 * n", metadata=role))
