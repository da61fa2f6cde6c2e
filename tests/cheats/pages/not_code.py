# The right answer stands in a raw cell and in a text: neither is code, and the code is wrong.
# deserves: 0 0
from nbformat import v4


def hand_in(notebook):
    right = "def answer(n):\n    return n + 1, 2 * n"
    role = {"tutorlib": {"exercise": "60.1", "role": "answer"}}
    notebook.cells.append(v4.new_raw_cell(right, metadata=role))
    notebook.cells.append(v4.new_markdown_cell(f"```python\n{right}\n```", metadata=role))
